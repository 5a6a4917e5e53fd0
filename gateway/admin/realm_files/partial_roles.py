"""Roles of a partial import. Keycloak: 7.1 (partialImport)."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.admin.access import (
    Change,
    ControlledObject,
    ObjectKind,
    Refused,
    RoleIndex,
    require_changeable_role,
    require_may_control,
    require_may_grant,
)
from gateway.domain.errors import AlreadyExists
from gateway.domain.roles import Role
from gateway.representations.realm_files import Action, IfExists, Kind, Outcome
from gateway.representations.roles import GivenRole, RoleName


class PartialRoles:
    """Adds, skips or changes, within one change."""

    def __init__(self, change: Change, policy: IfExists, index: RoleIndex) -> None:
        self._change = change
        self._policy = policy
        self._index = index

    async def take(self, given: Sequence[GivenRole]) -> list[Outcome]:
        """Store the roles; raises AlreadyExists, Refused, Forbidden and InvalidInput."""
        clients = await self._clients(given)
        known = {role.role: self._index.role(role.role) for role in given}
        existing = [role for role in given if known[role.role] is not None]
        if existing and self._policy is IfExists.FAIL:
            raise AlreadyExists(_exists(existing[0].role))
        added = [role for role in given if known[role.role] is None]
        replaced = existing if self._policy is IfExists.OVERWRITE else []
        for role in (*added, *replaced):
            require_changeable_role(self._change.acting, role.role.client, role.role.name)
        await self._index.add(added)
        for role in replaced:
            await self._replace(role, known[role.role])
        await self._require_may_contain((*added, *replaced))
        return [
            _outcome(role.role, self._action(known[role.role]), self._id(role.role, clients))
            for role in given
        ]

    async def _clients(self, given: Sequence[GivenRole]) -> dict[str, str]:
        names = sorted({role.role.client for role in given if role.role.client is not None})
        found = await self._change.stores.clients.named(self._change.realm.id, names)
        clients = {client.client_id: client.id for client in found}
        for name in names:
            if name not in clients:
                raise Refused(f"Can not import client roles for nonexistent client named {name}")
        return clients

    async def _replace(self, given: GivenRole, before: Role | None) -> None:
        if before is None:
            return
        stores, realm_id = self._change.stores, self._change.realm.id
        controlled = ControlledObject(ObjectKind.ROLE, before.id)
        await require_may_control(self._change.acting, stores, controlled)
        after = replace(before, description=given.description, attributes=given.attributes)
        await stores.role_catalogue.replace(after)
        parts = self._index.ids(given.composites, f"{given.path}.composites")
        await stores.roles.set_composites(realm_id, before.id, parts)

    async def _require_may_contain(self, given: Sequence[GivenRole]) -> None:
        parts = {
            identity
            for role in given
            for identity in self._index.ids(role.composites, f"{role.path}.composites")
        }
        await require_may_grant(self._change.acting, self._change.stores, sorted(parts))

    def _action(self, before: Role | None) -> Action:
        if before is None:
            return Action.ADDED
        return Action.SKIPPED if self._policy is IfExists.SKIP else Action.OVERWRITTEN

    def _id(self, name: RoleName, clients: dict[str, str]) -> str:
        if name.client is not None:
            return clients[name.client]
        (identity,) = self._index.ids([name], "roles")
        return identity


def _exists(name: RoleName) -> str:
    if name.client is None:
        return f"Realm role '{name.name}' already exists."
    return f"Client role '{name.name}' for client '{name.client}' already exists."


def _outcome(name: RoleName, action: Action, identity: str) -> Outcome:
    if name.client is None:
        return Outcome(action, Kind.REALM_ROLE, name.name, identity)
    return Outcome(action, Kind.CLIENT_ROLE, f"{name.client}-->{name.name}", identity)
