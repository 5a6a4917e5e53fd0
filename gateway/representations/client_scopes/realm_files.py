"""What a realm file says of client scopes: the scopes, which of them new clients get, and roles.

Keycloak: RealmRepresentation (clientScopes, defaultDefaultClientScopes, scopeMappings ...)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.client_scopes import ClientScope
from gateway.domain.errors import FieldError
from gateway.representations.client_scopes.client_scope import ScopeName, read_client_scope
from gateway.representations.names import PrintableName
from gateway.representations.refusals import attempt, describe, join, raise_all, refused
from gateway.representations.repetitions import repeated
from gateway.representations.roles import RoleName, read_role_names
from gateway.representations.shapes import TextList
from gateway.representations.spelling import Names

SCOPE_FIELDS: Final = (
    "clientScopes",
    "defaultDefaultClientScopes",
    "defaultOptionalClientScopes",
    "scopeMappings",
    "clientScopeMappings",
)
_NAMES: Final = Names(SCOPE_FIELDS)
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
class GivenScopes:
    """What the file says; a list that is None is not told."""

    scopes: tuple[ClientScope, ...] = ()
    default: tuple[str, ...] | None = None
    optional: tuple[str, ...] | None = None
    mappings: tuple[ScopeMapping, ...] = ()
    at: Mapping[str, str] | None = None
    """Where the lists stand in the file, by their names."""

    def place(self, name: str) -> str:
        return (self.at or {}).get(name, name)


def read_realm_scopes(
    document: Mapping[str, Any], realm_id: str, known: Mapping[str, ClientScope], path: str
) -> GivenScopes:
    """Return what the file says; `known` are the scopes of the realm by name.

    Raises InvalidInput with every wrong field.
    """
    errors: list[FieldError] = []
    collected = _NAMES.collect(document, path, errors)
    given = {name: collected.get(name, (join(path, name), None)) for name in SCOPE_FIELDS}
    read = GivenScopes(
        scopes=_scopes(*given["clientScopes"], errors, realm_id, known),
        default=_names(*given["defaultDefaultClientScopes"], errors),
        optional=_names(*given["defaultOptionalClientScopes"], errors),
        mappings=(
            *_realm_mappings(*given["scopeMappings"], errors),
            *_client_mappings(*given["clientScopeMappings"], errors),
        ),
        at={name: place for name, (place, _) in given.items()},
    )
    raise_all(errors)
    return read


def _names(at: str, value: Any, errors: list[FieldError]) -> tuple[str, ...] | None:
    if value is None:
        return None
    read: tuple[str, ...] = attempt(errors, (), TextList(ScopeName()).read, value, at)
    return read


def _scopes(
    at: str,
    value: Any,
    errors: list[FieldError],
    realm_id: str,
    known: Mapping[str, ClientScope],
) -> tuple[ClientScope, ...]:
    read = [
        attempt(errors, None, _read_scope, item, realm_id, known, f"{at}[{index}]")
        for index, item in enumerate(_items(value, at, errors))
    ]
    scopes = tuple(scope for scope in read if scope is not None)
    errors.extend(
        FieldError(at, f"{describe(name)} twice", "each client scope once")
        for name in sorted(repeated(scope.name for scope in scopes))
    )
    return scopes


def _read_scope(item: Any, realm_id: str, known: Mapping[str, ClientScope], at: str) -> ClientScope:
    name = item.get("name") if isinstance(item, Mapping) else None
    # The caller reports what has no effect, for the whole file.
    base = known.get(name or "")
    return read_client_scope(item, realm_id, base=base, path=at, report_ineffective=True)


def _realm_mappings(at: str, value: Any, errors: list[FieldError]) -> Iterator[ScopeMapping]:
    for index, item in enumerate(_items(value, at, errors)):
        found = attempt(errors, None, _mapping, item, f"{at}[{index}]", None)
        if found is not None:
            yield found


def _client_mappings(at: str, value: Any, errors: list[FieldError]) -> Iterator[ScopeMapping]:
    if value is not None and not isinstance(value, Mapping):
        errors.extend(refused(at, value, "an object of lists").errors)
        return
    for client, items in (value or {}).items():
        place = join(at, client)
        for index, item in enumerate(_items(items, place, errors)):
            found = attempt(errors, None, _mapping, item, f"{place}[{index}]", client)
            if found is not None:
                yield found


def _mapping(item: Any, at: str, of_client: str | None) -> ScopeMapping:
    """Return one entry: who, and roles of the realm, or of the client `of_client`."""
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
    roles_at, roles = join(at, "roles"), given.get("roles")
    nothing = ("", None)
    names = (
        read_role_names((roles_at, roles), nothing)
        if of_client is None
        else read_role_names(nothing, (at, {of_client: roles}))
    )
    if "client" in given:
        client = PrintableName().read(given["client"], join(at, "client"))
        return ScopeMapping(client, None, names, at)
    scope = ScopeName().read(given["clientScope"], join(at, "clientScope"))
    return ScopeMapping(None, scope, names, at)


def _items(value: Any, at: str, errors: list[FieldError]) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST:
        errors.extend(refused(at, value, f"a list of at most {_MOST}").errors)
        return []
    return value
