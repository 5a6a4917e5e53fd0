"""delete_credential: the user deletes one of the own credentials, which the client names.

`kc_action=delete_credential:<id of the credential>`; button `accept`. A credential of a level of
authentication is deleted only in a sign-in that has reached the level. Keycloak shows the page of a
password too, and refuses it afterwards; here the client gets the error at once.
Keycloak: DeleteCredentialAction (26.7), 16.1
"""

from collections.abc import Sequence
from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.engine.account_changes import (
    NO_CHANGES,
    AccountChange,
    AccountChanges,
)
from gateway.authentication.engine.requested_levels import proven_level
from gateway.authentication.engine.required_action import Asked, Ignored, Performed
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.one_time_password import OTP
from gateway.authentication.removal import (
    CredentialNotFound,
    CredentialNotRemovable,
    LevelTooLow,
    find_removable,
    held_credentials,
    removal_warning,
)
from gateway.domain.authentication import Challenge, FormName
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import DELETE_CREDENTIAL
from gateway.domain.users import Credential

_NOTE: Final = "credential-removal"
"""The note with the warning that the page has shown: none is skipped."""


class DeleteCredential:
    """Asks whether the credential is to be deleted, and what that means for the user."""

    alias = DELETE_CREDENTIAL
    may_be_requested = True

    def __init__(self, accounts: Accounts, updates: AccountUpdates) -> None:
        self._accounts = accounts
        self._updates = updates

    async def ask(self, sign_in: SignIn) -> Challenge | Ignored:
        account = await self._accounts.reloaded(sign_in.realm.id, sign_in.user.id)
        found = _find(sign_in, account.credentials or ())
        if isinstance(found, Ignored):
            return found
        return _form(sign_in, account.credentials or (), found)

    async def submit(self, sign_in: SignIn, form: Form) -> Asked | Performed | Ignored:
        if "accept" not in form:
            asked = await self.ask(sign_in)
            return asked if isinstance(asked, Ignored) else Asked(asked, NO_CHANGES)
        async with self._updates.begin(sign_in.realm.id, sign_in.user.id) as update:
            held = await held_credentials(update)
            found = _find(sign_in, held)
            if isinstance(found, Ignored):
                return found
            if sign_in.notes.get(_NOTE) != removal_warning(held, found):
                return Asked(_form(sign_in, held, found), NO_CHANGES)
            await update.stores.users.remove_credential(sign_in.realm.id, found)
            await update.replace(update.user, performed=DELETE_CREDENTIAL)
        sign_in.note(_NOTE, None)
        return Performed(_removed(found), removed=(found,))


def _find(sign_in: SignIn, held: Sequence[Credential]) -> Credential | Ignored:
    """Return the credential that the client names, or the event of what is wrong with it."""
    given = sign_in.context.requested.action_parameter
    if not given:
        return _ignored(EventError.MISSING_CREDENTIAL_ID, {})
    level = proven_level(sign_in)
    try:
        return find_removable(sign_in.context.realm.sign_in, held, given, level)
    except CredentialNotFound:
        return _ignored(EventError.CREDENTIAL_NOT_FOUND, {Detail.CREDENTIAL_ID: given})
    except (CredentialNotRemovable, LevelTooLow) as refusal:
        found = next(one for one in held if one.id == given)
        return Ignored(_removed(found, EventError.DELETE_CREDENTIAL_FAILED, str(refusal)))


def _ignored(error: str, details: dict[str, str]) -> Ignored:
    change = AccountChange(EventType.CUSTOM_REQUIRED_ACTION, details, error)
    return Ignored(AccountChanges((change,)))


def _form(sign_in: SignIn, held: Sequence[Credential], credential: Credential) -> Challenge:
    warning = removal_warning(held, credential)
    sign_in.note(_NOTE, warning)
    return Challenge(
        FormName.DELETE_CREDENTIAL,
        {"type": credential.type, "label": credential.label or ""},
        warning or None,
        required_action=DELETE_CREDENTIAL,
    )


def _removed(
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
