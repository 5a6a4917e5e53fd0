"""Roles of a realm file. Keycloak: RolesRepresentation, RoleRepresentation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.domain.errors import FieldError
from gateway.domain.roles import Role
from gateway.representations.names import PrintableName
from gateway.representations.refusals import attempt, describe, join, raise_all, refused
from gateway.representations.shapes import Text, TextList
from gateway.representations.spelling import Names
from gateway.representations.text_lists import TextLists

_NAMES = Names(
    (
        "id",
        "name",
        "description",
        "composite",
        "composites",
        "clientRole",
        "containerId",
        "attributes",
        "scopeParamRequired",
    )
)
_ROLE_NAME = PrintableName()
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class RoleName:
    """A role by name; `client` is the public name of its client, None for a realm role."""

    name: str
    client: str | None = None


@dataclass(frozen=True, slots=True)
class GivenRole:
    """A role as a file has it, its composites by name."""

    role: RoleName
    description: str | None
    composites: tuple[RoleName, ...]
    path: str
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_roles(value: Any, path: str) -> tuple[GivenRole, ...]:
    """Return the roles of `{"realm": [...], "client": {<client id>: [...]}}`; null is none."""
    if value is None:
        return ()
    if not isinstance(value, Mapping) or not value.keys() <= {"realm", "client"}:
        raise refused(path, value, "an object with realm and client")
    errors: list[FieldError] = []
    realm_roles = value.get("realm")
    found: list[GivenRole] = attempt(errors, [], _read_list, realm_roles, join(path, "realm"), None)
    clients = {} if value.get("client") is None else value["client"]
    if not isinstance(clients, Mapping):
        raise refused(join(path, "client"), clients, "an object of lists of roles")
    for client, roles in clients.items():
        at = join(join(path, "client"), client)
        found += attempt(errors, [], _read_list, roles, at, client)
    raise_all(errors)
    return tuple(found)


def read_role_names(realm: tuple[str, Any], clients: tuple[str, Any]) -> tuple[RoleName, ...]:
    """Return the roles named by a list of realm roles and by lists of client roles.

    Each argument is a path and what stands there.
    """
    realm_at, realm_roles = realm
    clients_at, client_roles = clients
    names = [RoleName(name) for name in _names(realm_roles, realm_at)]
    if client_roles is not None and not isinstance(client_roles, Mapping):
        raise refused(clients_at, client_roles, "an object of lists of role names")
    for client, roles in (client_roles or {}).items():
        names += [RoleName(name, client) for name in _names(roles, join(clients_at, client))]
    return tuple(names)


def write_role(role: Role, composites: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object of `role`; `composites` are its parts by name."""
    written: dict[str, Any] = {"id": role.id, "name": role.name}
    if role.description is not None:
        written["description"] = role.description
    written["composite"] = bool(role.composites)
    if role.composites:
        written["composites"] = dict(composites)
    kept = {name: list(texts) for name, texts in role.attributes.items()}
    return written | {
        "clientRole": role.client is not None,
        "containerId": role.client or role.realm_id,
        "attributes": kept,
    }


def _names(value: Any, path: str) -> tuple[str, ...]:
    return TextList(_ROLE_NAME).read([] if value is None else value, path)


def _read_list(value: Any, path: str, client: str | None) -> list[GivenRole]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST:
        raise refused(path, value, f"a list of at most {_MOST} roles")
    errors: list[FieldError] = []
    roles = [
        attempt(errors, None, _read, item, f"{path}[{index}]", client)
        for index, item in enumerate(value)
    ]
    raise_all(errors)
    return [role for role in roles if role is not None]


def _read(value: Any, path: str, client: str | None) -> GivenRole:
    if not isinstance(value, Mapping):
        raise refused(path, value, "an object")
    errors: list[FieldError] = []
    given = _NAMES.collect(value, path, errors)
    errors.extend(
        FieldError(at, describe(name), "a field of a role")
        for name, (at, _) in given.items()
        if not _NAMES.known(name)
    )
    name_at, name = given.get("name", (join(path, "name"), None))
    name = attempt(errors, "", _ROLE_NAME.read, name, name_at)
    at, description = given.get("description", ("", ""))
    description = attempt(errors, "", Text().read, description, at)
    at, parts = given.get("composites", ("", {}))
    composites = attempt(errors, (), _read_composites, parts, at)
    at, lists = given.get("attributes", ("", {}))
    attributes = attempt(errors, {}, TextLists().read, lists, at)
    raise_all(errors)
    return GivenRole(RoleName(name, client), description or None, composites, path, attributes)


def _read_composites(value: Any, path: str) -> tuple[RoleName, ...]:
    if not isinstance(value, Mapping) or not value.keys() <= {"realm", "client"}:
        raise refused(path, value, "an object with realm and client")
    realm, client = (join(path, "realm"), join(path, "client"))
    return read_role_names((realm, value.get("realm")), (client, value.get("client")))
