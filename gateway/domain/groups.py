"""Groups of users, in a tree, and their paths. Keycloak: GroupRepresentation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gateway.domain.name_paths import parse_names, render_names


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
    """Return the path of a group by the names from the top to it; no other group has it.

    `/admins/x` is the group x below admins, `/admins~/x` the group admins/x at the top.
    """
    return f"/{render_names(names)}"


def parse_group_path(path: str) -> tuple[str, ...]:
    """Return the names of the group and of all above it; `/` is that of no group."""
    names = parse_names(path.removeprefix("/"))
    return () if names == ("",) else names


def canonical_group_path(path: str) -> str:
    """Return the path as `render_group_path` writes it."""
    return render_group_path(parse_group_path(path))


def plain_group_path(names: Iterable[str]) -> str:
    """Return the path without escapes, as Keycloak shows it by default."""
    return "".join(f"/{name}" for name in names)


def is_at_or_below(path: str, above: str) -> bool:
    """Tell whether a group is the one at the path `above` or one of its descendants.

    Both paths are canonical: the text `above` ends with a whole name, so that a slash behind it
    separates names.
    """
    return path == above or path.startswith(f"{above}/")
