"""Groups: Keycloak's JSON to values and back; a realm file has a tree of them.

Paths and counts are computed: those of a document are ignored. Members are listed with the
users. A file may use snake_case. Keycloak: GroupRepresentation
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import FieldError, RepeatedName
from gateway.domain.groups import Group, canonical_group_path, parse_group_path
from gateway.domain.roles import EffectiveRoles
from gateway.representations.field_table import FieldNames, parse_fields, parse_given, without_none
from gateway.representations.refusals import (
    attempt,
    describe,
    join,
    mistyped,
    raise_all,
    refused,
    refused_items,
    require_known,
)
from gateway.representations.roles import RoleName, parse_role_names
from gateway.representations.shapes import (
    Count,
    PrintableName,
    Shape,
    Text,
    TextList,
    TextLists,
    UrlName,
    VerbatimList,
    VerbatimObject,
    text_of_scalar,
    without_empty,
)

GROUP_FIELDS: Final = frozenset(
    {
        *("id", "name", "description", "path", "parentId", "subGroupCount", "subGroups"),
        *("attributes", "realmRoles", "clientRoles", "access"),
    }
)
_NAMES: Final = FieldNames(GROUP_FIELDS)
_COMPUTED: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("access", "clientRoles"), VerbatimObject()),
    **dict.fromkeys(("realmRoles", "subGroups"), VerbatimList()),
    **dict.fromkeys(("parentId", "path"), Text()),
    "subGroupCount": Count(),
}
"""Fields whose type alone is checked."""
_TEXTS: Final[Mapping[str, Shape]] = {"description": Text(most=255), "attributes": TextLists()}
_FILE_TEXTS: Final[Mapping[str, Shape]] = {"id": UrlName(), **_TEXTS}
_MOST: Final = 10_000
_DEEPEST: Final = 50
_LONGEST_PATH: Final = 2 * 256 * _DEEPEST
"""Each character of a name may be escaped."""


@dataclass(frozen=True, slots=True)
class GroupInput:
    """A group as sent; None is an omitted member. `at` is its place in a file.

    Of a group of the admin API, the name may be empty; roles and children have their own URLs.
    """

    name: str
    id: str | None
    description: str | None
    attributes: Mapping[str, tuple[str, ...]] | None
    roles: tuple[RoleName, ...] = ()
    children: "tuple[GroupInput, ...]" = ()
    at: str = ""


@dataclass(frozen=True, slots=True)
class GroupDetails:
    """Further members of a group in an answer; None is left out.

    `roles` are those given to it directly, and come with its attributes.
    """

    children: int | None = None
    roles: EffectiveRoles | None = None
    access: Mapping[str, bool] | None = None


def group_answer(
    group: Group, details: GroupDetails, below: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the JSON object of a group; `below` are the answers of groups directly below it."""
    answer: dict[str, Any] = {
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "path": group.plain_path,
        "parentId": group.parent,
        "subGroupCount": details.children,
        "subGroups": list(below),
    }
    if details.roles is not None:
        answer["attributes"] = TextLists().write(group.attributes)
        answer["realmRoles"] = list(details.roles.realm)
        answer["clientRoles"] = {client: list(names) for client, names in details.roles.clients}
    if details.access is not None:
        answer["access"] = dict(details.access)
    return without_none(answer)


def render_groups(
    groups: Sequence[Group], roles: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the tree of groups that are sorted by path; `roles` are named by group id."""
    written: dict[str, dict[str, Any]] = {}
    top: list[dict[str, Any]] = []
    for group in sorted(groups, key=lambda group: parse_group_path(group.path)):
        written[group.id] = group_answer(group, GroupDetails()) | {
            "attributes": TextLists().write(group.attributes),
            "realmRoles": roles[group.id]["realm"],
            "clientRoles": roles[group.id]["client"],
        }
        siblings = top if group.parent is None else written[group.parent]["subGroups"]
        siblings.append(written[group.id])
    return top


def parse_group(document: Mapping[str, Any]) -> GroupInput:
    """Return the group that was sent; raises UnknownField, and InvalidInput."""
    require_known(document, GROUP_FIELDS, "GroupRepresentation")
    errors: list[FieldError] = []
    parse_fields(document, _COMPUTED, "", errors)
    given = document.get("name")
    blank = given is None or (isinstance(given, str) and not given.strip())
    name = "" if blank else attempt(errors, "", PrintableName().read, given, "name")
    identity = attempt(errors, None, _identity, document.get("id"))
    texts = parse_fields(document, _TEXTS, "", errors)
    raise_all(errors)
    attributes = without_empty(texts.get("attributes"))
    return GroupInput(name, identity, texts.get("description"), attributes)


def parse_groups(value: Any, path: str) -> tuple[GroupInput, ...]:
    """Return the tree; null is none. Raises InvalidInput with every wrong field of all groups."""
    return () if value is None else _read_level(value, path, 1)


def parse_group_paths(value: Any, path: str) -> tuple[str, ...]:
    """Return a list of canonical paths of groups, such as `/staff/berlin`.

    The slash at the beginning may be missing. Keycloak: group paths of users and of new users
    """
    texts = TextList(Text(least=1, most=_LONGEST_PATH)).read(value, path)
    errors = [
        FieldError(f"{path}[{index}]", describe(text), "the path of a group, begun by /")
        for index, text in enumerate(texts)
        if text == "/"
    ]
    raise_all(errors)
    return tuple(map(canonical_group_path, texts))


def _identity(value: Any) -> str | None:
    value = text_of_scalar(value)
    if value is not None and not isinstance(value, str):
        raise mistyped("id", value, "text")
    return value


def _read_level(value: Any, path: str, depth: int) -> tuple[GroupInput, ...]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise refused_items(path, value, list, f"a list of at most {_MOST} groups")
    if value and depth > _DEEPEST:
        raise refused(path, value, f"at most {_DEEPEST} groups one below the other")
    errors: list[FieldError] = []
    read = [
        attempt(errors, None, _parse_file_group, item, f"{path}[{index}]", depth)
        for index, item in enumerate(value)
    ]
    groups = tuple(group for group in read if group is not None)
    first = {group.name: group for group in reversed(groups)}
    errors.extend(
        RepeatedName(join(group.at, "name"), describe(group.name), "a name that no sibling has")
        for group in groups
        if first[group.name] is not group
    )
    raise_all(errors)
    return groups


def _parse_file_group(value: Any, path: str, depth: int) -> GroupInput:
    if not isinstance(value, Mapping):
        raise mistyped(path, value, "an object")
    errors: list[FieldError] = []
    given = _NAMES.collect(value, path, errors, allowed="a field of a group")
    name_at, name = given.get("name", (join(path, "name"), None))
    name = attempt(errors, "", PrintableName().read, name, name_at)
    texts = parse_given(given, _FILE_TEXTS, errors)
    nothing = ("", None)
    roles_at = (given.get("realmRoles", nothing), given.get("clientRoles", nothing))
    roles = attempt(errors, (), parse_role_names, *roles_at)
    children_at, children = given.get("subGroups", ("", []))
    below = attempt(errors, (), _read_level, children, children_at, depth + 1)
    raise_all(errors)
    return GroupInput(
        name=name,
        id=texts.get("id"),
        description=texts.get("description"),
        attributes=texts.get("attributes"),
        roles=roles,
        children=below,
        at=path,
    )
