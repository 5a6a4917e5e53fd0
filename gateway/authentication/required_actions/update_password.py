"""UPDATE_PASSWORD: the user sets a new password, which has to meet the rules of the realm.

Fields `password-new`, `password-confirm` and `logout-sessions`. Keycloak: UpdatePassword, 16.1
"""

from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.engine.account_changes import credential_changes, refused_credential
from gateway.authentication.engine.proven_password import (
    has_password,
    is_former,
    note_password,
)
from gateway.authentication.engine.required_action import Asked, Performed
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.errors import InvalidUserCredentials
from gateway.authentication.new_passwords import PasswordChanges, require_hashable, until_unchanged
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.events import EventError, EventType
from gateway.domain.flows import UPDATE_PASSWORD
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential
from gateway.policies.candidate import PasswordRefused
from gateway.representations.users import PASSWORD

_NEW: Final = "password-new"
_CONFIRM: Final = "password-confirm"
_KINDS: Final = (EventType.UPDATE_PASSWORD, EventType.UPDATE_CREDENTIAL)
"""Keycloak 26 records both."""


class UpdatePassword:
    """Takes the new password twice."""

    alias = UPDATE_PASSWORD
    may_be_requested = True

    def __init__(
        self, accounts: Accounts, passwords: PasswordChanges, updates: AccountUpdates
    ) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._updates = updates

    async def ask(self, sign_in: SignIn) -> Challenge:
        return _form(sign_in, _reason(sign_in))

    async def submit(self, sign_in: SignIn, form: Form) -> Asked | Performed:
        given = form.get(_NEW, "")
        if not given.strip():
            return _refused(sign_in, MessageKey.MISSING_PASSWORD, EventError.PASSWORD_MISSING)
        if given != form.get(_CONFIRM, ""):
            field = _CONFIRM
            message, error = MessageKey.PASSWORDS_DIFFER, EventError.PASSWORD_CONFIRM_ERROR
            return _refused(sign_in, message, error, field=field)
        try:
            made, former = await until_unchanged(lambda: self._change(sign_in, Secret(given)))
        except PasswordRefused as refusal:
            error = EventError.PASSWORD_REJECTED
            return _refused(sign_in, refusal.key, error, refusal.arguments, reason=refusal.key)
        note_password(sign_in, made)
        return Performed(credential_changes(_KINDS, PASSWORD, form), (made,), former)

    async def _change(
        self, sign_in: SignIn, password: Secret
    ) -> tuple[Credential, tuple[Credential, ...]]:
        """Store the password; return its credential, and the one that it replaces.

        Raises PasswordRefused, and InvalidUserCredentials where another browser was faster: this
        one has not proven the password that it would replace.
        """
        require_hashable(password)
        realm, user = sign_in.realm, sign_in.user
        account = await self._accounts.reloaded(realm.id, user.id)
        if has_password(sign_in.begun) and is_former(sign_in.begun, account):
            raise InvalidUserCredentials(EventError.INVALID_USER_CREDENTIALS, user.id)
        prepared = await self._passwords.prepare(
            realm, account.user or user, account.credentials or (), password
        )
        async with self._updates.begin(realm.id, user.id) as update:
            await self._passwords.store(update.stores, realm, update.user, prepared)
            await update.replace(update.user, performed=UPDATE_PASSWORD)
        former = () if account.password is None else (account.password,)
        return prepared.change.current, former


def _reason(sign_in: SignIn) -> MessageKey | None:
    """Return why the password is changed; None where the client asks for it."""
    if not sign_in.is_required(UPDATE_PASSWORD):
        return None
    of_account = UPDATE_PASSWORD not in sign_in.required_actions
    return MessageKey.UPDATE_PASSWORD if of_account else MessageKey.RESET_PASSWORD


def _form(
    sign_in: SignIn,
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


def _refused(
    sign_in: SignIn,
    message: str,
    error: str,
    arguments: tuple[str, ...] = (),
    *,
    field: str = _NEW,
    reason: str | None = None,
) -> Asked:
    form = _form(sign_in, message, arguments, wrong=field)
    return Asked(form, refused_credential(_KINDS, PASSWORD, error, reason))
