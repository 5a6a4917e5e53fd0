"""The users and groups that were granted a role directly. Keycloak: 7.3."""

from typing import Any, Final

from gateway.admin.access import Acting, AdminRole, Page
from gateway.admin.groups import VIEW_GROUPS, GroupShape, shown_groups
from gateway.admin.roles.administration import RoleAddress, viewed
from gateway.admin.users import VIEW_USERS, shown_users
from gateway.domain.ports.storage import Database

_FIRST_PAGE: Final = Page()


class RoleMembers:
    """Reads who has a role. All methods raise Missing, Forbidden, TooMany and StoreUnavailable.

    A caller that may only query users or groups sees none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def users(
        self, acting: Acting, address: RoleAddress, page: Page = _FIRST_PAGE, *, brief: bool
    ) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            role = (await viewed(stores, acting, address)).role
            if not acting.rights.has(*VIEW_USERS):
                return []
            realm = acting.realm
            found = await stores.role_catalogue.users(realm.id, role.id, page.first, page.limit)
            shown = await shown_users(stores, realm, found, brief=brief)
            access = {"manage": acting.rights.has(AdminRole.MANAGE_USERS)}
            return [{**user, "access": access} for user in shown]

    async def groups(
        self, acting: Acting, address: RoleAddress, page: Page = _FIRST_PAGE, *, brief: bool
    ) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            role = (await viewed(stores, acting, address)).role
            if not acting.rights.has(*VIEW_GROUPS):
                return []
            realm, catalogue = acting.realm, stores.group_catalogue
            found = await catalogue.having_role(realm.id, role.id, page.first, page.limit)
            shape = GroupShape(brief=brief, counts=False, access=False)
            return await shown_groups(stores, realm, acting.rights, found, shape)
