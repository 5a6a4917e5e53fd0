"""CONFIGURE_TOTP: the user sets up a device for one-time codes, and proves that it works.

Fields `totp`, `totpSecret`, `userLabel` and `logout-sessions`. The page shows the secret, and its
form sends it back; the session knows its digest alone, so that no other secret is taken.
Keycloak: UpdateTotp (26.7), 16.1
"""

import hashlib
import hmac
from dataclasses import replace
from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.engine.account_changes import (
    NO_CHANGES,
    credential_changes,
    refused_credential,
)
from gateway.authentication.engine.required_action import Asked, Performed
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.one_time_password import OTP, OneTimePasswordCheck
from gateway.authentication.required_actions.otp_enrollment import (
    enrollment,
    new_credential,
    new_secret,
)
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.events import EventError, EventType
from gateway.domain.flows import CONFIGURE_TOTP
from gateway.domain.secrets import Secret

_NOTE: Final = "otp-secret"
"""The note with the digest of the secret that was shown."""
_LONGEST_LABEL: Final = 255
_KINDS: Final = (EventType.UPDATE_TOTP, EventType.UPDATE_CREDENTIAL)
"""Keycloak 26 records both."""


class ConfigureOtp:
    """Takes the first code of a new device."""

    alias = CONFIGURE_TOTP
    may_be_requested = True

    def __init__(
        self, accounts: Accounts, codes: OneTimePasswordCheck, updates: AccountUpdates
    ) -> None:
        self._accounts = accounts
        self._codes = codes
        self._updates = updates

    async def ask(self, sign_in: SignIn) -> Challenge:
        secret = new_secret()
        sign_in.note(_NOTE, _digest(secret))
        message = MessageKey.CONFIGURE_OTP if sign_in.is_required(CONFIGURE_TOTP) else None
        return await self._form(sign_in, secret, message)

    async def submit(self, sign_in: SignIn, form: Form) -> Asked | Performed:
        secret = form.get("totpSecret", "")
        if not hmac.compare_digest(_digest(secret), sign_in.notes.get(_NOTE, "")):
            return Asked(await self.ask(sign_in), NO_CHANGES)
        code, label = form.get("totp", "").replace(" ", ""), form.get("userLabel", "").strip()
        if not code:
            return await self._refused(sign_in, form, MessageKey.MISSING_CODE)
        account = await self._accounts.reloaded(sign_in.realm.id, sign_in.user.id)
        if account.devices and not label:
            return await self._refused(
                sign_in, form, MessageKey.MISSING_DEVICE_NAME, field="userLabel"
            )
        if label and any(one.label == label for one in account.devices):
            return await self._refused(
                sign_in, form, MessageKey.DEVICE_NAME_TAKEN, field="userLabel"
            )
        policy, held = sign_in.realm.otp_policy, account.credentials or ()
        made = new_credential(policy, sign_in.user, secret, held, sign_in.now)
        made = replace(made, label=label[:_LONGEST_LABEL] or None)
        working = self._codes.enrolled(sign_in.realm, made, Secret(code), sign_in.now)
        if working is None:
            return await self._refused(sign_in, form, MessageKey.INVALID_CODE)
        async with self._updates.begin(sign_in.realm.id, sign_in.user.id) as update:
            stored = await update.add_credential(working)
            await update.replace(update.user, performed=CONFIGURE_TOTP)
        sign_in.note(_NOTE, None)
        return Performed(credential_changes(_KINDS, OTP, form), (stored,))

    async def _refused(
        self, sign_in: SignIn, form: Form, message: MessageKey, *, field: str = "totp"
    ) -> Asked:
        secret, label = form.get("totpSecret", ""), form.get("userLabel", "")
        shown = await self._form(sign_in, secret, message, wrong=field, label=label)
        return Asked(shown, refused_credential(_KINDS, OTP, EventError.INVALID_USER_CREDENTIALS))

    async def _form(
        self,
        sign_in: SignIn,
        secret: str,
        message: MessageKey | None,
        *,
        wrong: str | None = None,
        label: str = "",
    ) -> Challenge:
        account = await self._accounts.reloaded(sign_in.realm.id, sign_in.user.id)
        return Challenge(
            FormName.CONFIGURE_OTP,
            {"username": sign_in.user.username, "userLabel": label},
            message,
            is_error=wrong is not None,
            error_field=wrong,
            enrollment=enrollment(
                sign_in.realm, sign_in.user, secret, needs_label=bool(account.devices)
            ),
            required_action=CONFIGURE_TOTP,
        )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
