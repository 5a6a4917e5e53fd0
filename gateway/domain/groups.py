"""Groups of users, in a tree. Keycloak: GroupRepresentation."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Group:
    """A group; names are unique among siblings. `path` is `/parent/child`."""

    id: str
    realm_id: str
    name: str
    path: str
    parent: str | None = None
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    description: str | None = None
    is_default: bool = False
    """Whether new users join it."""
