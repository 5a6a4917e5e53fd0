"""The built-in client scopes of a realm, and the client scopes of a realm file.

The built-in ones are added once, to realms that have none: a deleted one stays deleted.
An import adds new scopes, changes known ones, and removes none. Which scopes new clients get is a
setting: the whole list. Roles are put into scopes, none taken out.
Keycloak: built-in client scopes (26.7); realm import, client scopes
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import RoleIndex
from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.errors import FieldError
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.users import HolderKind, RoleHolder
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.tables import build_value, read_table
from gateway.representations.realm_files import ScopeMapping, ScopesInput, parse_realm_scopes
from gateway.representations.refusals import collect_refusals, describe, join, raise_all, refused
from gateway.representations.roles import RoleName

OFFLINE_ACCESS: Final = "offline_access"
"""The scope, and the realm role that a user needs for it."""


def _template(row: Mapping[str, Any]) -> ClientScope:
    mappers = [{"id": "", **mapper} for mapper in row.get("mappers", ())]
    scope: ClientScope = build_value(
        ClientScope, {**row, "id": "", "realm_id": "", "mappers": mappers}
    )
    return scope


_BUILT_IN: Final = tuple(
    _template(row) for row in read_table("gateway.admin", "client_scope_defaults.toml")["scopes"]
)
"""Without ids. Built once: building them is a third of the time in which a realm is created."""


def default_client_scopes(realm_id: str) -> tuple[ClientScope, ...]:
    """Return the scopes of a new realm, each with ids of its own."""
    return tuple(
        replace(
            scope,
            id=str(uuid4()),
            realm_id=realm_id,
            mappers=tuple(replace(mapper, id=str(uuid4())) for mapper in scope.mappers),
        )
        for scope in _BUILT_IN
    )


async def ensure_client_scopes(stores: Stores, realm_id: str, offline_role: str) -> bool:
    """Add the built-in client scopes to a realm that has none; return whether any was added.

    `offline_role` is the id of the role that a user must have for offline access.
    """
    if await stores.client_scopes.list_values(realm_id):
        return False
    for scope in default_client_scopes(realm_id):
        await stores.client_scopes.add(realm_id, scope)
        if scope.name == OFFLINE_ACCESS:
            holder = RoleHolder(HolderKind.CLIENT_SCOPE, scope.id)
            await stores.role_catalogue.grant_roles(realm_id, holder, [offline_role])
    return True


async def read_scopes(
    stores: Stores, realm_id: str, document: Mapping[str, Any], path: str
) -> ScopesInput:
    """Return the client scopes of the file; raises InvalidInput."""
    known = await _by_name(stores, realm_id) if realm_id else {}
    # Very many scopes take seconds to check: other requests go on meanwhile.
    given = await asyncio.to_thread(parse_realm_scopes, document, realm_id, known, path)
    has_own = document.get("clientScopes", document.get("client_scopes")) is not None
    if not has_own or any(scope.name == OFFLINE_ACCESS for scope in given.scopes):
        return given
    if known:
        return _with_offline_access_listed(given) if OFFLINE_ACCESS in known else given
    return _with_offline_access(given, realm_id)


def _with_offline_access_listed(given: ScopesInput) -> ScopesInput:
    """Return the scopes of a file as the import into a new realm would list them."""
    if given.optional is None or OFFLINE_ACCESS in {*given.optional, *(given.default or ())}:
        return given
    return replace(given, optional=(*given.optional, OFFLINE_ACCESS))


def _with_offline_access(given: ScopesInput, realm_id: str) -> ScopesInput:
    """Return the scopes of a new realm; one with scopes of its own has offline access too."""
    (scope,) = (one for one in default_client_scopes(realm_id) if one.name == OFFLINE_ACCESS)
    roles = (RoleName(OFFLINE_ACCESS),)
    mapping = ScopeMapping(None, OFFLINE_ACCESS, roles, "scopeMappings")
    optional = given.optional
    return replace(
        given,
        scopes=(*given.scopes, scope),
        optional=None if optional is None else (*optional, OFFLINE_ACCESS),
        mappings=(*given.mappings, mapping),
    )


async def scopes_of_clients(
    stores: Stores, realm_id: str, given: ScopesInput
) -> tuple[ClientScope, ...]:
    """Return the client scopes of the realm after the import, with how new clients get them.

    A new realm whose file has no scopes gets the built-in ones.
    """
    known = await _by_name(stores, realm_id) if realm_id else {}
    known |= {scope.name: scope for scope in given.scopes}
    scopes = tuple(known.values()) or default_client_scopes(realm_id)
    return tuple(
        replace(scope, realm_default=_kind(scope.name, scope.realm_default, given))
        for scope in scopes
    )


async def store_scopes(stores: Stores, realm: Realm, given: ScopesInput) -> bool:
    """Store the scopes themselves; return whether anything has changed."""
    known = await _by_name(stores, realm.id)
    changed = False
    for scope in given.scopes:
        before = known.get(scope.name)
        if before is None:
            await stores.client_scopes.add(realm.id, scope)
        elif scope != before:
            await stores.client_scopes.put_value(realm.id, scope)
        changed |= scope != before
    return changed


async def store_defaults(stores: Stores, realm: Realm, given: ScopesInput) -> bool:
    """Store which scopes new clients get; return whether anything has changed."""
    known = await _by_name(stores, realm.id)
    raise_all(
        FieldError(given.place(name), describe(scope), "the name of a client scope")
        for name, scopes in (
            ("defaultDefaultClientScopes", given.default),
            ("defaultOptionalClientScopes", given.optional),
        )
        for scope in scopes or ()
        if scope not in known
    )
    changed = False
    for scope in known.values():
        listed = _kind(scope.name, scope.realm_default, given)
        if listed is not scope.realm_default:
            await stores.client_scopes.put_value(realm.id, replace(scope, realm_default=listed))
            changed = True
    return changed


def _kind(name: str, before: RealmDefault | None, given: ScopesInput) -> RealmDefault | None:
    """Return how new clients get a scope once the file is imported."""
    lists = {RealmDefault.DEFAULT: given.default, RealmDefault.OPTIONAL: given.optional}
    for kind, names in lists.items():
        if name in (names or ()):
            return kind
    return None if before is not None and lists[before] is not None else before


async def store_scope_mappings(
    stores: Stores, realm: Realm, given: ScopesInput, roles: RoleIndex
) -> bool:
    """Add roles to scopes; return whether there were any. Raises InvalidInput."""
    if not given.mappings:
        return False
    errors: list[FieldError] = []
    scopes = await _by_name(stores, realm.id)
    clients = await stores.clients.ids(realm.id)
    ids = {name: scope.id for name, scope in scopes.items()}
    for mapping in given.mappings:
        with collect_refusals(errors):
            role_ids = roles.ids(mapping.roles, mapping.at, ("roles", "roles"))
            holder = _holder(mapping, clients, ids)
            await stores.role_catalogue.grant_roles(realm.id, holder, role_ids)
    raise_all(errors)
    return True


def _holder(
    mapping: ScopeMapping, clients: Mapping[str, str], scopes: Mapping[str, str]
) -> RoleHolder:
    kind, field, name, known = (
        (HolderKind.CLIENT, "client", mapping.client, clients)
        if mapping.client is not None
        else (HolderKind.CLIENT_SCOPE, "clientScope", mapping.client_scope, scopes)
    )
    if name is None or name not in known:
        allowed = "a client of the realm" if kind is HolderKind.CLIENT else "a client scope of it"
        raise refused(join(mapping.at, field), name, allowed)
    return RoleHolder(kind, known[name])


async def _by_name(stores: Stores, realm_id: str) -> dict[str, ClientScope]:
    return {scope.name: scope for scope in await stores.client_scopes.list_values(realm_id)}
