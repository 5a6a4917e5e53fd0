"""What importing realm files would change, found by importing them and rolling back.

Nothing is published, and no password is hashed.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from gateway.admin.groups import load_indexes
from gateway.admin.realm_files.client_policies import list_policy_refusals
from gateway.admin.realm_files.difference import Difference, Sign, differences, hidden
from gateway.admin.realm_files.document import RealmDocument
from gateway.admin.realm_files.files import RealmFile
from gateway.admin.realm_files.plan import RealmPlan, RealmPlanner
from gateway.admin.realm_files.realm_import import find_named, for_each_realm
from gateway.admin.realm_files.user_inputs import UserInput, UserPreparation
from gateway.authentication.new_passwords import NewPasswords
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError
from gateway.domain.groups import render_group_path
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.passwords import PasswordMaker
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.policies.candidate import PasswordBlacklists
from gateway.representations.groups import GroupInput
from gateway.representations.realms import create_realm, render_realm, resources_not_imported
from gateway.representations.refusals import collect_refusals, raise_all
from gateway.representations.refused_settings import IneffectiveSetting
from gateway.representations.spelling import camel_case

_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class RealmDifference:
    """What would become of one realm."""

    name: str
    created: bool
    changes: tuple[Difference, ...]
    not_imported: tuple[str, ...] = ()
    ineffective: tuple[IneffectiveSetting, ...] = ()
    refused_clients: tuple[FieldError, ...] = ()
    """Clients that a client policy of the realm refuses."""

    @property
    def in_sync(self) -> bool:
        return not self.created and not self.changes


class _RolledBack(Exception):
    """Ends the transaction without storing anything."""


class _NoHashes:
    """PasswordMaker for passwords that are not stored."""

    async def hash(
        self,
        password: Secret,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> tuple[str, str]:
        """Return a hash that no password matches."""
        del password, realm_id, algorithm, iterations
        return "{}", "{}"


class ImportDryRun:
    """Imports realm files and rolls back."""

    def __init__(
        self,
        *,
        database: Database,
        keys: KeyFactory,
        authorities: AuthorityParser,
        clock: Clock,
        blacklists: PasswordBlacklists,
    ) -> None:
        self._database = database
        self._gate = NewPasswords(clock, blacklists)
        self._hasher: PasswordMaker = _NoHashes()
        self._planner = RealmPlanner(
            keys=keys,
            passwords=self._hasher,
            gate=self._gate,
            clock=clock,
            authorities=authorities,
        )
        self._key = secrets.token_bytes(_KEY_BYTES)

    async def run(self, files: Sequence[RealmFile]) -> tuple[RealmDifference, ...]:
        """Return what would change; raises InvalidInput with every wrong field of all files."""
        found: list[RealmDifference] = []
        with suppress(_RolledBack):
            async with self._database.write() as stores:
                found += await for_each_realm(files, partial(self._realm, stores))
                raise _RolledBack
        return tuple(found)

    async def _realm(
        self, stores: Stores, document: Mapping[str, Any], path: str
    ) -> RealmDifference:
        before = await find_named(stores.realms.get_for_update, document)
        plan = await self._planner.read(stores, document, before, path, report_ineffective=True)
        if before is None:
            # Of a new realm, what differs from the defaults.
            old = render_realm(create_realm({"realm": plan.realm.name, "id": plan.realm.id}))
        else:
            old = await _document(stores, before)
        refused = await list_policy_refusals(stores, plan.realm, plan.clients, plan.roles)
        new_users = await plan.new_users(stores)
        await self._planner.apply(stores, replace(plan, users=()))
        await self._check(stores, plan.realm, new_users)
        changes = differences(
            hidden(old, self._key), hidden(await _document(stores, plan.realm), self._key)
        )
        added = (Difference(Sign.ADDED, f"user {user.user.username}") for user in new_users)
        given = None if before is not None else _given(plan, document)
        return RealmDifference(
            plan.realm.name,
            before is None,
            (*_named(changes, given), *added),
            resources_not_imported(document),
            plan.ineffective(),
            refused,
        )

    async def _check(self, stores: Stores, realm: Realm, users: Iterable[UserInput]) -> None:
        """Raise InvalidInput for new users that could not be stored."""
        indexes = await load_indexes(stores, realm)
        preparation = UserPreparation(realm, indexes, self._hasher, self._gate)
        errors: list[FieldError] = []
        for user in users:
            with collect_refusals(errors):
                await preparation.prepared(user)
        raise_all(errors)


async def _document(stores: Stores, realm: Realm) -> dict[str, Any]:
    parts = await RealmDocument(stores, realm, masked=False).loaded()
    return await parts.all_but_users()


def _named(changes: Iterable[Difference], given: Collection[str] | None) -> list[Difference]:
    """Return the changes; `given` reduces those of a new realm to what the file names."""
    if given is None:
        return list(changes)
    return [one for one in changes if (one.what or one.field.partition(".")[0]) in given]


def _given(plan: RealmPlan, document: Mapping[str, Any]) -> frozenset[str]:
    """Return what a file names: settings by their names, resources as differences call them."""
    clients = (f"client {change.client.client_id}" for change in plan.clients)
    names = (role.role for role in plan.roles)
    roles = (
        f"role {role.client}/{role.name}" if role.client else f"role {role.name}" for role in names
    )
    groups = (f"group {path}" for path in _paths(plan.groups.groups, ()))
    scopes = (f"client scope {scope.name}" for scope in plan.scopes.scopes)
    return frozenset((*map(camel_case, document), *clients, *roles, *groups, *scopes))


def _paths(groups: Iterable[GroupInput], above: tuple[str, ...]) -> Iterable[str]:
    for group in groups:
        names = (*above, group.name)
        yield render_group_path(names)
        yield from _paths(group.children, names)
