"""Groups of a partial import, each with all below it. Keycloak: 7.1 (partialImport)."""

from collections.abc import Iterator, Sequence

from gateway.admin.access import Change, RoleIndex, require_may_control_subtree, require_may_grant
from gateway.admin.groups import GivenGroups, GroupIndex
from gateway.domain.errors import AlreadyExists
from gateway.domain.groups import Group
from gateway.representations.groups import GivenGroup
from gateway.representations.realm_files import Action, IfExists, Kind, Outcome
from gateway.representations.roles import RoleName


class PartialGroups:
    """Adds, skips or replaces, within one change."""

    def __init__(
        self, change: Change, policy: IfExists, roles: RoleIndex, groups: GroupIndex
    ) -> None:
        self._change = change
        self._policy = policy
        self._roles = roles
        self._groups = groups

    async def take(self, given: Sequence[GivenGroup]) -> list[Outcome]:
        """Store the groups; raises AlreadyExists, Forbidden and InvalidInput."""
        known = {group.name: self._groups.find(f"/{group.name}") for group in given}
        existing = [name for name, group in known.items() if group is not None]
        if existing and self._policy is IfExists.FAIL:
            raise AlreadyExists(f"Group '/{existing[0]}' already exists")
        wanted = [
            group
            for group in given
            if known[group.name] is None or self._policy is IfExists.OVERWRITE
        ]
        for name in existing:
            if self._policy is IfExists.OVERWRITE:
                await self._forget(f"/{name}")
        roles = self._roles.ids(_roles(wanted), "groups", ("realmRoles", "clientRoles"))
        await require_may_grant(self._change.acting, self._change.stores, roles)
        change = self._change
        await self._groups.take(
            change.stores, change.realm, GivenGroups(groups=tuple(wanted)), self._roles
        )
        return [self._outcome(group.name, known[group.name]) for group in given]

    async def _forget(self, path: str) -> None:
        group = self._groups.find(path)
        if group is not None:
            change = self._change
            await require_may_control_subtree(change.acting, change.stores, group.id)
            await change.stores.group_catalogue.remove(change.realm.id, group.id)
            self._groups.forget(path)

    def _outcome(self, name: str, before: Group | None) -> Outcome:
        action = Action.ADDED
        if before is not None:
            skipped = self._policy is IfExists.SKIP
            action = Action.SKIPPED if skipped else Action.OVERWRITTEN
        (identity,) = self._groups.ids([f"/{name}"], "groups")
        return Outcome(action, Kind.GROUP, name, identity)


def _roles(groups: Sequence[GivenGroup]) -> Iterator[RoleName]:
    for group in groups:
        yield from group.roles
        yield from _roles(group.children)
