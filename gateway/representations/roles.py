"""Roles: Keycloak's JSON to values and back; a realm file may use snake_case.

Keycloak: RolesRepresentation, RoleRepresentation
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.roles import ListedRole, Role
from gateway.representations.field_table import FieldNames, parse_fields
from gateway.representations.refusals import (
    attempt,
    join,
    mistyped,
    parse_each,
    raise_all,
    refused,
    refused_items,
    repeated_names,
    require_known,
)
from gateway.representations.shapes import (
    Flag,
    PrintableName,
    Shape,
    Text,
    TextList,
    TextLists,
    UrlName,
    VerbatimObject,
    without_empty,
)

ROLE_FIELDS: Final = frozenset(
    {
        *("id", "name", "description", "composite", "composites"),
        *("clientRole", "containerId", "attributes", "scopeParamRequired"),
    }
)
_NAMES: Final = FieldNames(ROLE_FIELDS)
_REPRESENTATION: Final = "RoleRepresentation"
_TEXTS: Final[Mapping[str, Shape]] = {"description": Text(most=255), "attributes": TextLists()}
_REFERENCE: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("id", "name", "containerId"), Text()),
    **dict.fromkeys(("composite", "clientRole"), Flag()),
    **_TEXTS,
}
"""Of a list of roles only `id` and `name` are used; the types of all fields are checked."""
_COMPUTED: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("id", "containerId"), Text()),
    **dict.fromkeys(("clientRole", "composite", "scopeParamRequired"), Flag()),
    "composites": VerbatimObject(),
}
"""Fields whose type alone is checked, for any role."""
_ROLE_NAME: Final = PrintableName()
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class RoleName:
    """A role by name; `client` is the public name of its client, None for a realm role."""

    name: str
    client: str | None = None


@dataclass(frozen=True, slots=True)
class RoleInput:
    """A role as a file has it, its composites by name."""

    role: RoleName
    description: str | None
    composites: tuple[RoleName, ...]
    path: str
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    id: str | None = None
    """The id of a new role; None for a generated one."""


@dataclass(frozen=True, slots=True)
class RoleReference:
    """A role as lists of roles name it; an omitted member is empty."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """A role as it is to be; None was not sent."""

    name: str
    description: str | None
    attributes: Mapping[str, tuple[str, ...]] | None
    composites: tuple[RoleName, ...]
    """By name; none where the document does not call the role composite."""


def parse_roles(value: Any, path: str) -> tuple[RoleInput, ...]:
    """Return the roles of `{"realm": [...], "client": {<client id>: [...]}}`; null is none."""
    if value is None:
        return ()
    realm, clients = _by_owner(value, path)
    errors: list[FieldError] = []
    found: list[RoleInput] = attempt(errors, [], _read_list, *realm, None)
    at, lists = clients
    if lists is not None and not isinstance(lists, Mapping):
        raise mistyped(at, lists, "an object of lists of roles")
    for client, roles in (lists or {}).items():
        found += attempt(errors, [], _read_list, join(at, client), roles, client)
    errors.extend(repeated_names((role.id for role in found if role.id), path, "each id once"))
    raise_all(errors)
    return tuple(found)


def parse_role_names(realm: tuple[str, Any], clients: tuple[str, Any]) -> tuple[RoleName, ...]:
    """Return the roles named by a list of realm roles and by lists of client roles.

    Each argument is a path and its value.
    """
    names = [RoleName(name) for name in _parse_role_list(*realm)]
    at, lists = clients
    if lists is not None and not isinstance(lists, Mapping):
        raise mistyped(at, lists, "an object of lists of role names")
    for client, roles in (lists or {}).items():
        names += [RoleName(name, client) for name in _parse_role_list(join(at, client), roles)]
    return tuple(names)


def _read_composites(value: Any, path: str) -> tuple[RoleName, ...]:
    """Return the roles named by `{"realm": [...], "client": {<client id>: [...]}}`."""
    return parse_role_names(*_by_owner(value, path))


def role_members(role: Role, *, composite: bool, **composites: Any) -> dict[str, Any]:
    """Return the members of a role in Keycloak's order, without its attributes."""
    return {
        "id": role.id,
        "name": role.name,
        **({} if role.description is None else {"description": role.description}),
        "composite": composite,
        **composites,
        "clientRole": role.client is not None,
        "containerId": role.client or role.realm_id,
    }


def _attributes_of(role: Role) -> dict[str, list[str]]:
    """Return the attributes as JSON."""
    return TextLists().write(role.attributes)


