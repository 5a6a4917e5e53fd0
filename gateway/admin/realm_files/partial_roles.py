"""Roles of a partial import. Keycloak: 7.1 (partialImport)."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.admin.access import (
    ControlledObject,
    InvalidRequest,
    ObjectKind,
    RoleIndex,
    require_changeable_role,
    require_may_control,
    require_may_grant,
)
from gateway.admin.changes import Change
from gateway.domain.errors import AlreadyExists
from gateway.domain.roles import Role
from gateway.representations.realm_files import Action, IfExists, Kind, Outcome
from gateway.representations.roles import RoleInput, RoleName


async def import_roles(
    change: Change, policy: IfExists, index: RoleIndex, given: Sequence[RoleInput]
) -> list[Outcome]:
    """Add, skip or change them; raises AlreadyExists, InvalidRequest, Forbidden, InvalidInput."""
    clients = await _clients(change, given)
    known = {role.role: index.role(role.role) for role in given}
    existing = [role for role in given if known[role.role] is not None]
    if existing and policy is IfExists.FAIL:
        raise AlreadyExists(_exists(existing[0].role))
    added = [role for role in given if known[role.role] is None]
    replaced = existing if policy is IfExists.OVERWRITE else []
    for role in (*added, *replaced):
        require_changeable_role(change.acting, role.role.client, role.role.name)
    await index.add([replace(role, id=None) for role in added])
    for role in replaced:
        before = known[role.role]
        if before is not None:
            await _replace(change, index, role, before)
    parts = {part for role in (*added, *replaced) for part in _parts(index, role)}
    await require_may_grant(change.acting, change.stores, sorted(parts))
    return [
        _outcome(role.role, policy.action(exists=known[role.role] is not None), index, clients)
        for role in given
    ]


async def _clients(change: Change, given: Sequence[RoleInput]) -> dict[str, str]:
    names = sorted({role.role.client for role in given if role.role.client is not None})
    found = await change.stores.clients.named(change.realm.id, names)
    clients = {client.client_id: client.id for client in found}
    for name in names:
        if name not in clients:
            raise InvalidRequest(f"Can not import client roles for nonexistent client named {name}")
    return clients


async def _replace(change: Change, index: RoleIndex, given: RoleInput, before: Role) -> None:
    stores = change.stores
    controlled = ControlledObject(ObjectKind.ROLE, before.id)
    await require_may_control(change.acting, stores, controlled)
    after = replace(before, description=given.description, attributes=given.attributes)
    await stores.role_catalogue.replace(after)
    await stores.roles.set_composites(change.realm.id, before.id, _parts(index, given))


def _parts(index: RoleIndex, given: RoleInput) -> tuple[str, ...]:
    return index.ids(given.composites, f"{given.path}.composites")


def _exists(name: RoleName) -> str:
    if name.client is None:
        return f"Realm role '{name.name}' already exists."
    return f"Client role '{name.name}' for client '{name.client}' already exists."


def _outcome(name: RoleName, action: Action, index: RoleIndex, clients: dict[str, str]) -> Outcome:
    if name.client is None:
        (identity,) = index.ids([name], "roles")
        return Outcome(action, Kind.REALM_ROLE, name.name, identity)
    text = f"{name.client}-->{name.name}"
    return Outcome(action, Kind.CLIENT_ROLE, text, clients[name.client])
