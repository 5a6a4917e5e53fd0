"""Groups: their tree, their members, groups of realm files, and the groups that new users join.

An import adds missing groups; existing ones get the description, attributes and roles of the file
and lose no role. `defaultGroups` is a setting: the whole list.
Keycloak: 7.3 (groups, count, children, members, group-by-path), 7.1 (default-groups);
realm import, groups
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    AdminRole,
    ListingPage,
    Rights,
    RoleIndex,
    existing,
    load_roles,
    require_may_control_subtree,
    require_may_join,
    require_one_answer,
)
from gateway.admin.changes import Administration, Change
from gateway.admin.users import shown_users
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.groups import Group, is_at_or_below, parse_group_path, render_group_path
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.users import GroupQuery
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest
from gateway.domain.roles import EffectiveRoles
from gateway.representations.field_table import FieldNames
from gateway.representations.groups import (
    GroupDetails,
    GroupInput,
    group_answer,
    parse_group,
    parse_group_paths,
    parse_groups,
)
from gateway.representations.refusals import attempt, describe, raise_all

_NAMES = FieldNames(("groups", "defaultGroups"))
_ROLE_LISTS = ("realmRoles", "clientRoles")


@dataclass(frozen=True, slots=True)
class GivenGroups:
    """The groups of a file; `default` is None where the file does not set it."""

    groups: tuple[GroupInput, ...] = ()
    default: tuple[str, ...] | None = None
    default_at: str = ""


def read_realm_groups(document: Mapping[str, Any], path: str) -> GivenGroups:
    """Return the groups of a realm file; raises InvalidInput."""
    errors: list[FieldError] = []
    given = _NAMES.collect(document, path, errors)
    at, groups = given.get("groups", ("", None))
    default_at, default = given.get("defaultGroups", ("", None))
    found = GivenGroups(
        groups=attempt(errors, (), parse_groups, groups, at),
        default=None
        if default is None
        else attempt(errors, None, parse_group_paths, default, default_at),
        default_at=default_at,
    )
    raise_all(errors)
    return found


class GroupIndex:
    """The groups of one realm by path, within one transaction."""

    changed = False
    """Whether anything was written."""

    def __init__(self, groups: Sequence[Group] = ()) -> None:
        self._groups = {group.path: group for group in groups}
        self._by_plain_path: defaultdict[str, set[str]] = defaultdict(set)
        for group in groups:
            self._by_plain_path[group.plain_path].add(group.path)

    def ids(self, paths: Sequence[str], at: str) -> tuple[str, ...]:
        """Return the ids of the groups; raises InvalidInput naming the missing groups."""
        errors = [
            FieldError(f"{at}[{index}]", describe(path), "the path of a group of the realm")
            for index, path in enumerate(paths)
            if self._find_named(path) is None
        ]
        raise_all(errors)
        found = map(self._find_named, paths)
        return tuple(dict.fromkeys(group.id for group in found if group is not None))

    def find_group(self, path: str) -> Group | None:
        """Return the group at a canonical path."""
        return self._groups.get(path)

    def _find_named(self, path: str) -> Group | None:
        """Return the group at a canonical path, or else the only one with this plain path.

        Keycloak's exports escape no slash.
        """
        found = self._groups.get(path)
        if found is None:
            several = self._by_plain_path.get(path, ())
            known = [self._groups[each] for each in several if each in self._groups]
            found = known[0] if len(known) == 1 else None
        return found

    def discard(self, path: str) -> None:
        """Remove the group at a path and all groups below it from the index."""
        self._groups = {
            known: group for known, group in self._groups.items() if not is_at_or_below(known, path)
        }

    @property
    def default(self) -> tuple[str, ...]:
        """The ids of the groups that new users join."""
        return tuple(group.id for group in self._groups.values() if group.is_default)

    async def store_groups(
        self, stores: Stores, realm: Realm, given: GivenGroups, roles: RoleIndex
    ) -> None:
        """Store the groups of a file; raises InvalidInput naming all that does not exist."""
        errors: list[FieldError] = []
        for group in given.groups:
            await self._store_group(_Level(stores, realm, roles, errors), group, None)
        raise_all(errors)
        if given.default is not None:
            await self._set_default(stores, self.ids(given.default, given.default_at))

    async def _store_group(self, level: "_Level", given: GroupInput, parent: Group | None) -> None:
        above = () if parent is None else parse_group_path(parent.path)
        path = render_group_path((*above, given.name))
        before = self._groups.get(path)
        group = before or Group(
            id=given.id or str(uuid4()),
            realm_id=level.realm.id,
            name=given.name,
            path=path,
            parent=None if parent is None else parent.id,
        )
        group = _merged(group, given)
        if before is None:
            await level.stores.groups.add(group)
        elif group != before:
            await level.stores.groups.replace(group)
        self.changed |= group != before
        self._groups[path] = group
        self._by_plain_path[group.plain_path].add(path)
        await self._grant(level, given, group)
        for child in given.children:
            await self._store_group(level, child, group)

    async def _grant(self, level: "_Level", given: GroupInput, group: Group) -> None:
        try:
            role_ids = level.roles.ids(given.roles, given.at, _ROLE_LISTS)
        except InvalidInput as refusal:
            level.errors.extend(refusal.errors)
            return
        await level.stores.groups.grant(level.realm.id, group.id, role_ids)
        self.changed |= bool(role_ids)

    async def _set_default(self, stores: Stores, group_ids: Sequence[str]) -> None:
        for path, group in self._groups.items():
            is_default = group.id in group_ids
            if group.is_default != is_default:
                self._groups[path] = replace(group, is_default=is_default)
                await stores.groups.replace(self._groups[path])
                self.changed = True


@dataclass(frozen=True, slots=True)
class RealmIndexes:
    """The roles and groups of a realm by name."""

    roles: RoleIndex
    groups: GroupIndex


@dataclass(frozen=True, slots=True)
class _Level:
    """What every group of a file is stored with."""

    stores: Stores
    realm: Realm
    roles: RoleIndex
    errors: list[FieldError]


def _merged(group: Group, given: GroupInput) -> Group:
    return replace(
        group,
        description=group.description if given.description is None else given.description,
        attributes=group.attributes if given.attributes is None else given.attributes,
    )


async def load_groups(stores: Stores, realm: Realm) -> GroupIndex:
    """Return the groups of the realm."""
    return GroupIndex(await stores.groups.list_groups(realm.id))


async def load_indexes(stores: Stores, realm: Realm) -> RealmIndexes:
    """Return the roles and the groups of the realm."""
    return RealmIndexes(await load_roles(stores, realm), await load_groups(stores, realm))


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


async def get_group(stores: Stores, realm: Realm, group_id: str, *, alone: bool = False) -> Group:
    """Return a group by its id; `alone` locks its row. Raises NotFound."""
    return existing(
        await stores.group_catalogue.find_group(realm.id, group_id, for_update=alone), _NO_GROUP
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
    return replace(query, maximum=ListingPage(maximum=query.maximum).limit)


def _access(rights: Rights) -> dict[str, bool]:
    view, manage = rights.has(*VIEW_GROUPS), rights.has(AdminRole.MANAGE_USERS)
    return {
        "view": view,
        "viewMembers": view,
        "manageMembers": manage,
        "manage": manage,
        "manageMembership": manage,
    }


DEEPEST: Final = 50
"""How many levels of groups a realm may have, as in realm files."""


class GroupAdministration(Administration):
    """The use cases. All raise InvalidInput, StoreUnavailable, and NotFound for the group."""

    async def put_group(
        self, acting: Acting, parent: str | None, document: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Add a group below `parent`, or at the top; a document with an id moves that group.

        Return the new group, None for a moved group. Raises InvalidRequest, AlreadyExists,
        NotFound, and Forbidden where the members would get more rights than the caller has.
        """
        given = parse_group(document)
        if not given.name:
            raise InvalidRequest("Group name is missing")
        async with self._changes.begin(acting, alone=True) as change:
            if parent is not None:
                await get_group(change.stores, change.realm, parent)
            if given.id is not None:
                await _move_group(change, given.id, parent)
                change.record(
                    OperationType.UPDATE, ResourceType.GROUP, _place(parent), dict(document)
                )
                return None
            group = await _add_group(change, given, parent)
            path = f"groups/{group.id}" if parent is None else _place(parent)
            change.record(
                OperationType.CREATE, ResourceType.GROUP, path, {"id": group.id, **document}
            )
            shape = GroupShape(brief=False, counts=False)
            shown = await shown_groups(change.stores, change.realm, acting.rights, (group,), shape)
        return shown[0]

    async def update_group(
        self, acting: Acting, group_id: str, document: Mapping[str, Any]
    ) -> None:
        """Replace name and description, and the attributes if they are given.

        Raises InvalidRequest, AlreadyExists and PreconditionFailed.
        """
        given = parse_group(document)
        async with self._changes.begin(acting) as change:
            group = await _locked(change, group_id)
            if not given.name:
                raise InvalidRequest("Group name is missing")
            if given.id not in {None, group_id}:
                raise InvalidRequest("Invalid group id")
            changed = replace(
                group,
                name=given.name,
                description=given.description,
                attributes=group.attributes if given.attributes is None else given.attributes,
            )
            await change.stores.groups.replace(changed)
            change.invalidate(realm_topic(change.realm.id))
            change.record(
                OperationType.UPDATE, ResourceType.GROUP, f"groups/{group_id}", dict(document)
            )

    async def remove_group(self, acting: Acting, group_id: str) -> None:
        """Remove a group with all groups below it; raises PreconditionFailed."""
        async with self._changes.begin(acting) as change:
            group = await _locked(change, group_id)
            await require_may_control_subtree(acting, change.stores, group_id)
            await change.stores.group_catalogue.remove_group(change.realm.id, group_id)
            change.invalidate(realm_topic(change.realm.id))
            document = {"id": group.id, "name": group.name}
            change.record(OperationType.DELETE, ResourceType.GROUP, f"groups/{group_id}", document)

    async def list_groups(
        self, realm: Realm, rights: Rights, query: GroupQuery, shape: GroupShape
    ) -> list[dict[str, Any]]:
        """Return the groups of the page, none if the caller may only query; raises TooMany."""
        if not rights.has(*VIEW_GROUPS):
            return []
        async with self._database.read() as stores:
            found = await stores.group_catalogue.list_groups(realm.id, _bounded(query))
            return await shown_groups(stores, realm, rights, found, shape)

    async def groups(self, realm: Realm) -> tuple[Group, ...]:
        """Return all groups of the realm as values, by path."""
        async with self._database.read() as stores:
            return await stores.groups.list_groups(realm.id)

    async def count_groups(self, realm: Realm, query: GroupQuery) -> int:
        async with self._database.read() as stores:
            return await stores.group_catalogue.count_groups(realm.id, query)

    async def get_group_document(self, acting: Acting, group_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            group = await get_group(stores, acting.realm, group_id)
            return await group_document(stores, acting.realm, acting.rights, group)

    async def get_group_at_path(self, realm: Realm, rights: Rights, path: str) -> dict[str, Any]:
        """Return the group at a path; raises NotFound."""
        async with self._database.read() as stores:
            found = await stores.group_catalogue.find_by_path(realm.id, path)
            group = existing(found, "Group path does not exist")
            shape = GroupShape(brief=False, access=False)
            return (await shown_groups(stores, realm, rights, (group,), shape))[0]

    async def list_children(
        self, realm: Realm, rights: Rights, query: GroupQuery, shape: GroupShape
    ) -> list[dict[str, Any]]:
        """Return groups below the group `query.parent`; raises NotFound and TooMany."""
        async with self._database.read() as stores:
            await get_group(stores, realm, query.parent or "")
            found = await stores.group_catalogue.list_groups(realm.id, _bounded(query))
            return await shown_groups(stores, realm, rights, found, shape)

    async def list_members(
        self, realm: Realm, group_id: str, page: ListingPage, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return the members of the page; raises NotFound and TooMany."""
        async with self._database.read() as stores:
            await get_group(stores, realm, group_id)
            catalogue = stores.group_catalogue
            found = await catalogue.members(realm.id, group_id, page.first, page.limit)
            return await shown_users(stores, realm, found, brief=brief)

    async def list_default_groups(self, realm: Realm) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            ids = await stores.groups.default(realm.id)
            groups = await stores.group_catalogue.with_parents(realm.id, ids)
        return [group_answer(group, GroupDetails()) for group in groups if group.id in ids]

    async def add_default_group(self, acting: Acting, group_id: str) -> None:
        """Make new users join the group.

        Raises NotFound, and Forbidden where the group gives roles that the caller lacks.
        """
        await self._store_default(acting, group_id, is_default=True)

    async def remove_default_group(self, acting: Acting, group_id: str) -> None:
        """Let new users not join the group any more; raises NotFound."""
        await self._store_default(acting, group_id, is_default=False)

    async def _store_default(self, acting: Acting, group_id: str, *, is_default: bool) -> None:
        async with self._changes.begin(acting, alone=True) as change:
            found = await change.stores.group_catalogue.find_group(
                change.realm.id, group_id, for_update=True
            )
            group = existing(found, "Group not found")
            if is_default:
                await require_may_join(acting, change.stores, [group_id])
            if group.is_default != is_default:
                await change.stores.groups.replace(replace(group, is_default=is_default))
                change.invalidate(realm_topic(change.realm.id))
            operation = OperationType.CREATE if is_default else OperationType.DELETE
            change.record(operation, ResourceType.GROUP, f"default-groups/{group_id}")


def _place(parent: str | None) -> str:
    return "groups" if parent is None else f"groups/{parent}/children"


async def _locked(change: Change, group_id: str) -> Group:
    stores, realm = change.stores, change.realm
    group = await get_group(stores, realm, group_id, alone=True)
    await change.require_loaded_match(group_document, stores, realm, change.acting.rights, group)
    return group


async def _add_group(change: Change, given: GroupInput, parent: str | None) -> Group:
    stores, realm = change.stores, change.realm
    above = await stores.group_catalogue.with_parents(realm.id, [parent] if parent else [])
    _require_room(len(above) + 1)
    paths = (group.path for group in above if group.id == parent)
    names = (*parse_group_path(next(paths, "/")), given.name)
    group = Group(
        id=str(uuid4()),
        realm_id=realm.id,
        name=given.name,
        path=render_group_path(names),
        parent=parent,
        attributes=given.attributes or {},
        description=given.description,
    )
    await stores.groups.add(group)
    return group


async def _move_group(change: Change, group_id: str, parent: str | None) -> None:
    stores, realm = change.stores, change.realm
    found = await stores.group_catalogue.find_group(realm.id, group_id)
    group = existing(found, "Could not find child by id")
    if parent in {group.parent, group_id}:
        return
    await require_may_control_subtree(change.acting, stores, group_id)
    if parent is not None:
        above = await stores.group_catalogue.with_parents(realm.id, [parent])
        if group_id in {other.id for other in above}:
            raise InvalidRequest("A group cannot be moved below itself")
        _require_room(len(above) + await stores.group_catalogue.height(realm.id, group_id))
        await require_may_join(change.acting, stores, [parent])
    await stores.group_catalogue.move(realm.id, group_id, parent)
    change.invalidate(realm_topic(realm.id))


def _require_room(levels: int) -> None:
    if levels > DEEPEST:
        raise InvalidRequest(f"At most {DEEPEST} groups may stand one below the other")
