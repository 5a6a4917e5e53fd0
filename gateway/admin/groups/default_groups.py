"""The groups that new users of a realm join. Keycloak: 7.1 (default-groups)."""

from dataclasses import replace
from typing import Any

from gateway.admin.access import Acting, Changes, existing, require_may_join
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.groups import Group
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm


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

        Raises Missing, and Forbidden where the group gives roles that the caller lacks.
        """
        async with self._changes.begin(acting, alone=True) as change:
            found = await change.stores.group_catalogue.find(change.realm.id, group_id, alone=True)
            group = existing(found, "Group not found")
            if is_default:
                await require_may_join(acting, change.stores, [group_id])
            if group.is_default != is_default:
                await change.stores.groups.replace(replace(group, is_default=is_default))
            operation = OperationType.CREATE if is_default else OperationType.DELETE
            change.record(operation, ResourceType.GROUP, f"default-groups/{group_id}")


def _shown(group: Group) -> dict[str, Any]:
    parent = {} if group.parent is None else {"parentId": group.parent}
    return {"id": group.id, "name": group.name, "path": group.path, **parent, "subGroups": []}
