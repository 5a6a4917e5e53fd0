"""webauthn-register and webauthn-register-passwordless: the user registers a key.

Fields `clientDataJSON`, `attestationObject`, `publicKeyCredentialId`, `authenticatorLabel`,
`transports`, `authenticatorAttachment`, `error`, `isSetRetry` and `logout-sessions`.
Keycloak: WebAuthnRegister, WebAuthnPasswordlessRegister (26.7)
"""

from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.account_changes import (
    NO_CHANGES,
    AccountChange,
    AccountChanges,
    credential_changes,
)
from gateway.authentication.engine.required_action import Asked, Performed
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.web_authn import KeyRegistration
from gateway.authentication.web_authn.registrations import NewKey
from gateway.domain import base64url
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.users import Credential
from gateway.domain.web_authn import WebAuthnRejected

_KINDS: Final = (EventType.CUSTOM_REQUIRED_ACTION, EventType.UPDATE_CREDENTIAL)
"""Keycloak 26 records both."""


class RegisterKey:
    """Registers a key of one type."""

    may_be_requested = True

    def __init__(
        self,
        alias: str,
        registration: KeyRegistration,
        accounts: Accounts,
        updates: AccountUpdates,
    ) -> None:
        self.alias = alias
        self._registration = registration
        self._accounts = accounts
        self._updates = updates

    async def ask(self, sign_in: SignIn) -> Challenge:
        return self._form(sign_in, await self._account(sign_in))

    async def submit(self, sign_in: SignIn, form: Form) -> Asked | Performed:
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
        return Performed(credential_changes(_KINDS, kind, form, _details(made)), (stored,))

    async def _account(self, sign_in: SignIn) -> Account:
        return await self._accounts.reloaded(sign_in.realm.id, sign_in.user.id)

    async def _store(self, sign_in: SignIn, made: NewKey) -> Credential:
        """Store the key, and return it; raises AlreadyExists where another user has registered it.

        Spec: WebAuthn Level 3 §7.1
        """
        async with self._updates.begin(sign_in.realm.id, sign_in.user.id) as update:
            stored = await update.add_credential(made.credential)
            await update.replace(update.user, performed=self.alias)
        return stored

    def _refused(
        self, sign_in: SignIn, account: Account, message: MessageKey, error: str, reason: str
    ) -> Asked:
        details = {
            Detail.CREDENTIAL_TYPE: self._registration.keys.type,
            Detail.WEB_AUTHN_REGISTRATION_ERROR: message.value,
            Detail.WEB_AUTHN_REGISTRATION_ERROR_DETAIL: reason,
        }
        refused = tuple(AccountChange(kind, details, error) for kind in _KINDS)
        return Asked(self._form(sign_in, account, message), AccountChanges(refused))

    def _form(
        self, sign_in: SignIn, account: Account, message: MessageKey | None = None
    ) -> Challenge:
        return Challenge(
            FormName.REGISTER_KEY,
            {"username": sign_in.user.username},
            message,
            is_error=message is not None,
            registration=self._registration.request(sign_in, account),
            required_action=self.alias,
        )


def _details(made: NewKey) -> dict[str, str]:
    return {
        Detail.PUBLIC_KEY_CREDENTIAL_ID: base64url.encode(made.key.credential_id),
        Detail.PUBLIC_KEY_CREDENTIAL_LABEL: made.credential.label or "",
        Detail.PUBLIC_KEY_CREDENTIAL_AAGUID: made.key.aaguid,
    }
