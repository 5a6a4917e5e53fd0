"""Roles, composites and who has them."""

from collections.abc import Sequence
from typing import Protocol

from gateway.domain.roles import EffectiveRoles, Role


class RoleRepository(Protocol):
    """Roles, composites and who has them."""

    async def list(self, realm_id: str) -> tuple[Role, ...]:
        """Return realm and client roles of the realm, by name."""

    async def add(self, role: Role) -> None:
        """Store a new role without its composites; raises AlreadyExists."""

    async def find(self, realm_id: str, name: str) -> Role | None:
        """Return the realm role with that name, its composites left out."""

    async def add_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        """Let a role contain others directly; those it contains already are left alone."""

    async def set_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        """Replace the direct composites of a role."""

    async def grant(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        """Give roles to a user; those already held are left alone."""

    async def grant_all(self, realm_id: str, grants: Sequence[tuple[str, str]]) -> None:
        """Give roles to many users, as pairs of user and role id."""

    async def revoke(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        """Take roles from a user that were granted to it directly; others are left alone."""

    async def granted(self, realm_id: str, user_id: str) -> frozenset[str]:
        """Return the ids of the roles granted to a user directly."""

    async def effective(self, realm_id: str, user_id: str) -> EffectiveRoles:
        """Return what the user has after composites, names sorted."""

    async def expanded(self, realm_id: str, role_ids: Sequence[str]) -> EffectiveRoles:
        """Return the roles and all they contain, by name."""
