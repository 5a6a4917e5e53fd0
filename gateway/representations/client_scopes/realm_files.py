"""The client scopes of a realm file: the scopes, which of them new clients get, and roles.

Keycloak: RealmRepresentation (clientScopes, defaultDefaultClientScopes, scopeMappings ...)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.client_scopes import ClientScope
from gateway.domain.errors import FieldError
from gateway.representations.client_scopes.client_scope import ScopeName, parse_client_scope
from gateway.representations.names import PrintableName
from gateway.representations.refusals import attempt, join, raise_all, refused, repeated_names
from gateway.representations.roles import RoleName, parse_role_names
from gateway.representations.shapes import TextList
from gateway.representations.spelling import Names

_FIELDS: Final = (
    *("clientScopes", "defaultDefaultClientScopes", "defaultOptionalClientScopes"),
    *("scopeMappings", "clientScopeMappings"),
)
_NAMES: Final = Names(_FIELDS)
_HOLDERS: Final = Names(("client", "clientScope", "roles", "self"))
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class ScopeMapping:
    """Roles that are in the scope of a client, or of a client scope, by its name."""

    client: str | None
    client_scope: str | None
    roles: tuple[RoleName, ...]
    at: str


@dataclass(frozen=True, slots=True)
class ScopesInput:
    """The scopes of a file; a list that is None is not in the file."""

    scopes: tuple[ClientScope, ...] = ()
    default: tuple[str, ...] | None = None
    optional: tuple[str, ...] | None = None
    mappings: tuple[ScopeMapping, ...] = ()
    at: Mapping[str, str] | None = None
    """The paths of the lists in the file, by their names."""

    def place(self, name: str) -> str:
        return (self.at or {}).get(name, name)


def parse_realm_scopes(
    document: Mapping[str, Any], realm_id: str, known: Mapping[str, ClientScope], path: str
) -> ScopesInput:
    """Return the scopes of a file; `known` are the scopes of the realm by name.

    Raises InvalidInput with every wrong field.
    """
    errors: list[FieldError] = []
    collected = _NAMES.collect(document, path, errors)
    given = {name: collected.get(name, (join(path, name), None)) for name in _FIELDS}
    scopes = _read_all(*given["clientScopes"], errors, _read_scope, realm_id, known)
    names = (scope.name for scope in scopes)
    errors.extend(repeated_names(names, given["clientScopes"][0], "each client scope once"))
    default = _names(*given["defaultDefaultClientScopes"], errors)
    optional = _names(*given["defaultOptionalClientScopes"], errors)
    mappings = _read_all(*given["scopeMappings"], errors, _mapping, None)
    at, of_clients = given["clientScopeMappings"]
    if of_clients is not None and not isinstance(of_clients, Mapping):
        errors.extend(refused(at, of_clients, "an object of lists").errors)
        of_clients = None
    for client, items in (of_clients or {}).items():
        mappings += _read_all(join(at, client), items, errors, _mapping, client)
    raise_all(errors)
    places = {name: place for name, (place, _) in given.items()}
    return ScopesInput(tuple(scopes), default, optional, tuple(mappings), places)


def _names(at: str, value: Any, errors: list[FieldError]) -> tuple[str, ...] | None:
    if value is None:
        return None
    read: tuple[str, ...] = attempt(errors, (), TextList(ScopeName()).read, value, at)
    return read


def _read_all(
    at: str, value: Any, errors: list[FieldError], read: Callable[..., Any], *arguments: Any
) -> list[Any]:
    """Return what `read(item, path, *arguments)` gives for the items that are right."""
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST:
        errors.extend(refused(at, value, f"a list of at most {_MOST}").errors)
        return []
    found = (
        attempt(errors, None, read, item, f"{at}[{index}]", *arguments)
        for index, item in enumerate(value)
    )
    return [one for one in found if one is not None]


def _read_scope(item: Any, at: str, realm_id: str, known: Mapping[str, ClientScope]) -> ClientScope:
    name = item.get("name") if isinstance(item, Mapping) else None
    # The caller reports what has no effect, for the whole file.
    base = known.get(name or "")
    return parse_client_scope(item, realm_id, base=base, path=at, report_ineffective=True)


def _mapping(item: Any, at: str, of_client: str | None) -> ScopeMapping:
    """Return one entry: its holder, and roles of the realm, or of the client `of_client`."""
    if not isinstance(item, Mapping):
        raise refused(at, item, "an object")
    errors: list[FieldError] = []
    given = {name: value for name, (_, value) in _HOLDERS.collect(item, at, errors).items()}
    errors.extend(
        FieldError(join(at, name), "an unknown field", "client, clientScope and roles")
        for name in given
        if name not in _HOLDERS
    )
    raise_all(errors)
    if ("client" in given) == ("clientScope" in given):
        raise refused(at, item, "either a client or a clientScope")
    roles, nothing = given.get("roles"), ("", None)
    names = (
        parse_role_names((join(at, "roles"), roles), nothing)
        if of_client is None
        else parse_role_names(nothing, (at, {of_client: roles}))
    )
    if "client" in given:
        client = PrintableName().read(given["client"], join(at, "client"))
        return ScopeMapping(client, None, names, at)
    scope = ScopeName().read(given["clientScope"], join(at, "clientScope"))
    return ScopeMapping(None, scope, names, at)
