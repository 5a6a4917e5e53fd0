"""The groups of a user. Keycloak: 7.2 (users/{id}/groups)."""

from collections.abc import Sequence
from typing import Any

from gateway.admin.access import (
    Acting,
    ListingPage,
    existing,
    get_user,
    get_user_for_update,
    require_may_join,
)
from gateway.admin.changes import Administration, Change
from gateway.admin.users.administration import invalidate_user
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.groups import Group
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.representations.groups import GroupDetails, group_answer

_NO_ROLES = EffectiveRoles()


class UserGroups(Administration):
    """The use cases. All raise NotFound and StoreUnavailable."""

    async def list_groups(
        self, realm: Realm, user_id: str, search: str, page: ListingPage, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return those of the user's groups whose names contain `search`, by name."""
        async with self._database.read() as stores:
            found = (await _matching(stores, realm, user_id, search))[page.first :]
            groups = found[: page.maximum]
            if brief:
                return [group_answer(group, GroupDetails()) for group in groups]
            return await _whole(stores, realm.id, groups)

    async def count_groups(self, realm: Realm, user_id: str, search: str) -> int:
        async with self._database.read() as stores:
            return len(await _matching(stores, realm, user_id, search))

    async def join_group(self, acting: Acting, user_id: str, group_id: str) -> None:
        """Add the user to a group; raises Forbidden if it gives more rights than the caller has."""
        async with self._changes.begin(acting) as change:
            user, group = await _both(change, user_id, group_id)
            await require_may_join(acting, change.stores, [group.id])
            if not await _is_member(change, user, group):
                await change.stores.groups.join(change.realm.id, user.id, group.id)
                await _record(change, OperationType.CREATE, user, group)

    async def leave_group(self, acting: Acting, user_id: str, group_id: str) -> None:
        async with self._changes.begin(acting) as change:
            user, group = await _both(change, user_id, group_id)
            if await _is_member(change, user, group):
                await change.stores.groups.leave(change.realm.id, user.id, group.id)
                await _record(change, OperationType.DELETE, user, group)


async def _matching(stores: Stores, realm: Realm, user_id: str, search: str) -> list[Group]:
    await get_user(stores, realm.id, user_id)
    groups = await stores.groups.of_user(realm.id, user_id)
    sought = search.lower()
    found = [group for group in groups if sought in group.name.lower()]
    return sorted(found, key=lambda group: (group.name, group.path))


async def _both(change: Change, user_id: str, group_id: str) -> tuple[User, Group]:
    user = await get_user_for_update(change.stores, change.realm.id, user_id)
    group = await change.stores.group_catalogue.find_group(change.realm.id, group_id)
    return user, existing(group, "Group not found")


async def _is_member(change: Change, user: User, group: Group) -> bool:
    groups = await change.stores.groups.of_user(change.realm.id, user.id)
    return any(one.id == group.id for one in groups)


async def _record(change: Change, operation: OperationType, user: User, group: Group) -> None:
    path = f"users/{user.id}/groups/{group.id}"
    (document,) = await _whole(change.stores, change.realm.id, (group,))
    change.record(operation, ResourceType.GROUP_MEMBERSHIP, path, document)
    invalidate_user(change, user)


async def _whole(stores: Stores, realm_id: str, groups: Sequence[Group]) -> list[dict[str, Any]]:
    roles = await stores.group_catalogue.roles(realm_id, [group.id for group in groups])
    return [
        group_answer(group, GroupDetails(roles=roles.get(group.id, _NO_ROLES))) for group in groups
    ]
