"""Groups of a realm, for administrators by pages, and their place in the tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gateway.domain.groups import Group
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """Which groups to list: all conditions must hold.

    `parent` is the id of the parent, "" at the top; None selects all levels. `search` is a
    part of the name, without regard to case, or where `exact` the whole of it. `attributes`
    are values by name, each of which a group must have.
    """

    parent: str | None = None
    search: str = ""
    exact: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    first: int = 0
    maximum: int | None = None


class GroupCatalogue(Protocol):
    """Finds groups and their members. Ids of another realm are not found."""

    async def list(self, realm_id: str, query: GroupQuery) -> tuple[Group, ...]:
        """Return the groups, by name."""

    async def count(self, realm_id: str, query: GroupQuery) -> int:
        """Return how many groups match, whatever the page."""

    async def find(self, realm_id: str, group_id: str, *, for_update: bool = False) -> Group | None:
        """Return the group with that id; `for_update` locks it until the transaction ends."""

    async def find_by_path(self, realm_id: str, path: str) -> Group | None:
        """Return the group at `/parent/child`; names may have slashes of their own."""

    async def with_parents(self, realm_id: str, group_ids: Sequence[str]) -> tuple[Group, ...]:
        """Return the groups and all their parents, by path."""

    async def child_counts(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the number of direct subgroups of each; others are left out."""

    async def roles(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, EffectiveRoles]:
        """Return the names of the roles granted directly to each; others are left out."""

    async def members(
        self, realm_id: str, group_id: str, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the members, by username; members of subgroups are not included."""

    async def having_role(
        self, realm_id: str, role_id: str, first: int, maximum: int
    ) -> tuple[Group, ...]:
        """Return a page of the groups with a direct grant of the role, by name."""

    async def height(self, realm_id: str, group_id: str) -> int:
        """Return the number of levels from this group down, its own included."""

    async def move(self, realm_id: str, group_id: str, parent: str | None) -> None:
        """Put a group below another, or at the top; raises AlreadyExists."""

    async def remove(self, realm_id: str, group_id: str) -> None:
        """Remove the group, all groups below it, and their memberships."""


class GroupRepository(Protocol):
    """Groups, their members and their roles."""

    async def list(self, realm_id: str) -> tuple[Group, ...]:
        """Return the realm's groups, by path."""

    async def add(self, group: Group) -> None:
        """Store a new group; raises AlreadyExists."""

    async def replace(self, group: Group) -> None:
        """Overwrite the group with the same id, except for its place in the tree."""

    async def join(self, realm_id: str, user_id: str, group_id: str) -> None:
        """Make the user a member; a repetition changes nothing."""

    async def join_all(self, realm_id: str, members: Sequence[tuple[str, str]]) -> None:
        """Make users members, as pairs of user and group id."""

    async def leave(self, realm_id: str, user_id: str, group_id: str) -> None:
        """End the membership, if there is one."""

    async def default(self, realm_id: str) -> tuple[str, ...]:
        """Return the ids of the default groups of new users."""

    def expect_default(self, realm_id: str) -> None:
        """Read them together with the next statement of the transaction."""

    async def members(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        """Return the ids of the groups that users are members of, by user id."""

    async def granted(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        """Return the ids of the roles granted to groups directly, by group id."""

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Group, ...]:
        """Return the groups that a user is a member of, by path; parents are not included."""

    async def grant(self, realm_id: str, group_id: str, role_ids: Sequence[str]) -> None:
        """Grant roles to a group: its members, and those of its subgroups, have them."""
