"""Required actions that set up credentials: password, one-time and recovery codes, keys.

Keycloak: 16.1 required actions; UpdatePassword, UpdateTotp, RecoveryAuthnCodesAction,
WebAuthnRegister (26.7)
"""

import hashlib
import hmac
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.proofs import has_password, is_former, note_password
from gateway.authentication.engine.required_action import Asked, Performed
from gateway.authentication.engine.results import (
    NO_CHANGES,
    AccountChange,
    AccountChanges,
    credential_changes,
    refused_credential,
)
from gateway.authentication.engine.sign_in import Form, SignInAttempt
from gateway.authentication.errors import InvalidUserCredentials
from gateway.authentication.one_time_passwords import (
    OTP,
    OneTimePasswordCheck,
    new_otp_credential,
    new_otp_secret,
    render_enrollment,
)
from gateway.authentication.passwords import PasswordChanges, require_hashable, until_unchanged
from gateway.authentication.recovery_codes import (
    RECOVERY_CODES,
    new_recovery_codes,
    new_recovery_codes_credential,
)
from gateway.authentication.web_authn_registration import KeyRegistration, NewKey
from gateway.domain import base64url
from gateway.domain.authentication import Challenge, FormName, MessageKey, RecoveryCodeList
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import CONFIGURE_RECOVERY_CODES, CONFIGURE_TOTP, UPDATE_PASSWORD
from gateway.domain.secrets import Secret
from gateway.domain.users import PASSWORD, Credential
from gateway.domain.web_authn import WebAuthnRejected
from gateway.password_policies import PasswordRefused

_NEW_FIELD: Final = "password-new"
_CONFIRMATION: Final = "password-confirm"
_PASSWORD_EVENTS: Final = (EventType.UPDATE_PASSWORD, EventType.UPDATE_CREDENTIAL)
"""Keycloak 26 records both."""


class UpdatePassword:
    """UPDATE_PASSWORD: the user sets a new password, which has to meet the rules of the realm.

    Fields `password-new`, `password-confirm` and `logout-sessions`. Keycloak: UpdatePassword, 16.1
    required actions
    """

    alias = UPDATE_PASSWORD
    may_be_requested = True

    def __init__(
        self, accounts: Accounts, passwords: PasswordChanges, updates: AccountUpdates
    ) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._updates = updates

    async def ask(self, sign_in: SignInAttempt) -> Challenge:
        return _password_form(sign_in, _password_reason(sign_in))

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Asked | Performed:
        given = form.get(_NEW_FIELD, "")
        if not given.strip():
            return _refused_password(
                sign_in, MessageKey.MISSING_PASSWORD, EventError.PASSWORD_MISSING
            )
        if given != form.get(_CONFIRMATION, ""):
            field = _CONFIRMATION
            message, error = MessageKey.PASSWORDS_DIFFER, EventError.PASSWORD_CONFIRM_ERROR
            return _refused_password(sign_in, message, error, field=field)
        try:
            made, former = await until_unchanged(lambda: self._change(sign_in, Secret(given)))
        except PasswordRefused as refusal:
            error = EventError.PASSWORD_REJECTED
            return _refused_password(
                sign_in, refusal.key, error, refusal.arguments, reason=refusal.key
            )
        note_password(sign_in, made)
        return Performed(credential_changes(_PASSWORD_EVENTS, PASSWORD, form), (made,), former)

    async def _change(
        self, sign_in: SignInAttempt, password: Secret
    ) -> tuple[Credential, tuple[Credential, ...]]:
        """Store the password; return its credential, and the replaced credential.

        Raises PasswordRefused, and InvalidUserCredentials where another browser was faster: this
        one has not proven the password that it would replace.
        """
        require_hashable(password)
        realm, user = sign_in.realm, sign_in.user
        account = await self._accounts.reload_account(realm.id, user.id)
        if has_password(sign_in.begun) and is_former(sign_in.begun, account):
            raise InvalidUserCredentials(EventError.INVALID_USER_CREDENTIALS, user.id)
        prepared = await self._passwords.prepare(
            realm, account.user or user, account.credentials or (), password
        )
        async with self._updates.begin_update(realm.id, user.id) as update:
            await self._passwords.store(update.stores, realm, update.user, prepared)
            await update.replace(update.user, performed=UPDATE_PASSWORD)
        former = () if account.password is None else (account.password,)
        return prepared.change.current, former


