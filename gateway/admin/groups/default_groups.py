"""The groups that new users of a realm join. Keycloak: 7.1 (default-groups)."""

from dataclasses import replace
from typing import Any

from gateway.admin.access import Acting, Changes, Missing, require_may_join
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.groups import Group
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm


class DefaultGroups:
    """Lists, adds and takes away. All methods raise StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def list(self, realm: Realm) -> list[dict[str, Any]]:
        """Return the groups, by path."""
        async with self._database.read() as stores:
            ids = await stores.groups.default(realm.id)
            groups = await stores.group_catalogue.with_parents(realm.id, ids)
        return [_shown(group) for group in groups if group.id in ids]

    async def set(self, acting: Acting, group_id: str, *, is_default: bool) -> None:
        """Let new users join the group, or no longer.

        Raises Missing, and Forbidden where the group brings roles that the caller has not.
        """
        async with self._changes.begin(acting, alone=True) as change:
            group = await _found(change.stores, change.realm, group_id)
            if is_default:
                await require_may_join(acting, change.stores, [group_id])
            if group.is_default != is_default:
                await change.stores.groups.replace(replace(group, is_default=is_default))
            operation = OperationType.CREATE if is_default else OperationType.DELETE
            change.record(operation, ResourceType.GROUP, f"default-groups/{group_id}")


async def _found(stores: Stores, realm: Realm, group_id: str) -> Group:
    group = await stores.group_catalogue.find(realm.id, group_id, for_update=True)
    if group is None:
        raise Missing("Group not found")
    return group


def _shown(group: Group) -> dict[str, Any]:
    parent = {} if group.parent is None else {"parentId": group.parent}
    return {"id": group.id, "name": group.name, "path": group.path, **parent, "subGroups": []}
