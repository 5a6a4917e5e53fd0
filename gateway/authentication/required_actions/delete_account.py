"""delete_account: the user deletes the own account, with the role `delete-account` of `account`.

The client gets no response: a page says that the account was deleted.
Keycloak: DeleteAccount (26.7), 16.1
"""

from typing import Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.engine.account_changes import AccountChange, AccountChanges
from gateway.authentication.engine.required_action import Ended
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.errors import ActionForbidden
from gateway.authentication.removal import AccountRemoval
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import DELETE_ACCOUNT
from gateway.domain.ports.directory import Directory

_ACCOUNT: Final = "account"
_ROLE: Final = "delete-account"
_FORBIDDEN: Final = "does not have the required roles for user deletion"


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

    async def ask(self, sign_in: SignIn) -> Challenge:
        await self._require_role(sign_in)
        return Challenge(
            FormName.DELETE_ACCOUNT,
            {"username": sign_in.user.username},
            required_action=DELETE_ACCOUNT,
        )

    async def submit(self, sign_in: SignIn, form: Form) -> Ended:
        del form
        await self._require_role(sign_in)
        async with self._updates.begin(sign_in.realm.id, sign_in.user.id) as update:
            await self._removal.remove(update.stores, update.user)
        await self._removal.end_sessions(sign_in.user)
        changes = AccountChanges((AccountChange(EventType.DELETE_ACCOUNT),))
        return Ended(changes, MessageKey.ACCOUNT_DELETED)

    async def _require_role(self, sign_in: SignIn) -> None:
        """Raise ActionForbidden for a user without the role."""
        entry = await self._directory.user(sign_in.realm.id, sign_in.user.id)
        roles = () if entry is None else dict(entry.roles.clients).get(_ACCOUNT, ())
        if _ROLE in roles:
            return
        details = {Detail.CUSTOM_REQUIRED_ACTION: DELETE_ACCOUNT, Detail.REASON: _FORBIDDEN}
        error = EventError.USER_DELETE_ERROR
        sign_in.record(AccountChange(EventType.DELETE_ACCOUNT, details, error))
        raise ActionForbidden(error, sign_in.user.id)
