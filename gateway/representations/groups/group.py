"""Groups of a realm file, a tree: Keycloak's JSON, or its snake_case, and back.

Paths and counts are computed: what a file says of them is passed over. Members stand with the
users. Keycloak: GroupRepresentation
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.groups import Group
from gateway.representations.names import PrintableName, UrlName
from gateway.representations.refusals import attempt, describe, join, raise_all, refused
from gateway.representations.roles import RoleName, read_role_names
from gateway.representations.shapes import Text, TextList
from gateway.representations.spelling import Names
from gateway.representations.text_lists import TextLists

_NAMES: Final = Names(
    (
        "id",
        "name",
        "description",
        "path",
        "parentId",
        "subGroupCount",
        "subGroups",
        "attributes",
        "realmRoles",
        "clientRoles",
        "access",
    )
)
_MOST: Final = 10_000
_DEEPEST: Final = 50
_LONGEST_PATH: Final = 256 * _DEEPEST


@dataclass(frozen=True, slots=True)
class GivenGroup:
    """A group as a file has it; what is None is not told. `at` is its place in the file."""

    name: str
    id: str | None
    description: str | None
    attributes: Mapping[str, tuple[str, ...]] | None
    roles: tuple[RoleName, ...]
    children: "tuple[GivenGroup, ...]"
    at: str


def read_groups(value: Any, path: str) -> tuple[GivenGroup, ...]:
    """Return the tree; null is none. Raises InvalidInput with every wrong field of all groups."""
    return () if value is None else _read_level(value, path, 1)


def read_group_paths(value: Any, path: str) -> tuple[str, ...]:
    """Return a list of paths of groups, such as `/staff/berlin`."""
    texts = TextList(Text(least=2, most=_LONGEST_PATH)).read(value, path)
    errors = [
        FieldError(f"{path}[{index}]", describe(text), "the path of a group, begun by /")
        for index, text in enumerate(texts)
        if not text.startswith("/")
    ]
    raise_all(errors)
    return texts


def write_groups(
    groups: Sequence[Group], roles: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the tree of groups that are sorted by path; `roles` are named by group id."""
    written: dict[str, dict[str, Any]] = {}
    top: list[dict[str, Any]] = []
    for group in sorted(groups, key=lambda group: (group.path.count("/"), group.path)):
        parent = {} if group.parent is None else {"parentId": group.parent}
        described = {} if group.description is None else {"description": group.description}
        written[group.id] = {
            "id": group.id,
            "name": group.name,
            **described,
            "path": group.path,
            **parent,
            "subGroups": [],
            "attributes": {name: list(texts) for name, texts in group.attributes.items()},
            "realmRoles": roles[group.id]["realm"],
            "clientRoles": roles[group.id]["client"],
        }
        siblings = top if group.parent is None else written[group.parent]["subGroups"]
        siblings.append(written[group.id])
    return top


def _read_level(value: Any, path: str, depth: int) -> tuple[GivenGroup, ...]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise refused(path, value, f"a list of at most {_MOST} groups")
    if value and depth > _DEEPEST:
        raise refused(path, value, f"at most {_DEEPEST} groups one below the other")
    errors: list[FieldError] = []
    read = [
        attempt(errors, None, _read, item, f"{path}[{index}]", depth)
        for index, item in enumerate(value)
    ]
    groups = tuple(group for group in read if group is not None)
    errors.extend(_repeated(groups))
    raise_all(errors)
    return groups


def _repeated(groups: Sequence[GivenGroup]) -> list[FieldError]:
    first = {group.name: group for group in reversed(groups)}
    return [
        FieldError(join(group.at, "name"), describe(group.name), "a name that no sibling has")
        for group in groups
        if first[group.name] is not group
    ]


def _read(value: Any, path: str, depth: int) -> GivenGroup:
    if not isinstance(value, Mapping):
        raise refused(path, value, "an object")
    errors: list[FieldError] = []
    given = _NAMES.collect(value, path, errors)
    errors.extend(
        FieldError(at, describe(name), "a field of a group")
        for name, (at, _) in given.items()
        if not _NAMES.known(name)
    )

    def optional(name: str, shape: Any) -> Any:
        at, found = given.get(name, ("", None))
        return None if found is None else attempt(errors, None, shape.read, found, at)

    name_at, name = given.get("name", (join(path, "name"), None))
    nothing = ("", None)
    roles_at = (given.get("realmRoles", nothing), given.get("clientRoles", nothing))
    children_at, children = given.get("subGroups", ("", []))
    group = GivenGroup(
        name=attempt(errors, "", PrintableName().read, name, name_at),
        id=optional("id", UrlName()),
        description=optional("description", Text(most=255)),
        attributes=optional("attributes", TextLists()),
        roles=attempt(errors, (), read_role_names, *roles_at),
        children=attempt(errors, (), _read_level, children, children_at, depth + 1),
        at=path,
    )
    raise_all(errors)
    return group
