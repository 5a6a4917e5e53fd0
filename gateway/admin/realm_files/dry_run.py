"""The differences that importing realm files would make, found by importing them and rolling back.

Nothing is published, and no password is hashed. Two states of a realm are compared field by field,
each resource by its name; secrets are compared and never shown.
"""

import hashlib
import hmac
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, reduce
from typing import Any, Final

import orjson

from gateway.admin.groups import load_indexes
from gateway.admin.realm_files.export import RealmDocument
from gateway.admin.realm_files.files import RealmFile
from gateway.admin.realm_files.plan import RealmPlan, RealmPlanner
from gateway.admin.realm_files.realm_import import find_named, for_each_realm, list_policy_refusals
from gateway.admin.realm_files.report import (
    UNKNOWN_GATEWAY,
    GatewayNames,
    Report,
    report_known_users,
    report_refused_clients,
)
from gateway.admin.realm_files.user_import import ImportedUser, UserPreparation
from gateway.authentication.passwords import NewPasswords
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError
from gateway.domain.groups import render_group_path
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.credentials import PasswordMaker
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.random_values import random_bytes
from gateway.domain.realm import WEBHOOK_SECRET, Realm
from gateway.domain.secrets import Secret
from gateway.password_policies import PasswordBlacklists
from gateway.representations.clients import replace_secrets
from gateway.representations.field_table import camel_case
from gateway.representations.groups import GroupInput
from gateway.representations.realms import SECRETS as SMTP_SECRETS
from gateway.representations.realms import create_realm, render_realm, resources_not_imported
from gateway.representations.refusals import collect_refusals, raise_all
from gateway.representations.refused_settings import IneffectiveSetting

_CLIENT, _ROLE, _GROUP, _SCOPE = "client", "role", "group", "client scope"
_RESOURCES: Final = frozenset({"clients", "roles", "groups", "clientScopes"})
_NAMES: Final = ("name", "alias")
"""Fields that identify the objects of a list."""


class Sign(StrEnum):
    """The kind of a difference."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


@dataclass(frozen=True, slots=True)
class Difference:
    """One added or removed resource, or one changed field; `what` is empty for the realm itself."""

    sign: Sign
    what: str
    field: str = ""
    before: Any = None
    after: Any = None

    @property
    def is_secret(self) -> bool:
        """Tell whether the values are hidden."""
        return isinstance(self.before, Hidden) or isinstance(self.after, Hidden)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A secret, comparable and not readable."""

    digest: bytes

    def __repr__(self) -> str:
        return "a hidden value"


def hidden(document: Mapping[str, Any], key: bytes) -> dict[str, Any]:
    """Return the document with a digest, keyed with `key`, in place of each secret."""

    def hide(holder: Mapping[str, Any], name: str) -> dict[str, Any]:
        if holder.get(name) is None:
            return dict(holder)
        digest = hmac.digest(key, orjson.dumps(holder[name]), hashlib.sha256)
        return {**holder, name: Hidden(digest)}

    return {
        **document,
        "attributes": hide(document.get("attributes", {}), WEBHOOK_SECRET),
        "smtpServer": reduce(hide, SMTP_SECRETS, document.get("smtpServer", {})),
        "clients": [replace_secrets(client, hide) for client in document.get("clients", ())],
    }


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the differences: settings first, then resources by kind and name."""
    yield from _fields("", _settings(before), _settings(after))
    old, new = _resources(before), _resources(after)
    for what in [*old, *(what for what in new if what not in old)]:
        if what not in new:
            yield Difference(Sign.REMOVED, what)
        elif what not in old:
            yield Difference(Sign.ADDED, what)
        else:
            yield from _fields(what, old[what], new[what])


def _settings(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in _RESOURCES}


def _resources(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    roles = document.get("roles", {})
    found = {f"{_CLIENT} {client['clientId']}": client for client in document.get("clients", ())}
    found |= {f"{_ROLE} {role['name']}": role for role in roles.get("realm", ())}
    for client, of_client in roles.get("client", {}).items():
        found |= {f"{_ROLE} {client}/{role['name']}": role for role in of_client}
    found |= {f"{_GROUP} {path}": group for path, group in _flat(document.get("groups", ()), ())}
    found |= {f"{_SCOPE} {scope['name']}": scope for scope in document.get("clientScopes", ())}
    return found


def _flat(groups: Any, above: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all groups of the tree, each with its path."""
    for group in groups:
        names = (*above, group["name"])
        own = {name: value for name, value in group.items() if name != "subGroups"}
        yield render_group_path(names), own
        yield from _flat(group.get("subGroups", ()), names)