def _password_reason(sign_in: SignInAttempt) -> MessageKey | None:
    """Return why the password is changed; None where the client asks for it."""
    if not sign_in.is_required(UPDATE_PASSWORD):
        return None
    of_account = UPDATE_PASSWORD not in sign_in.required_actions
    return MessageKey.UPDATE_PASSWORD if of_account else MessageKey.RESET_PASSWORD


def _password_form(
    sign_in: SignInAttempt,
    message: str | None,
    arguments: tuple[str, ...] = (),
    *,
    wrong: str | None = None,
) -> Challenge:
    return Challenge(
        FormName.UPDATE_PASSWORD,
        {"username": sign_in.user.username},
        message,
        message_arguments=arguments,
        is_error=wrong is not None,
        error_field=wrong,
        required_action=UPDATE_PASSWORD,
    )


def _refused_password(
    sign_in: SignInAttempt,
    message: str,
    error: str,
    arguments: tuple[str, ...] = (),
    *,
    field: str = _NEW_FIELD,
    reason: str | None = None,
) -> Asked:
    form = _password_form(sign_in, message, arguments, wrong=field)
    return Asked(form, refused_credential(_PASSWORD_EVENTS, PASSWORD, error, reason))


_ENROLLMENT_NOTE: Final = "otp-secret"
"""The note with the digest of the secret that was shown."""
_LONGEST_LABEL: Final = 255
_OTP_EVENTS: Final = (EventType.UPDATE_TOTP, EventType.UPDATE_CREDENTIAL)
"""Keycloak 26 records both."""


class ConfigureOtp:
    """CONFIGURE_TOTP: the user sets up a device for one-time codes, and proves that it works.

    Fields `totp`, `totpSecret`, `userLabel` and `logout-sessions`. The page shows the secret, and
    its form sends it back; the session knows its digest alone, so that no other secret is taken.
    Keycloak: UpdateTotp (26.7), 16.1 required actions
    """

    alias = CONFIGURE_TOTP
    may_be_requested = True

    def __init__(
        self, accounts: Accounts, codes: OneTimePasswordCheck, updates: AccountUpdates
    ) -> None:
        self._accounts = accounts
        self._codes = codes
        self._updates = updates

    async def ask(self, sign_in: SignInAttempt) -> Challenge:
        secret = new_otp_secret()
        sign_in.note(_ENROLLMENT_NOTE, _digest(secret))
        message = MessageKey.CONFIGURE_OTP if sign_in.is_required(CONFIGURE_TOTP) else None
        return await self._form(sign_in, secret, message)

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Asked | Performed:
        secret = form.get("totpSecret", "")
        if not hmac.compare_digest(_digest(secret), sign_in.notes.get(_ENROLLMENT_NOTE, "")):
            return Asked(await self.ask(sign_in), NO_CHANGES)
        code, label = form.get("totp", "").replace(" ", ""), form.get("userLabel", "").strip()
        if not code:
            return await self._refused(sign_in, form, MessageKey.MISSING_CODE)
        account = await self._accounts.reload_account(sign_in.realm.id, sign_in.user.id)
        if account.devices and not label:
            return await self._refused(
                sign_in, form, MessageKey.MISSING_DEVICE_NAME, field="userLabel"
            )
        if label and any(one.label == label for one in account.devices):
            return await self._refused(
                sign_in, form, MessageKey.DEVICE_NAME_TAKEN, field="userLabel"
            )
        policy, held = sign_in.realm.otp_policy, account.credentials or ()
        made = new_otp_credential(policy, sign_in.user, secret, held, sign_in.now)
        made = replace(made, label=label[:_LONGEST_LABEL] or None)
        working = self._codes.enrolled(sign_in.realm, made, Secret(code), sign_in.now)
        if working is None:
            return await self._refused(sign_in, form, MessageKey.INVALID_CODE)
        async with self._updates.begin_update(sign_in.realm.id, sign_in.user.id) as update:
            stored = await update.add_credential(working)
            await update.replace(update.user, performed=CONFIGURE_TOTP)
        sign_in.note(_ENROLLMENT_NOTE, None)
        return Performed(credential_changes(_OTP_EVENTS, OTP, form), (stored,))

    async def _refused(
        self, sign_in: SignInAttempt, form: Form, message: MessageKey, *, field: str = "totp"
    ) -> Asked:
        secret, label = form.get("totpSecret", ""), form.get("userLabel", "")
        shown = await self._form(sign_in, secret, message, wrong=field, label=label)
        return Asked(
            shown, refused_credential(_OTP_EVENTS, OTP, EventError.INVALID_USER_CREDENTIALS)
        )

    async def _form(
        self,
        sign_in: SignInAttempt,
        secret: str,
        message: MessageKey | None,
        *,
        wrong: str | None = None,
        label: str = "",
    ) -> Challenge:
        account = await self._accounts.reload_account(sign_in.realm.id, sign_in.user.id)
        return Challenge(
            FormName.CONFIGURE_OTP,
            {"username": sign_in.user.username, "label": label},
            message,
            is_error=wrong is not None,
            error_field=wrong,
            enrollment=render_enrollment(
                sign_in.realm, sign_in.user, secret, needs_label=bool(account.devices)
            ),
            required_action=CONFIGURE_TOTP,
        )


