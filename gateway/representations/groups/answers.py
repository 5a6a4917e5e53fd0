"""Groups as the admin API tells of them, and as it is told. Keycloak: GroupRepresentation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.groups import Group
from gateway.domain.roles import EffectiveRoles
from gateway.representations.names import PrintableName
from gateway.representations.refusals import UnknownField, attempt, raise_all, refused
from gateway.representations.shapes import Text
from gateway.representations.text_lists import TextLists

_FIELDS: Final = frozenset(
    {
        *("id", "name", "description", "path", "parentId", "subGroupCount", "subGroups"),
        *("attributes", "realmRoles", "clientRoles", "access"),
    }
)


@dataclass(frozen=True, slots=True)
class GroupDetails:
    """What an answer tells of a group beside the group itself; None is left out.

    `roles` are those given to it directly, and come with its attributes.
    """

    children: int | None = None
    roles: EffectiveRoles | None = None
    access: Mapping[str, bool] | None = None


@dataclass(frozen=True, slots=True)
class ToldGroup:
    """A group as it is to be. What is None is not told, a name that is empty neither."""

    name: str
    id: str | None
    description: str | None
    attributes: Mapping[str, tuple[str, ...]] | None


def group_answer(
    group: Group, details: GroupDetails, below: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the JSON object of a group; `below` are the answers of groups directly below it."""
    answer: dict[str, Any] = {
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "path": group.path,
        "parentId": group.parent,
        "subGroupCount": details.children,
        "subGroups": list(below),
    }
    if details.roles is not None:
        answer["attributes"] = {name: list(texts) for name, texts in group.attributes.items()}
        answer["realmRoles"] = list(details.roles.realm)
        answer["clientRoles"] = {client: list(names) for client, names in details.roles.clients}
    if details.access is not None:
        answer["access"] = dict(details.access)
    return {name: value for name, value in answer.items() if value is not None}


def read_group(document: Mapping[str, Any]) -> ToldGroup:
    """Return the group that is told of; what is computed or has its own URL is passed over.

    Raises UnknownField, and InvalidInput with every wrong field.
    """
    for name in document:
        if name not in _FIELDS:
            raise UnknownField("", name, "GroupRepresentation")
    errors: list[FieldError] = []

    def optional(name: str, shape: Any) -> Any:
        value = document.get(name)
        return None if value is None else attempt(errors, None, shape.read, value, name)

    given = document.get("name")
    blank = given is None or (isinstance(given, str) and not given.strip())
    attributes = optional("attributes", TextLists())
    told = ToldGroup(
        name="" if blank else attempt(errors, "", PrintableName().read, given, "name"),
        id=attempt(errors, None, _identity, document.get("id")),
        description=optional("description", Text(most=255)),
        attributes=attributes and {name: texts for name, texts in attributes.items() if texts},
    )
    raise_all(errors)
    return told


def _identity(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise refused("id", value, "text")
    return value
