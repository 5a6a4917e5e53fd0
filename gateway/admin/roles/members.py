"""Who was given a role directly: users and groups, a page at a time. Keycloak: 7.3."""

from typing import Any, Final

from gateway.admin.access import Acting, AdminRole
from gateway.admin.groups import MOST_GROUPS, VIEW_GROUPS, GroupShape, shown_groups
from gateway.admin.roles.administration import RoleAddress, viewed
from gateway.admin.users import MOST, VIEW_USERS, Page, shown_users
from gateway.domain.ports.storage import Database

_FIRST_PAGE: Final = Page()


class RoleMembers:
    """Reads who has a role. All methods raise Missing, Forbidden, TooMany and StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def users(
        self, acting: Acting, address: RoleAddress, page: Page = _FIRST_PAGE, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return the users of the page, none to who may only query users."""
        async with self._database.read() as stores:
            role = (await viewed(stores, acting, address)).role
            if not acting.rights.has(*VIEW_USERS):
                return []
            realm = acting.realm
            wanted = _wanted(page, MOST)
            found = await stores.role_catalogue.users(realm.id, role.id, page.first, wanted)
            shown = await shown_users(stores, realm, found, brief=brief)
            access = {"manage": acting.rights.has(AdminRole.MANAGE_USERS)}
            return [{**user, "access": access} for user in shown]

    async def groups(
        self, acting: Acting, address: RoleAddress, page: Page = _FIRST_PAGE, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return the groups of the page, none to who may only query groups."""
        async with self._database.read() as stores:
            role = (await viewed(stores, acting, address)).role
            if not acting.rights.has(*VIEW_GROUPS):
                return []
            realm, wanted = acting.realm, _wanted(page, MOST_GROUPS)
            catalogue = stores.group_catalogue
            found = await catalogue.having_role(realm.id, role.id, page.first, wanted)
            shape = GroupShape(brief=brief, counts=False, access=False)
            return await shown_groups(stores, realm, acting.rights, found, shape)


def _wanted(page: Page, most: int) -> int:
    return most + 1 if page.maximum is None else min(page.maximum, most + 1)
