"""Importing users, groups, clients and roles into a realm: all of it, or nothing.

What exists refuses the import, is skipped, or is removed and re-created; a role is changed instead,
so that its users keep it, and a client keeps its id, and its secret unless another is sent.
Built-in clients are ignored. Each part requires the right to create it by itself.
Keycloak: 7.1 (partialImport), which requires the right to manage the realm only
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    AdminRole,
    NotSupported,
    load_roles,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.clients import ClientAdministration
from gateway.admin.groups import RealmIndexes, load_groups
from gateway.admin.realm_files.files import embedded
from gateway.admin.realm_files.partial_clients import PartialClients
from gateway.admin.realm_files.partial_groups import import_groups
from gateway.admin.realm_files.partial_roles import import_roles
from gateway.admin.realm_files.partial_users import PartialUsers
from gateway.admin.realm_files.user_inputs import (
    UserInput,
    UserPreparation,
    new_passwords,
    read_users,
)
from gateway.admin.users import PrecomputedHashes
from gateway.authentication.new_passwords import NewPasswords
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.event_loop import free_in_slices, in_slices
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.realm import Realm
from gateway.representations.groups import GroupInput, parse_groups
from gateway.representations.realm_files import (
    Action,
    IfExists,
    Kind,
    Outcome,
    parse_policy,
    render_outcomes,
)
from gateway.representations.roles import RoleInput, parse_roles

_UNSUPPORTED: Final = ("identityProviders", "identityProviderMappers")
_PATHS: Final = {
    Kind.CLIENT: "clients",
    Kind.CLIENT_ROLE: "clients",
    Kind.GROUP: "groups",
    Kind.REALM_ROLE: "realms",
    Kind.USER: "users",
}
_NAMES: Final = {Kind.CLIENT: "clientId", Kind.USER: "username"}


@dataclass(frozen=True, slots=True)
class _Given:
    policy: IfExists
    clients: list[tuple[str, dict[str, Any]]]
    roles: tuple[RoleInput, ...]
    groups: tuple[GroupInput, ...]
    users: tuple[UserInput, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialImport:
    """The use case."""

    changes: Changes
    clients: ClientAdministration
    passwords: PasswordHasher
    gate: NewPasswords
    online_sessions: OnlineSessionStore

    async def run(self, acting: Acting, document: Mapping[str, Any]) -> dict[str, Any]:
        """Import all of it; return the outcome of each part.

        Raises UnknownField, InvalidInput, InvalidRequest, NotSupported, AlreadyExists for what
        exists and may not, and Forbidden for what would exceed the caller's rights.
        """
        # A whole realm takes seconds to check: the other requests go on meanwhile.
        given = await asyncio.to_thread(_read, document, acting.realm, self.gate)
        _require_rights(acting, given)
        hashes = PrecomputedHashes(self.passwords)
        passwords = [new async for user in in_slices(given.users) for new in new_passwords([user])]
        await hashes.compute(acting.realm, passwords)
        async with self.changes.begin(acting, alone=True) as change:
            outcomes = await self._store(change, given, hashes)
            change.invalidate(realm_topic(change.realm.id))
            async for outcome in in_slices(outcomes):
                _record(change, outcome)
        parts = [*given.clients, *given.users]
        del given, passwords
        await free_in_slices(parts)
        results = await asyncio.to_thread(render_outcomes, outcomes)
        held: list[object] = [*outcomes]
        del outcomes
        await free_in_slices(held)
        return results

    async def _store(
        self, change: Change, given: _Given, hashes: PrecomputedHashes
    ) -> list[Outcome]:
        policy = given.policy
        clients = PartialClients(change, self.clients, policy, given.roles)
        outcomes = [*await clients.store(given.clients)]
        roles = await load_roles(change.stores, change.realm)
        outcomes += await import_roles(change, policy, roles, given.roles)
        indexes = RealmIndexes(roles, await load_groups(change.stores, change.realm))
        outcomes += await import_groups(change, policy, indexes, given.groups)
        preparation = UserPreparation(change.realm, indexes, hashes, self.gate)
        users = PartialUsers(change, policy, preparation, self.online_sessions, clients.new)
        outcomes += await users.store(given.users)
        return outcomes


def _read(document: Mapping[str, Any], realm: Realm, gate: NewPasswords) -> _Given:
    policy = parse_policy(document)
    if any(document.get(name) for name in _UNSUPPORTED):
        raise NotSupported("Identity brokering is not supported")
    return _Given(
        policy,
        embedded(document, "clients", ""),
        parse_roles(document.get("roles"), "roles"),
        parse_groups(document.get("groups"), "groups"),
        read_users(document, realm, "", gate.clock),
    )


def _require_rights(acting: Acting, given: _Given) -> None:
    """Raise Forbidden for parts that the caller could not create one by one."""
    if given.users or given.groups:
        acting.rights.require(AdminRole.MANAGE_USERS)
    if given.clients or any(role.role.client is not None for role in given.roles):
        acting.rights.require(AdminRole.MANAGE_CLIENTS)


def _record(change: Change, outcome: Outcome) -> None:
    if outcome.action is Action.SKIPPED:
        return
    operation = OperationType.CREATE
    if outcome.action is Action.OVERWRITTEN:
        operation = OperationType.UPDATE
    resource = {"id": outcome.id, _NAMES.get(outcome.kind, "name"): outcome.name}
    path = f"{_PATHS[outcome.kind]}/{outcome.id}"
    change.record(operation, ResourceType.REALM, path, resource)
