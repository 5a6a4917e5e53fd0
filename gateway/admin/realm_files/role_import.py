"""Importing roles into a realm, and creating those that users and groups name and nothing defines.

Keycloak: 7.1 (partialImport, roles)
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gateway.admin.access import (
    AdminRole,
    ControlledObject,
    ObjectKind,
    RoleIndex,
    is_administrative_role,
    require_changeable_role,
    require_may_compose,
    require_may_control,
)
from gateway.admin.changes import Change
from gateway.admin.realm_files.named_roles import missing_roles
from gateway.domain.errors import AlreadyExists
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest
from gateway.domain.roles import Role
from gateway.representations.partial_import import Action, IfExists, ImportedKind, ImportOutcome
from gateway.representations.roles import RoleInput, RoleName


async def import_roles(
    change: Change, policy: IfExists, index: RoleIndex, given: Sequence[RoleInput]
) -> list[ImportOutcome]:
    """Add, skip or change them; raises AlreadyExists, InvalidRequest, Forbidden, InvalidInput."""
    clients = await _clients_of_roles(change, given)
    skipped = []
    if policy is IfExists.OVERWRITE:
        # An export has them all: they cannot be changed, and none of them has to be.
        fixed, others = await asyncio.to_thread(_partitioned, change.realm, index, given)
        skipped = await import_roles(change, IfExists.SKIP, index, fixed) if fixed else []
        given = others
    known = {role.role: index.role(role.role) for role in given}
    existing = [role for role in given if known[role.role] is not None]
    if existing and policy is IfExists.FAIL:
        raise AlreadyExists(_role_exists(existing[0].role))
    added = [role for role in given if known[role.role] is None]
    replaced = existing if policy is IfExists.OVERWRITE else []
    for role in (*added, *replaced):
        require_changeable_role(change.acting, role.role.client, role.role.name)
    await index.add_roles([replace(role, id=None) for role in added])
    for role in replaced:
        before = known[role.role]
        if before is not None:
            await _replace_role(change, index, role, before)
    changed = _changed_parts(index, [(role, known[role.role]) for role in (*added, *replaced)])
    parts = await change.stores.role_catalogue.by_ids(change.realm.id, sorted(changed))
    await require_may_compose(change.acting, change.stores, parts.values())
    outcomes = [
        _role_outcome(role.role, policy.action(exists=known[role.role] is not None), index, clients)
        for role in given
    ]
    return [*outcomes, *skipped]


def _partitioned(
    realm: Realm, index: RoleIndex, given: Sequence[RoleInput]
) -> tuple[list[RoleInput], list[RoleInput]]:
    """Return the administrative roles of the realm, and the other roles."""
    parts: tuple[list[RoleInput], list[RoleInput]] = ([], [])
    for role in given:
        parts[not _is_fixed(realm, index, role.role)].append(role)
    return parts


def _is_fixed(realm: Realm, index: RoleIndex, role: RoleName) -> bool:
    """Return whether it is an administrative role of the realm, which nothing changes."""
    if index.role(role) is None:
        return False
    return is_administrative_role(realm, role.client, role.name)


async def add_named_roles(
    change: Change, index: RoleIndex, names: Iterable[RoleName], new_clients: Mapping[str, str]
) -> list[ImportOutcome]:
    """Create the roles that nothing defines; raises Forbidden.

    `new_clients` are those that the import has stored itself.
    """
    missing = missing_roles(index, names)
    clients: dict[str, str] = {}
    for role in missing:
        require_changeable_role(change.acting, role.role.client, role.role.name)
        client = role.role.client
        if client is not None and client not in clients:
            clients[client] = index.client_id(client) or ""
            change.acting.rights.require_role(AdminRole.MANAGE_CLIENTS)
            if client not in new_clients:
                controlled = ControlledObject(ObjectKind.CLIENT, clients[client])
                await require_may_control(change.acting, change.stores, controlled)
    await index.add_roles(missing)
    return [_role_outcome(role.role, Action.ADDED, index, clients) for role in missing]


async def _clients_of_roles(change: Change, given: Sequence[RoleInput]) -> dict[str, str]:
    names = sorted({role.role.client for role in given if role.role.client is not None})
    found = await change.stores.clients.named(change.realm.id, names)
    clients = {client.client_id: client.id for client in found}
    for name in names:
        if name not in clients:
            raise InvalidRequest(f"Can not import client roles for nonexistent client named {name}")
    return clients


async def _replace_role(change: Change, index: RoleIndex, given: RoleInput, before: Role) -> None:
    stores = change.stores
    controlled = ControlledObject(ObjectKind.ROLE, before.id)
    await require_may_control(change.acting, stores, controlled)
    after = replace(before, description=given.description, attributes=given.attributes)
    await stores.role_catalogue.replace(after)
    await stores.roles.set_composites(change.realm.id, before.id, _composite_ids(index, given))


def _changed_parts(index: RoleIndex, roles: Sequence[tuple[RoleInput, Role | None]]) -> set[str]:
    """Return the ids of the roles that a role begins or ceases to contain."""
    changed: set[str] = set()
    for given, before in roles:
        contained = frozenset() if before is None else before.composites
        changed |= contained.symmetric_difference(_composite_ids(index, given))
    return changed


def _composite_ids(index: RoleIndex, given: RoleInput) -> tuple[str, ...]:
    return index.ids(given.composites, f"{given.path}.composites")


def _role_exists(name: RoleName) -> str:
    if name.client is None:
        return f"Realm role '{name.name}' already exists."
    return f"Client role '{name.name}' for client '{name.client}' already exists."


def _role_outcome(
    name: RoleName, action: Action, index: RoleIndex, clients: dict[str, str]
) -> ImportOutcome:
    if name.client is None:
        (identity,) = index.ids([name], "roles")
        return ImportOutcome(action, ImportedKind.REALM_ROLE, name.name, identity)
    text = f"{name.client}-->{name.name}"
    return ImportOutcome(action, ImportedKind.CLIENT_ROLE, text, clients[name.client])
