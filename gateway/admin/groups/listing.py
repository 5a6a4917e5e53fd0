"""Groups as administrators see them: pages of a level, searches as a tree, members.

Keycloak: 7.3 (GET groups, count, children, members, group-by-path)
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.admin.access import (
    AdminRole,
    Page,
    Rights,
    existing,
    require_one_answer,
)
from gateway.admin.users import shown_users
from gateway.domain.groups import Group
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.ports.storage.group_catalogue import GroupQuery
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.representations.groups import GroupDetails, group_answer

VIEW_GROUPS: Final = (AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS)
QUERY_GROUPS: Final = (AdminRole.QUERY_GROUPS, *VIEW_GROUPS)
_NO_GROUP: Final = "Could not find group by id"
_NO_ROLES: Final = EffectiveRoles()


@dataclass(frozen=True, slots=True)
class GroupShape:
    """How much of groups a list shows; `hierarchy` adds their parents, as a tree."""

    brief: bool = True
    counts: bool = True
    hierarchy: bool = False
    access: bool = True


class GroupListing:
    """Reads groups for administrators. All methods raise StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, realm: Realm, rights: Rights, query: GroupQuery, shape: GroupShape
    ) -> list[dict[str, Any]]:
        """Return the groups of the page, none if the caller may only query; raises TooMany."""
        if not rights.has(*VIEW_GROUPS):
            return []
        async with self._database.read() as stores:
            found = await stores.group_catalogue.list(realm.id, _bounded(query))
            return await shown_groups(stores, realm, rights, found, shape)

    async def groups(self, realm: Realm) -> tuple[Group, ...]:
        """Return all groups of the realm as values, by path."""
        async with self._database.read() as stores:
            return await stores.groups.list(realm.id)

    async def count(self, realm: Realm, query: GroupQuery) -> int:
        async with self._database.read() as stores:
            return await stores.group_catalogue.count(realm.id, query)

    async def one(self, realm: Realm, rights: Rights, group_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            group = await get_group(stores, realm, group_id)
            return await group_document(stores, realm, rights, group)

    async def at_path(self, realm: Realm, rights: Rights, path: str) -> dict[str, Any]:
        """Return the group at a path; raises NotFound."""
        async with self._database.read() as stores:
            found = await stores.group_catalogue.find_by_path(realm.id, path)
            group = existing(found, "Group path does not exist")
            shape = GroupShape(brief=False, access=False)
            return (await shown_groups(stores, realm, rights, (group,), shape))[0]

    async def children(
        self, realm: Realm, rights: Rights, query: GroupQuery, shape: GroupShape
    ) -> list[dict[str, Any]]:
        """Return groups below the one that `query.parent` names; raises NotFound and TooMany."""
        async with self._database.read() as stores:
            await get_group(stores, realm, query.parent or "")
            found = await stores.group_catalogue.list(realm.id, _bounded(query))
            return await shown_groups(stores, realm, rights, found, shape)

    async def members(
        self, realm: Realm, group_id: str, page: Page, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return the members of the page; raises NotFound and TooMany."""
        async with self._database.read() as stores:
            await get_group(stores, realm, group_id)
            catalogue = stores.group_catalogue
            found = await catalogue.members(realm.id, group_id, page.first, page.limit)
            return await shown_users(stores, realm, found, brief=brief)


async def get_group(stores: Stores, realm: Realm, group_id: str, *, alone: bool = False) -> Group:
    """Return a group by its id; `alone` locks its row. Raises NotFound."""
    return existing(
        await stores.group_catalogue.find(realm.id, group_id, for_update=alone), _NO_GROUP
    )


async def group_document(
    stores: Stores, realm: Realm, rights: Rights, group: Group
) -> dict[str, Any]:
    """Return one group as GET shows it."""
    shape = GroupShape(brief=False)
    return (await shown_groups(stores, realm, rights, (group,), shape))[0]


async def shown_groups(
    stores: Stores, realm: Realm, rights: Rights, groups: Sequence[Group], shape: GroupShape
) -> list[dict[str, Any]]:
    """Return groups as lists show them; raises TooMany for more than one answer may hold."""
    require_one_answer(groups, "groups")
    ids = [group.id for group in groups]
    if shape.hierarchy:
        groups = await stores.group_catalogue.with_parents(realm.id, ids)
        ids = [group.id for group in groups]
    details = await _details(stores, realm, rights, ids, shape)
    if not shape.hierarchy:
        return [group_answer(group, details[group.id]) for group in groups]
    return _tree(groups, details)


async def _details(
    stores: Stores, realm: Realm, rights: Rights, ids: Sequence[str], shape: GroupShape
) -> Mapping[str, GroupDetails]:
    catalogue = stores.group_catalogue
    children = await catalogue.child_counts(realm.id, ids if shape.counts else ())
    roles = await catalogue.roles(realm.id, () if shape.brief else ids)
    access = _access(rights) if shape.access else None
    return {
        group_id: GroupDetails(
            children.get(group_id, 0) if shape.counts else None,
            None if shape.brief else roles.get(group_id, _NO_ROLES),
            access,
        )
        for group_id in ids
    }


def _tree(groups: Sequence[Group], details: Mapping[str, GroupDetails]) -> list[dict[str, Any]]:
    below: defaultdict[str | None, list[Group]] = defaultdict(list)
    for group in sorted(groups, key=lambda group: (group.name, group.id)):
        below[group.parent].append(group)

    def answer(group: Group) -> dict[str, Any]:
        return group_answer(group, details[group.id], [answer(child) for child in below[group.id]])

    return [answer(group) for group in below[None]]


def _bounded(query: GroupQuery) -> GroupQuery:
    return replace(query, maximum=Page(maximum=query.maximum).limit)


def _access(rights: Rights) -> dict[str, bool]:
    view, manage = rights.has(*VIEW_GROUPS), rights.has(AdminRole.MANAGE_USERS)
    return {
        "view": view,
        "viewMembers": view,
        "manageMembers": manage,
        "manage": manage,
        "manageMembership": manage,
    }
