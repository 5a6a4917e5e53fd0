"""Looking roles up for administrators: by name, by whom they belong to, and by who holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from gateway.domain.roles import ListedRole, Role
from gateway.domain.users import User


class Holding(StrEnum):
    """What may hold roles directly."""

    CLIENT = "client"
    """The roles in the scope of a client."""
    CLIENT_SCOPE = "client scope"
    COMPOSITE = "composite"
    """The roles that a role contains."""
    GROUP = "group"
    USER = "user"


@dataclass(frozen=True, slots=True)
class RoleHolder:
    """One holder of roles, by its internal id."""

    kind: Holding
    id: str


class Share(StrEnum):
    """Which roles, as seen from a holder."""

    DIRECT = "given to it"
    EFFECTIVE = "given to it, to its groups and to their parents, and all that these contain"
    MISSING = "not given to it directly"


@dataclass(frozen=True, slots=True)
class RoleQuery:
    """Which roles are asked for: the conditions hold together.

    `container` is the internal id of a client, or "" for roles of the realm; None asks for both.
    `search` is a part of name or description, capitals make no difference. `maximum` None is all.
    """

    holder: RoleHolder | None = None
    share: Share = Share.DIRECT
    container: str | None = None
    search: str = ""
    first: int = 0
    maximum: int | None = None


class RoleCatalogue(Protocol):
    """Finds roles and who has them. Ids of another realm are not found."""

    async def list(self, realm_id: str, query: RoleQuery) -> tuple[ListedRole, ...]:
        """Return the roles, by name."""

    async def find(self, realm_id: str, role_id: str, *, alone: bool = False) -> ListedRole | None:
        """Return the role with that id; `alone` lets nobody else change it meanwhile."""

    async def find_by_name(
        self, realm_id: str, client: str | None, name: str, *, alone: bool = False
    ) -> ListedRole | None:
        """Return the role of the client with internal id `client`, or of the realm, by name."""

    async def by_ids(self, realm_id: str, role_ids: Sequence[str]) -> Mapping[str, ListedRole]:
        """Return those of the roles that exist, by id."""

    async def containing(self, realm_id: str, role_ids: Sequence[str]) -> frozenset[str]:
        """Return the ids of these roles, and of all that contain one of them in the end."""

    async def replace(self, role: Role) -> None:
        """Overwrite name, description and attributes of the role; raises AlreadyExists."""

    async def remove(self, realm_id: str, role_id: str) -> None:
        """Forget the role, and that anybody has it."""

    async def give(self, realm_id: str, holder: RoleHolder, role_ids: Sequence[str]) -> None:
        """Let a holder have roles directly; twice is once."""

    async def take(self, realm_id: str, holder: RoleHolder, role_ids: Sequence[str]) -> None:
        """Take roles from a holder that were given to it directly; others are left alone."""

    async def users(
        self, realm_id: str, role_id: str, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the users who have the role directly, by username."""
