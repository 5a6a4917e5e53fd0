"""Creating, changing, moving and removing groups, and the groups that new users join.

Keycloak: 7.3 (groups, children), 7.1 (default-groups)
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    existing,
    require_may_control_subtree,
    require_may_join,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.groups.listing import (
    GroupShape,
    get_group,
    group_document,
    shown_groups,
)
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.groups import Group, parse_group_path, render_group_path
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.groups import GroupInput, parse_group

DEEPEST: Final = 50
"""How many levels of groups a realm may have, as in realm files."""


class GroupAdministration:
    """The use cases. All raise InvalidInput, StoreUnavailable, and NotFound for the group."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def put(
        self, acting: Acting, parent: str | None, document: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Add a group below `parent`, or at the top; a document with an id moves that group.

        Return the new group, None for one that was moved. Raises InvalidRequest, AlreadyExists,
        NotFound, and Forbidden where the members would get more rights than the caller has.
        """
        given = parse_group(document)
        if not given.name:
            raise InvalidRequest("Group name is missing")
        async with self._changes.begin(acting, alone=True) as change:
            if parent is not None:
                await get_group(change.stores, change.realm, parent)
            if given.id is not None:
                await _move(change, given.id, parent)
                change.record(
                    OperationType.UPDATE, ResourceType.GROUP, _place(parent), dict(document)
                )
                return None
            group = await _add(change, given, parent)
            path = f"groups/{group.id}" if parent is None else _place(parent)
            change.record(
                OperationType.CREATE, ResourceType.GROUP, path, {"id": group.id, **document}
            )
            shape = GroupShape(brief=False, counts=False)
            shown = await shown_groups(change.stores, change.realm, acting.rights, (group,), shape)
        return shown[0]

    async def update(self, acting: Acting, group_id: str, document: Mapping[str, Any]) -> None:
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

    async def remove(self, acting: Acting, group_id: str) -> None:
        """Remove a group with all groups below it; raises PreconditionFailed."""
        async with self._changes.begin(acting) as change:
            group = await _locked(change, group_id)
            await require_may_control_subtree(acting, change.stores, group_id)
            await change.stores.group_catalogue.remove(change.realm.id, group_id)
            change.invalidate(realm_topic(change.realm.id))
            document = {"id": group.id, "name": group.name}
            change.record(OperationType.DELETE, ResourceType.GROUP, f"groups/{group_id}", document)


def _place(parent: str | None) -> str:
    return "groups" if parent is None else f"groups/{parent}/children"


async def _locked(change: Change, group_id: str) -> Group:
    stores, realm = change.stores, change.realm
    group = await get_group(stores, realm, group_id, alone=True)
    await change.require_loaded_match(group_document, stores, realm, change.acting.rights, group)
    return group


async def _add(change: Change, given: GroupInput, parent: str | None) -> Group:
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


async def _move(change: Change, group_id: str, parent: str | None) -> None:
    stores, realm = change.stores, change.realm
    found = await stores.group_catalogue.find(realm.id, group_id)
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


class DefaultGroups:
    """The use cases. All raise StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def list(self, realm: Realm) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            ids = await stores.groups.default(realm.id)
            groups = await stores.group_catalogue.with_parents(realm.id, ids)
        return [_shown(group) for group in groups if group.id in ids]

    async def set(self, acting: Acting, group_id: str, *, is_default: bool) -> None:
        """Make new users join the group, or stop that.

        Raises NotFound, and Forbidden where the group gives roles that the caller lacks.
        """
        async with self._changes.begin(acting, alone=True) as change:
            found = await change.stores.group_catalogue.find(
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


def _shown(group: Group) -> dict[str, Any]:
    parent = {} if group.parent is None else {"parentId": group.parent}
    return {"id": group.id, "name": group.name, "path": group.plain_path, **parent, "subGroups": []}
