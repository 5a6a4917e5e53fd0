"""Components and client scopes of a realm file.

Components are lists by type, without the secret parts of keys; the user profile has a module of its
own. Client scopes come with the lists of those that new clients get, and with roles.
Keycloak: ComponentExportRepresentation, RealmRepresentation (clientScopes,
defaultDefaultClientScopes, scopeMappings ...)
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.domain.client_scopes import ClientScope
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.keys import IMPORTERS, KeyProvider
from gateway.representations.client_scopes import ScopeName, parse_client_scope
from gateway.representations.components import Component, parse_component, render_component
from gateway.representations.field_table import FieldNames
from gateway.representations.keys import KEY_PROVIDER_TYPE, PRIVATE_KEY
from gateway.representations.refusals import attempt, join, raise_all, refused, repeated_names
from gateway.representations.registration_policies import POLICY_PROVIDERS, POLICY_TYPE
from gateway.representations.roles import RoleName, parse_role_names
from gateway.representations.shapes import MASK, PrintableName, TextList
from gateway.representations.stored_user_profile import PROFILE_TYPE

_MOST_COMPONENTS: Final = 50
"""Components of one type in a file: generating a key takes up to a second."""
_SUB_COMPONENTS: Final = "subComponents"
_GENERATED_MATERIAL: Final = (PRIVATE_KEY, "secret")
_POLICIES: Final = frozenset(each.id for each in POLICY_PROVIDERS)


@dataclass(frozen=True, slots=True)
class ComponentsInput:
    """The components of a file that an import stores."""

    keys: tuple[Component, ...] = ()
    policies: tuple[Component, ...] = ()


def render_components(components: Iterable[Component]) -> dict[str, Any]:
    """Return `components` of a realm file."""
    types: dict[str, list[dict[str, Any]]] = {}
    for component in components:
        named = replace(component, provider_type=None, parent_id=None)
        document = render_component(named)
        config = document.pop("config")
        listed = types.setdefault(str(component.provider_type), [])
        listed.append(document | {_SUB_COMPONENTS: {}, "config": config})
    return types


def parse_components(document: Mapping[str, Any], path: str) -> ComponentsInput:
    """Return the keys and policies of a file; raises InvalidInput."""
    components = document.get("components")
    if not isinstance(components, Mapping):
        return ComponentsInput()
    at, errors = join(path, "components"), list[FieldError]()
    found = {
        kind: attempt(errors, (), _parse_list, components.get(kind), join(at, kind))
        for kind in (KEY_PROVIDER_TYPE, POLICY_TYPE)
    }
    raise_all(errors)
    keys = (each for each in found[KEY_PROVIDER_TYPE] if _is_usable_key(each))
    policies = (each for each in found[POLICY_TYPE] if each.provider_id in _POLICIES)
    return ComponentsInput(tuple(keys), tuple(policies))


def carries_unread_components(document: Mapping[str, Any]) -> bool:
    """Return whether a file has components, or material of keys, that an import ignores."""
    components = document.get("components")
    if not isinstance(components, Mapping):
        return bool(components)
    others = {name for name, items in components.items() if items}
    if others - {KEY_PROVIDER_TYPE, POLICY_TYPE, PROFILE_TYPE}:
        return True
    try:
        read = parse_components(document, "")
    except InvalidInput:
        return True
    sent = [*(components.get(KEY_PROVIDER_TYPE) or ()), *(components.get(POLICY_TYPE) or ())]
    return len(sent) != len(read.keys) + len(read.policies) or any(map(_has_material, read.keys))


def _parse_list(items: Any, path: str) -> tuple[Component, ...]:
    if items is None:
        return ()
    if not isinstance(items, list) or len(items) > _MOST_COMPONENTS:
        raise refused(path, items, f"a list of at most {_MOST_COMPONENTS} components")
    return tuple(_parse_one(item, f"{path}[{place}]") for place, item in enumerate(items))


def _parse_one(item: Any, path: str) -> Component:
    if not isinstance(item, Mapping):
        raise refused(path, item, "a component")
    members = {name: value for name, value in item.items() if name != _SUB_COMPONENTS}
    try:
        return parse_component(members)
    except InvalidInput as error:
        raise InvalidInput(
            tuple(replace(wrong, path=join(path, wrong.path)) for wrong in error.errors)
        ) from error


def _is_usable_key(component: Component) -> bool:
    """Return whether a key can be made: an imported one needs its private key."""
    if component.provider_id in IMPORTERS:
        return component.config.get(PRIVATE_KEY, (MASK,)) != (MASK,)
    return component.provider_id in set(KeyProvider)


def _has_material(component: Component) -> bool:
    """Return whether a key that is generated here was another one where it comes from."""
    generated = component.provider_id not in IMPORTERS
    return generated and any(name in component.config for name in _GENERATED_MATERIAL)


_FIELDS: Final = (
    *("clientScopes", "defaultDefaultClientScopes", "defaultOptionalClientScopes"),
    *("scopeMappings", "clientScopeMappings"),
)
_NAMES: Final = FieldNames(_FIELDS)
_HOLDERS: Final = FieldNames(("client", "clientScope", "roles", "self"))
_MOST_SCOPES: Final = 10_000


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
    if not isinstance(value, list) or len(value) > _MOST_SCOPES:
        errors.extend(refused(at, value, f"a list of at most {_MOST_SCOPES}").errors)
        return []
    found = (
        attempt(errors, None, read, item, f"{at}[{index}]", *arguments)
        for index, item in enumerate(value)
    )
    return [one for one in found if one is not None]


def _read_scope(item: Any, at: str, realm_id: str, known: Mapping[str, ClientScope]) -> ClientScope:
    name = item.get("name") if isinstance(item, Mapping) else None
    # The caller reports what has no effect, for the whole file.
    base = known.get(name) if isinstance(name, str) else None
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