def _digest(shown: str) -> str:
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


_CODES_FIELD: Final = "generatedRecoveryAuthnCodes"
_GENERATED_AT_FIELD: Final = "generatedAt"
_RECOVERY_CODES_NOTE: Final = "recovery-codes"
"""The note with the digest of the codes that were shown."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class ConfigureRecoveryCodes:
    """CONFIGURE_RECOVERY_AUTHN_CODES.

    The user saves a list of recovery codes, which replaces another.

    Shows new codes once, and stores them when the user has saved them.

    Fields `generatedRecoveryAuthnCodes`, `generatedAt` (milliseconds since 1970), `userLabel` and
    `logout-sessions`. The page shows the codes, and its form sends them back; the session knows
    their digest alone, so that no other codes are taken. Keycloak: RecoveryAuthnCodesAction (26.7),
    16.1 required actions
    """

    alias = CONFIGURE_RECOVERY_CODES
    may_be_requested = True

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    async def ask(self, sign_in: SignInAttempt) -> Challenge:
        codes = RecoveryCodeList(
            new_recovery_codes(), (sign_in.now - _EPOCH) // timedelta(milliseconds=1)
        )
        shown = f"{codes.generated_at} {','.join(codes.codes)}"
        sign_in.note(_RECOVERY_CODES_NOTE, _digest(shown))
        return Challenge(
            FormName.CONFIGURE_RECOVERY_CODES,
            {"username": sign_in.user.username},
            recovery_codes=codes,
            required_action=CONFIGURE_RECOVERY_CODES,
        )

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Asked | Performed:
        codes, generated_at = form.get(_CODES_FIELD, ""), form.get(_GENERATED_AT_FIELD, "")
        sent = _digest(f"{generated_at} {codes}")
        if not hmac.compare_digest(sent, sign_in.notes.get(_RECOVERY_CODES_NOTE, "")):
            return Asked(await self.ask(sign_in), NO_CHANGES)
        stored, former = await self._store(
            sign_in,
            tuple(codes.split(",")),
            _EPOCH + timedelta(milliseconds=int(generated_at)),
            form.get("userLabel", "").strip(),
        )
        sign_in.note(_RECOVERY_CODES_NOTE, None)
        kinds = (EventType.UPDATE_CREDENTIAL,)
        return Performed(credential_changes(kinds, RECOVERY_CODES, form), (stored,), former)

    async def _store(
        self, sign_in: SignInAttempt, codes: tuple[str, ...], generated_at: datetime, label: str
    ) -> tuple[Credential, tuple[Credential, ...]]:
        """Store the codes; return them, and the former ones, which they replace."""
        realm_id, user_id = sign_in.realm.id, sign_in.user.id
        async with self._updates.begin_update(realm_id, user_id) as update:
            users = update.stores.users
            held = await users.credentials(realm_id, user_id)
            others = [one for one in held if one.type != RECOVERY_CODES]
            former = tuple(one for one in held if one.type == RECOVERY_CODES)
            for each in former:
                await users.remove_credential(realm_id, each)
            made = new_recovery_codes_credential(user_id, codes, others, generated_at)
            made = replace(made, label=label[:_LONGEST_LABEL] or None)
            stored = await update.add_credential(made)
            await update.replace(update.user, performed=CONFIGURE_RECOVERY_CODES)
        return stored, former


_KEY_EVENTS: Final = (EventType.CUSTOM_REQUIRED_ACTION, EventType.UPDATE_CREDENTIAL)
"""Keycloak 26 records both."""


@dataclass(frozen=True, slots=True)
class RegisterKey:
    """webauthn-register and webauthn-register-passwordless: the user registers a key.

    Fields `clientDataJSON`, `attestationObject`, `publicKeyCredentialId`, `authenticatorLabel`,
    `transports`, `authenticatorAttachment`, `error`, `isSetRetry` and `logout-sessions`. Keycloak:
    WebAuthnRegister, WebAuthnPasswordlessRegister (26.7)
    """

    may_be_requested = True
    alias: str
    _registration: KeyRegistration
    _accounts: Accounts
    _updates: AccountUpdates

    async def ask(self, sign_in: SignInAttempt) -> Challenge:
        return self._form(sign_in, await self._account(sign_in))

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Asked | Performed:
        if form.get("isSetRetry"):
            return Asked(await self.ask(sign_in), NO_CHANGES)
        account = await self._account(sign_in)
        if form.get("error"):
            return self._refused(
                *(sign_in, account, MessageKey.KEY_NOT_CREATED),
                *(EventError.INVALID_USER_CREDENTIALS, "The browser has not registered a key."),
            )
        try:
            made = self._registration.verified(sign_in, account, form)
        except WebAuthnRejected as rejected:
            return self._refused(
                *(sign_in, account, MessageKey.KEY_NOT_REGISTERED),
                *(EventError.INVALID_REGISTRATION, str(rejected)),
            )
        try:
            stored = await self._store(sign_in, made)
        except AlreadyExists as taken:
            return self._refused(
                *(sign_in, account, MessageKey.KEY_NOT_REGISTERED),
                *(EventError.INVALID_REGISTRATION, str(taken)),
            )
        kind = self._registration.keys.type
        return Performed(credential_changes(_KEY_EVENTS, kind, form, _key_details(made)), (stored,))

    async def _account(self, sign_in: SignInAttempt) -> Account:
        return await self._accounts.reload_account(sign_in.realm.id, sign_in.user.id)

    async def _store(self, sign_in: SignInAttempt, made: NewKey) -> Credential:
        """Store the key, and return it; raises AlreadyExists where another user has registered it.

        Spec: WebAuthn Level 3 §7.1
        """
        async with self._updates.begin_update(sign_in.realm.id, sign_in.user.id) as update:
            stored = await update.add_credential(made.credential)
            await update.replace(update.user, performed=self.alias)
        return stored

    def _refused(
        self, sign_in: SignInAttempt, account: Account, message: MessageKey, error: str, reason: str
    ) -> Asked:
        details = {
            Detail.CREDENTIAL_TYPE: self._registration.keys.type,
            Detail.WEB_AUTHN_REGISTRATION_ERROR: message.value,
            Detail.WEB_AUTHN_REGISTRATION_ERROR_DETAIL: reason,
        }
        refused = tuple(AccountChange(kind, details, error) for kind in _KEY_EVENTS)
        return Asked(self._form(sign_in, account, message), AccountChanges(refused))

    def _form(
        self, sign_in: SignInAttempt, account: Account, message: MessageKey | None = None
    ) -> Challenge:
        return Challenge(
            FormName.REGISTER_KEY,
            {"username": sign_in.user.username},
            message,
            is_error=message is not None,
            registration=self._registration.request(sign_in, account),
            required_action=self.alias,
        )


def _key_details(made: NewKey) -> dict[str, str]:
    return {
        Detail.PUBLIC_KEY_CREDENTIAL_ID: base64url.encode(made.key.credential_id),
        Detail.PUBLIC_KEY_CREDENTIAL_LABEL: made.credential.label or "",
        Detail.PUBLIC_KEY_CREDENTIAL_AAGUID: made.key.aaguid,
    }
