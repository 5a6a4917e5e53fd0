"""Looking groups up for administrators, a page at a time, and moving them in their tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gateway.domain.groups import Group
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """Which groups are asked for: the conditions hold together.

    `parent` is the id of the group above, "" at the top; None asks for all levels. `search` is a
    part of the name, capitals make no difference, or where `exact` the whole of it. `attributes`
    are values by name, each of which a group has among others.
    """

    parent: str | None = None
    search: str = ""
    exact: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    first: int = 0
    maximum: int | None = None


class GroupCatalogue(Protocol):
    """Finds groups and who is in them. Ids of another realm are not found."""

    async def list(self, realm_id: str, query: GroupQuery) -> tuple[Group, ...]:
        """Return the groups, by name."""

    async def count(self, realm_id: str, query: GroupQuery) -> int:
        """Return how many groups match, whatever the page."""

    async def find(self, realm_id: str, group_id: str, *, alone: bool = False) -> Group | None:
        """Return the group with that id; `alone` lets nobody else change it meanwhile."""

    async def find_by_path(self, realm_id: str, path: str) -> Group | None:
        """Return the group at `/parent/child`; names may have slashes of their own."""

    async def with_parents(self, realm_id: str, group_ids: Sequence[str]) -> tuple[Group, ...]:
        """Return the groups and all that are above them, by path."""

    async def child_counts(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, int]:
        """Return how many groups are directly below each; those without any are left out."""

    async def roles(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, EffectiveRoles]:
        """Return the names of the roles given to each directly; those without are left out."""

    async def members(
        self, realm_id: str, group_id: str, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the members, by username; those of children are not implied."""

    async def having_role(
        self, realm_id: str, role_id: str, first: int, maximum: int
    ) -> tuple[Group, ...]:
        """Return a page of the groups that were given the role directly, by name."""

    async def height(self, realm_id: str, group_id: str) -> int:
        """Return how many groups stand one below the other from this one down, itself counted."""

    async def move(self, realm_id: str, group_id: str, parent: str | None) -> None:
        """Put a group below another, or at the top; raises AlreadyExists."""

    async def remove(self, realm_id: str, group_id: str) -> None:
        """Forget the group, all below it, and who was in them."""
