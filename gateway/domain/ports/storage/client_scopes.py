"""Client scopes, and which roles are in the scope of clients and client scopes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from gateway.domain.client_scopes import ClientScope


class ClientScopeRepository(Protocol):
    """Client scopes of a realm."""

    async def list(self, realm_id: str) -> tuple[ClientScope, ...]:
        """Return the realm's client scopes by name."""
        ...

    async def find(self, realm_id: str, scope_id: str) -> ClientScope | None:
        """Return the scope with that id."""
        ...

    async def add(self, scope: ClientScope) -> None:
        """Store a new scope; raises AlreadyExists."""
        ...

    async def replace(self, scope: ClientScope) -> None:
        """Overwrite the scope with the same id; raises AlreadyExists when its name is taken."""
        ...

    async def remove(self, realm_id: str, scope_id: str) -> bool:
        """Forget the scope; tell whether there was one."""
        ...


class ScopeOwner(StrEnum):
    """What roles may be in the scope of."""

    CLIENT = "client"
    CLIENT_SCOPE = "client scope"


@dataclass(frozen=True, slots=True)
class RoleScope:
    """The roles in the scope of one client or client scope, by its internal id."""

    owner: ScopeOwner
    id: str


class RoleScopeRepository(Protocol):
    """Roles in scopes, direct ones only. Keycloak: scope mappings."""

    async def list(self, realm_id: str, owner: ScopeOwner) -> Mapping[str, frozenset[str]]:
        """Return the ids of roles by the id of the owner; owners without any are left out."""
        ...

    async def of(self, realm_id: str, scope: RoleScope) -> frozenset[str]:
        """Return the ids of the roles in one scope."""
        ...

    async def add(self, realm_id: str, scope: RoleScope, role_ids: Sequence[str]) -> None:
        """Put roles into a scope; those in it already are left alone."""
        ...

    async def remove(self, realm_id: str, scope: RoleScope, role_ids: Sequence[str]) -> None:
        """Take roles out of a scope; others are left alone."""
        ...
