"""Roles as the admin API tells of them, and as it is told of them. Keycloak: RoleRepresentation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.roles import ListedRole
from gateway.representations.names import PrintableName
from gateway.representations.refusals import UnknownField, attempt, raise_all, refused
from gateway.representations.roles.role import RoleName, read_role_names
from gateway.representations.shapes import Text
from gateway.representations.text_lists import TextLists

_FIELDS: Final = frozenset(
    {
        *("id", "name", "description", "scopeParamRequired", "composite", "composites"),
        *("clientRole", "containerId", "attributes"),
    }
)
_NAME: Final = PrintableName()
_REPRESENTATION: Final = "RoleRepresentation"


@dataclass(frozen=True, slots=True)
class RoleReference:
    """A role as lists of roles name it; what is not told is empty."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToldRole:
    """A role as it is to be; None is not told."""

    name: str
    description: str | None
    attributes: Mapping[str, tuple[str, ...]] | None
    composites: tuple[RoleName, ...]
    """By name; none where the document does not call the role composite."""


def role_answer(listed: ListedRole, *, brief: bool = True) -> dict[str, Any]:
    """Return the JSON object of a role; in brief without its attributes."""
    role = listed.role
    described = {} if role.description is None else {"description": role.description}
    answer = {
        "id": role.id,
        "name": role.name,
        **described,
        "composite": listed.composite,
        "clientRole": role.client is not None,
        "containerId": role.client or role.realm_id,
    }
    if not brief:
        answer["attributes"] = {name: list(texts) for name, texts in role.attributes.items()}
    return answer


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


def read_role(document: Mapping[str, Any]) -> ToldRole | None:
    """Return the role that is told of, None without a name.

    Raises UnknownField, and InvalidInput with every wrong field.
    """
    _require_known(document)
    if not document.get("name"):
        return None
    errors: list[FieldError] = []

    def optional(name: str, shape: Any) -> Any:
        value = document.get(name)
        return None if value is None else attempt(errors, None, shape.read, value, name)

    told = ToldRole(
        name=attempt(errors, "", _NAME.read, document["name"], "name"),
        description=optional("description", Text(most=255)),
        attributes=_without_empty(optional("attributes", TextLists())),
        composites=attempt(errors, (), _composites, document),
    )
    raise_all(errors)
    return told


def read_role_references(document: Sequence[Any]) -> tuple[RoleReference, ...]:
    """Return the roles that a list names; raises UnknownField and InvalidInput."""
    return tuple(_reference(item, f"[{index}]") for index, item in enumerate(document))


def _without_empty(
    attributes: Mapping[str, tuple[str, ...]] | None,
) -> Mapping[str, tuple[str, ...]] | None:
    """Leave out attributes without a value: Keycloak does not keep them."""
    return attributes and {name: texts for name, texts in attributes.items() if texts}


def _reference(item: Any, path: str) -> RoleReference:
    if not isinstance(item, Mapping):
        raise refused(path, item, "a role")
    _require_known(item, path)
    identity, name = (item.get(field) for field in ("id", "name"))
    return RoleReference(
        identity if isinstance(identity, str) else "", name if isinstance(name, str) else ""
    )


def _require_known(document: Mapping[str, Any], path: str = "") -> None:
    for name in document:
        if name not in _FIELDS:
            raise UnknownField(path, name, _REPRESENTATION)


def _composites(document: Mapping[str, Any]) -> tuple[RoleName, ...]:
    given = document.get("composites")
    if document.get("composite") is not True or given is None:
        return ()
    if not isinstance(given, Mapping) or not given.keys() <= {"realm", "client"}:
        raise refused("composites", given, "an object with realm and client")
    realm = ("composites.realm", given.get("realm"))
    return read_role_names(realm, ("composites.client", given.get("client")))
