"""Importing users, groups, clients and roles into a realm: all of it, or nothing.

What there is already fails, is skipped, or is removed and made anew; a role stays and is changed,
so that whoever has it keeps it, and a client keeps its id, and its secret unless another is sent.
What every realm has of clients is passed over. It takes the rights that the parts take one by one.
Keycloak: 7.1 (partialImport), which is content with the right to manage the realm
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.admin.access import Acting, AdminRole, Change, Changes, NotHere, load_roles
from gateway.admin.clients import ClientAdministration
from gateway.admin.groups import RealmIndexes, load_groups
from gateway.admin.realm_files.files import embedded
from gateway.admin.realm_files.partial_clients import PartialClients
from gateway.admin.realm_files.partial_groups import PartialGroups
from gateway.admin.realm_files.partial_roles import PartialRoles
from gateway.admin.realm_files.partial_users import PartialUsers
from gateway.admin.realm_files.user_import import UserInput, read_users
from gateway.admin.users import NewPasswords, PrecomputedHashes
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.event_loop import free_in_slices, in_slices
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.realm import Realm
from gateway.representations.groups import GivenGroup, read_groups
from gateway.representations.realm_files import (
    Action,
    IfExists,
    Kind,
    Outcome,
    read_policy,
    write_outcomes,
)
from gateway.representations.roles import GivenRole, read_roles
from gateway.representations.setting_effects import IneffectiveSetting
from gateway.representations.users import NewPassword

_LEFT_OUT: Final = ("identityProviders", "identityProviderMappers")
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
    roles: tuple[GivenRole, ...]
    groups: tuple[GivenGroup, ...]
    users: tuple[UserInput, ...]


class PartialImport:
    """The use case."""

    def __init__(
        self,
        *,
        changes: Changes,
        clients: ClientAdministration,
        passwords: PasswordHasher,
        gate: NewPasswords,
        online_sessions: OnlineSessionStore,
    ) -> None:
        self._changes = changes
        self._clients = clients
        self._passwords = passwords
        self._gate = gate
        self._online_sessions = online_sessions

    async def run(self, acting: Acting, document: Mapping[str, Any]) -> dict[str, Any]:
        """Import all of it; return what became of each part.

        Raises UnknownField, InvalidInput, Refused, NotHere, AlreadyExists for what exists and may
        not, and Forbidden for whatever would rise above the caller's rights.
        """
        # A whole realm takes seconds to judge: the other requests go on meanwhile.
        given = await asyncio.to_thread(_read, document, acting.realm, self._gate)
        _require_rights(acting, given)
        hashes = PrecomputedHashes(self._passwords)
        passwords = [
            credential
            async for user in in_slices(given.users)
            for credential in user.credentials
            if isinstance(credential, NewPassword)
        ]
        await hashes.prepare_all(acting.realm, passwords)
        async with self._changes.begin(acting, alone=True) as change:
            outcomes, ineffective = await self._store(change, given, hashes)
            change.tell(realm_topic(change.realm.id))
            async for outcome in in_slices(outcomes):
                _record(change, outcome)
        parts = [*given.clients, *given.users]
        del given, passwords
        await free_in_slices(parts)
        return await asyncio.to_thread(write_outcomes, outcomes, ineffective)

    async def _store(
        self, change: Change, given: _Given, hashes: PrecomputedHashes
    ) -> tuple[list[Outcome], list[IneffectiveSetting]]:
        policy = given.policy
        clients = PartialClients(change, self._clients, policy)
        outcomes = [*await clients.take(given.clients)]
        roles = await load_roles(change.stores, change.realm)
        outcomes += await PartialRoles(change, policy, roles).take(given.roles)
        groups = await load_groups(change.stores, change.realm)
        outcomes += await PartialGroups(change, policy, roles, groups).take(given.groups)
        users = PartialUsers(
            change,
            policy,
            RealmIndexes(roles, groups),
            (hashes, self._gate),
            self._online_sessions,
        )
        outcomes += await users.take(given.users, new_clients=clients.new)
        return outcomes, clients.ineffective


def _read(document: Mapping[str, Any], realm: Realm, gate: NewPasswords) -> _Given:
    policy = read_policy(document)
    if any(document.get(name) for name in _LEFT_OUT):
        raise NotHere("Identity brokering is not part of this product")
    return _Given(
        policy,
        embedded(document, "clients", ""),
        read_roles(document.get("roles"), "roles"),
        read_groups(document.get("groups"), "groups"),
        read_users(document, realm, "", gate.clock),
    )


def _require_rights(acting: Acting, given: _Given) -> None:
    """Raise Forbidden for parts that the caller could not make one by one."""
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
    told = {"id": outcome.id, _NAMES.get(outcome.kind, "name"): outcome.name}
    path = f"{_PATHS[outcome.kind]}/{outcome.id}"
    change.record(operation, ResourceType.REALM, path, told)
