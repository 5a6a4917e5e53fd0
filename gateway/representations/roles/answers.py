"""Roles as the admin API sends and receives them. Keycloak: RoleRepresentation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.roles import ListedRole
from gateway.representations.refusals import attempt, raise_all, refused, require_known
from gateway.representations.roles.role import (
    ROLE_FIELDS,
    ROLE_NAME,
    RoleName,
    attributes_of,
    read_composites,
    role_members,
)
from gateway.representations.shapes import Shape, Text, TextLists, without_empty
from gateway.representations.strict_fields import read_fields

_REPRESENTATION: Final = "RoleRepresentation"
_TEXTS: Final[Mapping[str, Shape]] = {"description": Text(most=255), "attributes": TextLists()}


@dataclass(frozen=True, slots=True)
class RoleReference:
    """A role as lists of roles name it; what was not sent is empty."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class RoleInput:
    """A role as it is to be; None was not sent."""

    name: str
    description: str | None
    attributes: Mapping[str, tuple[str, ...]] | None
    composites: tuple[RoleName, ...]
    """By name; none where the document does not call the role composite."""


def role_answer(listed: ListedRole, *, brief: bool = True) -> dict[str, Any]:
    """Return the JSON object of a role; in brief without its attributes."""
    members = role_members(listed.role, composite=listed.composite)
    return members if brief else members | {"attributes": attributes_of(listed.role)}


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


def read_role(document: Mapping[str, Any]) -> RoleInput | None:
    """Return the role that was sent, None without a name.

    Raises UnknownField, and InvalidInput with every wrong field.
    """
    require_known(document, ROLE_FIELDS, _REPRESENTATION)
    if not document.get("name"):
        return None
    errors: list[FieldError] = []
    name = attempt(errors, "", ROLE_NAME.read, document["name"], "name")
    texts = read_fields(document, _TEXTS, "", errors)
    parts = document.get("composites")
    composites: tuple[RoleName, ...] = ()
    if document.get("composite") is True and parts is not None:
        composites = attempt(errors, (), read_composites, parts, "composites")
    raise_all(errors)
    attributes = without_empty(texts.get("attributes"))
    return RoleInput(name, texts.get("description"), attributes, composites)


def read_role_references(document: Sequence[Any]) -> tuple[RoleReference, ...]:
    """Return the roles that a list names; raises UnknownField and InvalidInput."""
    return tuple(_reference(item, f"[{index}]") for index, item in enumerate(document))


def _reference(item: Any, path: str) -> RoleReference:
    if not isinstance(item, Mapping):
        raise refused(path, item, "a role")
    require_known(item, ROLE_FIELDS, _REPRESENTATION, path)
    identity, name = (item.get(field) for field in ("id", "name"))
    return RoleReference(
        identity if isinstance(identity, str) else "", name if isinstance(name, str) else ""
    )
