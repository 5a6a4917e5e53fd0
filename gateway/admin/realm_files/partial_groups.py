"""Groups of a partial import, each with its subtree. Keycloak: 7.1 (partialImport)."""

from collections.abc import Iterator, Sequence

from gateway.admin.access import (
    require_may_control_subtree,
    require_may_grant,
)
from gateway.admin.changes import Change
from gateway.admin.groups import GivenGroups, RealmIndexes
from gateway.domain.errors import AlreadyExists
from gateway.domain.groups import render_group_path
from gateway.representations.groups import GroupInput
from gateway.representations.realm_files import IfExists, Kind, Outcome
from gateway.representations.roles import RoleName


async def import_groups(
    change: Change, policy: IfExists, indexes: RealmIndexes, given: Sequence[GroupInput]
) -> list[Outcome]:
    """Add, skip or replace the groups; raises AlreadyExists, Forbidden and InvalidInput."""
    stores, realm, groups = change.stores, change.realm, indexes.groups
    known = dict.fromkeys(group.name for group in given if groups.find(_path(group.name)))
    if known and policy is IfExists.FAIL:
        raise AlreadyExists(f"Group '/{next(iter(known))}' already exists")
    overwrite = policy is IfExists.OVERWRITE
    wanted = tuple(group for group in given if overwrite or group.name not in known)
    for name in known if overwrite else ():
        await _remove(change, indexes, _path(name))
    roles = indexes.roles.ids(_roles(wanted), "groups", ("realmRoles", "clientRoles"))
    await require_may_grant(change.acting, stores, roles)
    await groups.take(stores, realm, GivenGroups(groups=wanted), indexes.roles)
    ids = {group.name: groups.ids([_path(group.name)], "groups")[0] for group in given}
    return [
        Outcome(policy.action(exists=name in known), Kind.GROUP, name, ids[name])
        for name in (group.name for group in given)
    ]


def _path(name: str) -> str:
    """Return the path of a group at the top."""
    return render_group_path((name,))


async def _remove(change: Change, indexes: RealmIndexes, path: str) -> None:
    group = indexes.groups.find(path)
    if group is not None:
        await require_may_control_subtree(change.acting, change.stores, group.id)
        await change.stores.group_catalogue.remove(change.realm.id, group.id)
        indexes.groups.discard(path)


def _roles(groups: Sequence[GroupInput]) -> Iterator[RoleName]:
    for group in groups:
        yield from group.roles
        yield from _roles(group.children)
