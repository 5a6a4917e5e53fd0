"""Groups, their members and the roles they bring."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from gateway.domain.groups import Group


class GroupRepository(Protocol):
    """Groups, who is in them, and the roles they bring."""

    async def list(self, realm_id: str) -> tuple[Group, ...]:
        """Return the realm's groups, by path."""

    async def add(self, group: Group) -> None:
        """Store a new group; raises AlreadyExists."""

    async def replace(self, group: Group) -> None:
        """Overwrite all of the group with the same id but its place in the tree."""

    async def join(self, realm_id: str, user_id: str, group_id: str) -> None:
        """Make the user a member; twice is once."""

    async def join_all(self, realm_id: str, members: Sequence[tuple[str, str]]) -> None:
        """Make users members, as pairs of user and group id."""

    async def leave(self, realm_id: str, user_id: str, group_id: str) -> None:
        """Make the user no member; who is none stays none."""

    async def default(self, realm_id: str) -> tuple[str, ...]:
        """Return the ids of the groups that new users join."""

    async def members(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        """Return the ids of the groups that users are members of, by user id."""

    async def granted(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        """Return the ids of the roles granted to groups directly, by group id."""

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Group, ...]:
        """Return the groups of a user, by path; parents are not implied."""

    async def grant(self, realm_id: str, group_id: str, role_ids: Sequence[str]) -> None:
        """Give roles to a group: its members, and those of its children, have them."""