def render_role(role: Role, composites: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object of `role`; `composites` are its parts by name."""
    parts = {"composites": dict(composites)} if role.composites else {}
    members = role_members(role, composite=bool(role.composites), **parts)
    return members | {"attributes": _attributes_of(role)}


def role_answer(listed: ListedRole, *, brief: bool = True) -> dict[str, Any]:
    """Return the JSON object of a role; in brief without its attributes."""
    members = role_members(listed.role, composite=listed.composite)
    return members if brief else members | {"attributes": _attributes_of(listed.role)}


def mappings_answer(listed: Iterable[ListedRole]) -> dict[str, Any]:
    """Return roles by whose they are: those of the realm, and of clients by public name.

    Keycloak: MappingsRepresentation
    """
    of_realm: list[dict[str, Any]] = []
    of_clients: dict[str, dict[str, Any]] = {}
    for role in listed:
        if role.client_id is None:
            of_realm.append(role_answer(role))
            continue
        empty: dict[str, Any] = {"id": role.role.client, "client": role.client_id, "mappings": []}
        of_clients.setdefault(role.client_id, empty)["mappings"].append(role_answer(role))
    found = {"realmMappings": of_realm, "clientMappings": of_clients}
    return {name: value for name, value in found.items() if value}


def parse_role(document: Mapping[str, Any]) -> RoleRequest | None:
    """Return the role that was sent, None without a name.

    Raises UnknownField, and InvalidInput with every wrong field.
    """
    require_known(document, ROLE_FIELDS, _REPRESENTATION)
    errors: list[FieldError] = []
    if document.get("name") in (None, ""):
        parse_fields(document, _TEXTS, "", errors)
        raise_all(errors)
        return None
    parse_fields(document, _COMPUTED, "", errors)
    name = attempt(errors, "", _ROLE_NAME.read, document["name"], "name")
    texts = parse_fields(document, _TEXTS, "", errors)
    parts = document.get("composites")
    composites: tuple[RoleName, ...] = ()
    if document.get("composite") is True and parts is not None:
        composites = attempt(errors, (), _read_composites, parts, "composites")
    raise_all(errors)
    attributes = without_empty(texts.get("attributes"))
    return RoleRequest(name, texts.get("description"), attributes, composites)


def parse_role_references(document: Sequence[Any]) -> Iterator[RoleReference]:
    """Yield the roles that a list names; raises UnknownField and InvalidInput."""
    return (_reference(item, f"[{index}]") for index, item in enumerate(document))


def _by_owner(value: Any, path: str) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """Return path and value of the parts `realm` and `client`."""
    if not isinstance(value, Mapping) or not value.keys() <= {"realm", "client"}:
        raise refused(path, value, "an object with realm and client")
    return (join(path, "realm"), value.get("realm")), (join(path, "client"), value.get("client"))


def _parse_role_list(path: str, value: Any) -> tuple[str, ...]:
    return TextList(_ROLE_NAME).read([] if value is None else value, path)


def _read_list(path: str, value: Any, client: str | None) -> list[RoleInput]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST:
        raise refused_items(path, value, list, f"a list of at most {_MOST} roles")
    roles = parse_each(value, _parse_file_role, path, client)
    raise_all(repeated_names((role.role.name for role in roles), path, "each role once"))
    return roles


def _parse_file_role(value: Any, path: str, client: str | None) -> RoleInput:
    if not isinstance(value, Mapping):
        raise mistyped(path, value, "an object")
    errors: list[FieldError] = []
    given = _NAMES.collect(value, path, errors, allowed="a field of a role")
    name_at, name = given.get("name", (join(path, "name"), None))
    name = attempt(errors, "", _ROLE_NAME.read, name, name_at)
    at, description = given.get("description", ("", ""))
    description = attempt(errors, "", Text().read, description, at)
    at, parts = given.get("composites", ("", {}))
    composites = attempt(errors, (), _read_composites, parts, at)
    at, lists = given.get("attributes", ("", {}))
    attributes = attempt(errors, {}, TextLists().read, lists, at)
    identity = None
    if "id" in given:
        at, identity = given["id"]
        identity = attempt(errors, None, UrlName().read, identity, at)
    raise_all(errors)
    return RoleInput(
        RoleName(name, client), description or None, composites, path, attributes, identity
    )


def _reference(item: Any, path: str) -> RoleReference:
    if not isinstance(item, Mapping):
        raise mistyped(path, item, "a role")
    require_known(item, ROLE_FIELDS, _REPRESENTATION, path)
    errors: list[FieldError] = []
    given = parse_fields(item, _REFERENCE, path, errors)
    raise_all(errors)
    return RoleReference(given.get("id", ""), given.get("name", ""))
