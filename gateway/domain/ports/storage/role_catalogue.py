"""Roles, their holders and scopes; and the same for administrators, by pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from gateway.domain.roles import EffectiveRoles, ListedRole, Role
from gateway.domain.users import User


class HolderKind(StrEnum):
    """The kinds of holders of roles."""

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

    kind: HolderKind
    id: str


class Share(StrEnum):
    """Which roles, as seen from a holder."""

    DIRECT = "given to it"
    EFFECTIVE = "given to it, to its groups and to their parents, and all that these contain"
    MISSING = "not given to it directly"


@dataclass(frozen=True, slots=True)
class RoleQuery:
    """Which roles to list: all conditions must hold.

    `container` is the internal id of a client, or "" for realm roles; None selects both.
    `search` is a part of name or description, without regard to case; `maximum` None is all.
    """

    holder: RoleHolder | None = None
    share: Share = Share.DIRECT
    container: str | None = None
    search: str = ""
    first: int = 0
    maximum: int | None = None


class RoleCatalogue(Protocol):
    """Finds roles and their holders. Ids of another realm are not found."""

    async def list(self, realm_id: str, query: RoleQuery) -> tuple[ListedRole, ...]:
        """Return the roles, by name."""

    async def find(
        self, realm_id: str, role_id: str, *, for_update: bool = False
    ) -> ListedRole | None:
        """Return the role with that id; `for_update` locks it until the transaction ends."""

    async def find_by_name(
        self, realm_id: str, client: str | None, name: str, *, for_update: bool = False
    ) -> ListedRole | None:
        """Return the role of the client with internal id `client`, or of the realm, by name."""

    async def by_ids(self, realm_id: str, role_ids: Sequence[str]) -> Mapping[str, ListedRole]:
        """Return those of the roles that exist, by id."""

    async def containing(self, realm_id: str, role_ids: Sequence[str]) -> frozenset[str]:
        """Return the ids of these roles and of all composites that contain one of them."""

    async def replace(self, role: Role) -> None:
        """Overwrite name, description and attributes of the role; raises AlreadyExists."""

    async def remove(self, realm_id: str, role_id: str) -> None:
        """Remove the role and every grant of it."""

    async def give(self, realm_id: str, holder: RoleHolder, role_ids: Sequence[str]) -> None:
        """Grant roles to a holder; a repeated grant changes nothing."""

    async def take(self, realm_id: str, holder: RoleHolder, role_ids: Sequence[str]) -> None:
        """Revoke roles that a holder has directly; other ids are ignored."""

    async def users(
        self, realm_id: str, role_id: str, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return a page of the users with a direct grant of the role, by username."""


class RoleRepository(Protocol):
    """Roles, composites and grants."""

    async def list(self, realm_id: str) -> tuple[Role, ...]:
        """Return realm and client roles of the realm, by name."""

    async def add(self, role: Role) -> None:
        """Store a new role without its composites; raises AlreadyExists."""

    async def find(self, realm_id: str, name: str) -> Role | None:
        """Return the realm role with that name, its composites left out."""

    def expect_find(self, realm_id: str, name: str) -> None:
        """Read it together with the next statement of the transaction."""

    async def add_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        """Add roles to a composite; roles that it contains already are left alone."""

    async def set_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        """Replace the direct composites of a role."""

    async def grant(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        """Grant roles to a user; roles that the user has already are left alone."""

    async def grant_all(self, realm_id: str, grants: Sequence[tuple[str, str]]) -> None:
        """Grant roles to many users, as pairs of user id and role id."""

    async def granted(self, realm_id: str, user_id: str) -> frozenset[str]:
        """Return the ids of the roles granted directly to a user."""

    async def effective(self, realm_id: str, user_id: str) -> EffectiveRoles:
        """Return the roles of the user, from groups and composites too, names sorted."""

    async def expanded(self, realm_id: str, role_ids: Sequence[str]) -> EffectiveRoles:
        """Return the roles and all that they contain, names sorted."""


class RoleScopeRepository(Protocol):
    """Which roles are in the scope of clients and client scopes. Keycloak: scope mappings.

    RoleCatalogue changes them.
    """

    async def list(self, realm_id: str, kind: HolderKind) -> Mapping[str, frozenset[str]]:
        """Return the ids of roles by the id of the client or client scope.

        Direct roles only; clients and scopes without roles are left out.
        """

    async def reached(
        self, realm_id: str, client: str | None, client_scopes: Sequence[str]
    ) -> frozenset[str]:
        """Return the ids of the roles in the scope of a client or of client scopes.

        Composites are resolved, and a client's own roles count. All are internal ids.
        """
