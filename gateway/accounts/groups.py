"""The groups that the user is a member of. Keycloak: 17.6."""

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.domain.groups import Group
from gateway.domain.ports.storage import Database


class AccountGroups:
    """The use case; it raises Forbidden and StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, caller: AccountCaller) -> tuple[Group, ...]:
        """Return the direct groups by path."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_GROUPS)
        async with self._database.read() as stores:
            found = await stores.groups.of_user(caller.realm.id, caller.user_id)
        return tuple(sorted(found, key=lambda group: group.path))
