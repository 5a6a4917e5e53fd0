"""Groups of users, in a tree, and paths of names that may contain slashes.

`/` within a name is `~/`, as in Keycloak with `escape-slashes-in-group-path`. A `~` in front of a
`/`, or at the end of a name, is doubled, so that no two lists of names have the same path. Every
other `~` stays. Keycloak: GroupRepresentation
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

_ESCAPE: Final = "~"
_AMBIGUOUS: Final = re.compile(r"~+(?=/|\Z)")


@dataclass(frozen=True, slots=True)
class Group:
    """A group; names are unique among siblings. `path` is one of `render_group_path`."""

    id: str
    realm_id: str
    name: str
    path: str
    parent: str | None = None
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    description: str | None = None
    is_default: bool = False
    """Whether new users join it."""

    @property
    def plain_path(self) -> str:
        """The path as Keycloak shows it by default; another group may have the same."""
        return plain_group_path(parse_group_path(self.path))


def render_group_path(names: Iterable[str]) -> str:
    """Return the unique path of a group: `/admins~/x` is the group admins/x at the top."""
    return f"/{render_names(names)}"


def parse_group_path(path: str) -> tuple[str, ...]:
    """Return the names of the group and of all above it; `/` names no group."""
    names = parse_names(path.removeprefix("/"))
    return () if names == ("",) else names


def canonical_group_path(path: str) -> str:
    """Return the path as `render_group_path` writes it."""
    return render_group_path(parse_group_path(path))


def plain_group_path(names: Iterable[str]) -> str:
    """Return the path without escapes, as Keycloak shows it by default."""
    return "".join(f"/{name}" for name in names)


def is_at_or_below(path: str, above: str) -> bool:
    """Tell whether a canonical path is `above`, or a group below it."""
    return path == above or path.startswith(f"{above}/")


def render_names(names: Iterable[str]) -> str:
    """Return the path of the names, without a slash at its beginning."""
    return "/".join(map(_escape_name, names))


def parse_names(path: str) -> tuple[str, ...]:
    """Return the names of a path; the inverse of `render_names`, except for no names."""
    names: list[str] = []
    name = ""
    *pieces, last = path.split("/")
    for piece in pieces:
        stem = piece.rstrip(_ESCAPE)
        literal, is_escaped = divmod(len(piece) - len(stem), 2)
        name += stem + _ESCAPE * literal
        if is_escaped:
            name += "/"
        else:
            names.append(name)
            name = ""
    stem = last.rstrip(_ESCAPE)
    # One that nothing follows is itself.
    return (*names, name + stem + _ESCAPE * ((len(last) - len(stem) + 1) // 2))


def _escape_name(name: str) -> str:
    if _ESCAPE in name:
        name = _AMBIGUOUS.sub(lambda found: found[0] * 2, name)
    return name.replace("/", "~/") if "/" in name else name
