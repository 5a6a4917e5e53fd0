"""Required actions by which users delete their account or a credential.

After the account was deleted the client gets no response: a page says so.
Keycloak: DeleteAccount, DeleteCredentialAction (26.7), 16.1 required actions
"""

from collections.abc import Sequence
from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.engine.levels import proven_level
from gateway.authentication.engine.required_action import Asked, Ended, Ignored, Performed
from gateway.authentication.engine.results import NO_CHANGES, AccountChange, AccountChanges
from gateway.authentication.engine.sign_in import Form, SignInAttempt
from gateway.authentication.errors import ActionForbidden
from gateway.authentication.one_time_passwords import OTP
from gateway.authentication.removal import (
    AccountRemoval,
    CredentialNotFound,
    CredentialNotRemovable,
    LevelTooLow,
    find_removable_credential,
    held_credentials,
    removal_warning,
)
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import DELETE_ACCOUNT, DELETE_CREDENTIAL
from gateway.domain.ports.lookups import Directory
from gateway.domain.users import Credential

_ACCOUNT_CLIENT: Final = "account"
_DELETE_ACCOUNT: Final = "delete-account"
_DELETION_FORBIDDEN: Final = "does not have the required roles for user deletion"


class DeleteAccount:
    """Asks for a confirmation, and removes the user."""

    alias = DELETE_ACCOUNT
    may_be_requested = True

    def __init__(
        self, directory: Directory, updates: AccountUpdates, removal: AccountRemoval
    ) -> None:
        self._directory = directory
        self._updates = updates
        self._removal = removal

    async def ask(self, sign_in: SignInAttempt) -> Challenge:
        await self._require_role(sign_in)
        return Challenge(
            FormName.DELETE_ACCOUNT,
            {"username": sign_in.user.username},
            required_action=DELETE_ACCOUNT,
        )

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Ended:
        del form
        await self._require_role(sign_in)
        async with self._updates.begin_update(sign_in.realm.id, sign_in.user.id) as update:
            await self._removal.remove_account(update.stores, update.user)
        await self._removal.end_sessions(sign_in.user)
        changes = AccountChanges((AccountChange(EventType.DELETE_ACCOUNT),))
        return Ended(changes, MessageKey.ACCOUNT_DELETED)

    async def _require_role(self, sign_in: SignInAttempt) -> None:
        """Raise ActionForbidden for a user without the role."""
        entry = await self._directory.user(sign_in.realm.id, sign_in.user.id)
        roles = () if entry is None else dict(entry.roles.clients).get(_ACCOUNT_CLIENT, ())
        if _DELETE_ACCOUNT in roles:
            return
        details = {
            Detail.CUSTOM_REQUIRED_ACTION: DELETE_ACCOUNT,
            Detail.REASON: _DELETION_FORBIDDEN,
        }
        error = EventError.USER_DELETE_ERROR
        sign_in.record(AccountChange(EventType.DELETE_ACCOUNT, details, error))
        raise ActionForbidden(error, sign_in.user.id)


_CREDENTIAL_NOTE: Final = "credential-removal"
"""The note with the warning that the page has shown: none is skipped."""


class DeleteCredential:
    """delete_credential: the user deletes one of the own credentials, which the client names.

    Asks whether the credential is to be deleted, and what that means for the user.

    `kc_action=delete_credential:<id of the credential>`; button `accept`. A credential of a level
    of authentication is deleted only in a sign-in that has reached the level. Keycloak shows the
    page of a password too, and refuses it afterwards; here the client gets the error at once.
    Keycloak: DeleteCredentialAction (26.7), 16.1 required actions
    """

    alias = DELETE_CREDENTIAL
    may_be_requested = True

    def __init__(self, accounts: Accounts, updates: AccountUpdates) -> None:
        self._accounts = accounts
        self._updates = updates

    async def ask(self, sign_in: SignInAttempt) -> Challenge | Ignored:
        account = await self._accounts.reload_account(sign_in.realm.id, sign_in.user.id)
        found = _find_credential(sign_in, account.credentials or ())
        if isinstance(found, Ignored):
            return found
        return _delete_credential_form(sign_in, account.credentials or (), found)

    async def submit(self, sign_in: SignInAttempt, form: Form) -> Asked | Performed | Ignored:
        if "accept" not in form:
            asked = await self.ask(sign_in)
            return asked if isinstance(asked, Ignored) else Asked(asked, NO_CHANGES)
        async with self._updates.begin_update(sign_in.realm.id, sign_in.user.id) as update:
            held = await held_credentials(update)
            found = _find_credential(sign_in, held)
            if isinstance(found, Ignored):
                return found
            if sign_in.notes.get(_CREDENTIAL_NOTE) != removal_warning(held, found):
                return Asked(_delete_credential_form(sign_in, held, found), NO_CHANGES)
            await update.stores.users.remove_credential(sign_in.realm.id, found)
            await update.replace(update.user, performed=DELETE_CREDENTIAL)
        sign_in.note(_CREDENTIAL_NOTE, None)
        return Performed(_removed_credential(found), removed=(found,))


def _find_credential(sign_in: SignInAttempt, held: Sequence[Credential]) -> Credential | Ignored:
    """Return the credential that the client names, or the event of its refusal."""
    given = sign_in.context.requested.action_parameter
    if not given:
        return _ignored_deletion(EventError.MISSING_CREDENTIAL_ID, {})
    level = proven_level(sign_in)
    try:
        return find_removable_credential(sign_in.context.realm.sign_in, held, given, level)
    except CredentialNotFound:
        return _ignored_deletion(EventError.CREDENTIAL_NOT_FOUND, {Detail.CREDENTIAL_ID: given})
    except (CredentialNotRemovable, LevelTooLow) as refusal:
        found = next(one for one in held if one.id == given)
        return Ignored(
            _removed_credential(found, EventError.DELETE_CREDENTIAL_FAILED, str(refusal))
        )


def _ignored_deletion(error: str, details: dict[str, str]) -> Ignored:
    change = AccountChange(EventType.CUSTOM_REQUIRED_ACTION, details, error)
    return Ignored(AccountChanges((change,)))


def _delete_credential_form(
    sign_in: SignInAttempt, held: Sequence[Credential], credential: Credential
) -> Challenge:
    warning = removal_warning(held, credential)
    sign_in.note(_CREDENTIAL_NOTE, warning)
    return Challenge(
        FormName.DELETE_CREDENTIAL,
        {"type": credential.type, "label": credential.label or ""},
        warning or None,
        required_action=DELETE_CREDENTIAL,
    )


def _removed_credential(
    credential: Credential, error: str | None = None, reason: str | None = None
) -> AccountChanges:
    """Return the events of a credential that was deleted, or not; Keycloak 26 records both."""
    details = {Detail.CREDENTIAL_TYPE: credential.type, Detail.CREDENTIAL_ID: credential.id}
    if credential.label is not None:
        details[Detail.CREDENTIAL_USER_LABEL] = credential.label
    if reason is not None:
        details[Detail.REASON] = reason
    first = (EventType.REMOVE_TOTP,) if credential.type == OTP else ()
    kinds = (*first, EventType.REMOVE_CREDENTIAL)
    return AccountChanges(tuple(AccountChange(kind, details, error) for kind in kinds))