def _fields(
    what: str, before: Mapping[str, Any], after: Mapping[str, Any], path: str = ""
) -> Iterator[Difference]:
    for name in [*before, *(name for name in after if name not in before)]:
        yield from _field(what, before.get(name), after.get(name), f"{path}{name}")


def _field(what: str, before: Any, after: Any, path: str) -> Iterator[Difference]:
    if before == after:
        return
    parts = [_by_name(value) for value in (before, after)]
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _fields(what, before, after, f"{path}.")
    elif parts[0] is not None and parts[1] is not None and any(parts):
        yield from _fields(what, parts[0], parts[1], f"{path}.")
    else:
        yield Difference(Sign.CHANGED, what, path, before, after)


def _by_name(value: Any) -> dict[str, Any] | None:
    """Return the objects of a list by name, if names are unique."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return None
    for key in _NAMES:
        names = [item.get(key) for item in value]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return dict(zip(names, value, strict=True))
    return None


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
    report: Report = ()
    """What is lost, has no effect, or needs the operator."""

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
        gateway: GatewayNames = UNKNOWN_GATEWAY,
    ) -> None:
        self._database = database
        self._gateway = gateway
        self._gate = NewPasswords(clock, blacklists)
        self._hasher: PasswordMaker = _NoHashes()
        self._planner = RealmPlanner(
            keys=keys,
            passwords=self._hasher,
            gate=self._gate,
            clock=clock,
            authorities=authorities,
        )
        self._key = random_bytes(_KEY_BYTES)

    async def run(
        self, files: Sequence[RealmFile], *, updates_users: bool = False
    ) -> tuple[RealmDifference, ...]:
        """Return what would change; raises InvalidInput with every wrong field of all files."""
        found: list[RealmDifference] = []
        with suppress(_RolledBack):
            async with self._database.write() as stores:
                compare = partial(self._realm, stores, updates_users)
                found += await for_each_realm(files, compare)
                raise _RolledBack
        return tuple(found)

    async def _realm(
        self,
        stores: Stores,
        updates_users: bool,  # noqa: FBT001 - bound by position
        document: Mapping[str, Any],
        path: str,
        of_file: Report,
    ) -> RealmDifference:
        before = await find_named(stores.realms.get_for_update, document)
        plan = await self._planner.read(stores, document, before, path, report_ineffective=True)
        if before is None:
            # Of a new realm, what differs from the defaults.
            old = render_realm(create_realm({"realm": plan.realm.name, "id": plan.realm.id}))
        else:
            old = await _read_document(stores, before)
        refused = await list_policy_refusals(stores, plan.realm, plan.clients, plan.roles)
        new_users = await plan.new_users(stores)
        applied = await self._planner.apply(
            stores, plan, with_users=False, updates_users=updates_users
        )
        await self._check(stores, plan.realm, new_users)
        changes = differences(
            hidden(old, self._key), hidden(await _read_document(stores, plan.realm), self._key)
        )
        users = [Difference(Sign.ADDED, f"user {user.user.username}") for user in new_users]
        differing = applied.differing_users
        if updates_users:
            users += [Difference(Sign.CHANGED, f"user {name}") for name in differing]
            differing = ()
        given = None if before is not None else _given(plan, document)
        return RealmDifference(
            plan.realm.name,
            before is None,
            (*_named_in_file(changes, given), *users),
            resources_not_imported(plan.document),
            plan.ineffective(),
            refused,
            (
                *of_file,
                *plan.report(self._gateway),
                *report_refused_clients(refused),
                *report_known_users(differing),
            ),
        )

    async def _check(self, stores: Stores, realm: Realm, users: Iterable[ImportedUser]) -> None:
        """Raise InvalidInput for new users that could not be stored."""
        indexes = await load_indexes(stores, realm)
        preparation = UserPreparation(realm, indexes, self._hasher, self._gate)
        errors: list[FieldError] = []
        for user in users:
            with collect_refusals(errors):
                await preparation.prepared(user)
        raise_all(errors)


async def _read_document(stores: Stores, realm: Realm) -> dict[str, Any]:
    parts = await RealmDocument(stores, realm, masked=False).loaded()
    return await parts.all_but_users()


def _named_in_file(
    changes: Iterable[Difference], given: Collection[str] | None
) -> list[Difference]:
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
