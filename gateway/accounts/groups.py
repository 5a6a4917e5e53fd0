"""The groups that the user is a member of. Keycloak: 17.6."""

from collections.abc import Mapping

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.domain.groups import Group
from gateway.domain.ports.storage import Database
from gateway.domain.roles import EffectiveRoles


class AccountGroups:
    """The use cases; they raise Forbidden and StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, caller: AccountCaller) -> tuple[Group, ...]:
        """Return the direct groups by path."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_GROUPS)
        async with self._database.read() as stores:
            found = await stores.groups.of_user(caller.realm.id, caller.user_id)
        return tuple(sorted(found, key=lambda group: group.path))

    async def roles(self, caller: AccountCaller) -> Mapping[str, EffectiveRoles]:
        """Return the roles that these groups have directly, by the id of the group."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_GROUPS)
        async with self._database.read() as stores:
            found = await stores.groups.of_user(caller.realm.id, caller.user_id)
            return await stores.group_catalogue.roles(
                caller.realm.id, [group.id for group in found]
            )
