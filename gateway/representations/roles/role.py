"""Roles of a realm file. Keycloak: RolesRepresentation, RoleRepresentation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.roles import Role
from gateway.representations.names import PrintableName
from gateway.representations.refusals import attempt, join, raise_all, read_each, refused
from gateway.representations.shapes import Text, TextList, TextLists
from gateway.representations.spelling import Names

ROLE_FIELDS: Final = frozenset(
    {
        *("id", "name", "description", "composite", "composites"),
        *("clientRole", "containerId", "attributes", "scopeParamRequired"),
    }
)
_NAMES: Final = Names(ROLE_FIELDS)
ROLE_NAME: Final = PrintableName()
_MOST: Final = 10_000


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


class DefaultRole:
    """The shape of `defaultRole` of a realm: an object with the name of every new user's role.

    Other members are ignored: they stand with the roles.
    """

    def read(self, value: Any, path: str) -> str:
        if not isinstance(value, Mapping):
            raise refused(path, value, "a role")
        return PrintableName().read(value.get("name"), join(path, "name"))

    def write(self, value: str) -> dict[str, Any]:
        return {"name": value}


def read_roles(value: Any, path: str) -> tuple[GivenRole, ...]:
    """Return the roles of `{"realm": [...], "client": {<client id>: [...]}}`; null is none."""
    if value is None:
        return ()
    realm, clients = _by_owner(value, path)
    errors: list[FieldError] = []
    found: list[GivenRole] = attempt(errors, [], _read_list, *realm, None)
    at, lists = clients
    if lists is not None and not isinstance(lists, Mapping):
        raise refused(at, lists, "an object of lists of roles")
    for client, roles in (lists or {}).items():
        found += attempt(errors, [], _read_list, join(at, client), roles, client)
    raise_all(errors)
    return tuple(found)


def read_role_names(realm: tuple[str, Any], clients: tuple[str, Any]) -> tuple[RoleName, ...]:
    """Return the roles named by a list of realm roles and by lists of client roles.

    Each argument is a path and what stands there.
    """
    names = [RoleName(name) for name in _names(*realm)]
    at, lists = clients
    if lists is not None and not isinstance(lists, Mapping):
        raise refused(at, lists, "an object of lists of role names")
    for client, roles in (lists or {}).items():
        names += [RoleName(name, client) for name in _names(join(at, client), roles)]
    return tuple(names)


def read_composites(value: Any, path: str) -> tuple[RoleName, ...]:
    """Return the roles named by `{"realm": [...], "client": {<client id>: [...]}}`."""
    return read_role_names(*_by_owner(value, path))


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


def attributes_of(role: Role) -> dict[str, list[str]]:
    """Return the attributes as JSON."""
    return TextLists().write(role.attributes)


def write_role(role: Role, composites: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object of `role`; `composites` are its parts by name."""
    parts = {"composites": dict(composites)} if role.composites else {}
    members = role_members(role, composite=bool(role.composites), **parts)
    return members | {"attributes": attributes_of(role)}


def _by_owner(value: Any, path: str) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """Return path and value of the parts `realm` and `client`."""
    if not isinstance(value, Mapping) or not value.keys() <= {"realm", "client"}:
        raise refused(path, value, "an object with realm and client")
    return (join(path, "realm"), value.get("realm")), (join(path, "client"), value.get("client"))


def _names(path: str, value: Any) -> tuple[str, ...]:
    return TextList(ROLE_NAME).read([] if value is None else value, path)


def _read_list(path: str, value: Any, client: str | None) -> list[GivenRole]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST:
        raise refused(path, value, f"a list of at most {_MOST} roles")
    return read_each(value, _read, path, client)


def _read(value: Any, path: str, client: str | None) -> GivenRole:
    if not isinstance(value, Mapping):
        raise refused(path, value, "an object")
    errors: list[FieldError] = []
    given = _NAMES.collect(value, path, errors, allowed="a field of a role")
    name_at, name = given.get("name", (join(path, "name"), None))
    name = attempt(errors, "", ROLE_NAME.read, name, name_at)
    at, description = given.get("description", ("", ""))
    description = attempt(errors, "", Text().read, description, at)
    at, parts = given.get("composites", ("", {}))
    composites = attempt(errors, (), read_composites, parts, at)
    at, lists = given.get("attributes", ("", {}))
    attributes = attempt(errors, {}, TextLists().read, lists, at)
    raise_all(errors)
    return GivenRole(RoleName(name, client), description or None, composites, path, attributes)
