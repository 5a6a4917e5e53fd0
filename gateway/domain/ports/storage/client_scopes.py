"""Client scopes, and which roles are in the scope of clients and client scopes."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from gateway.domain.client_scopes import ClientScope
from gateway.domain.ports.storage.role_catalogue import Holding


class ClientScopeRepository(Protocol):
    """Client scopes of a realm."""

    async def list(self, realm_id: str) -> tuple[ClientScope, ...]:
        """Return the realm's client scopes by name."""

    async def find(self, realm_id: str, scope_id: str) -> ClientScope | None:
        """Return the scope with that id."""

    async def find_alone(self, realm_id: str, scope_id: str) -> ClientScope | None:
        """Return the same, and let nobody else change the scope until the transaction ends."""

    async def add(self, scope: ClientScope) -> None:
        """Store a new scope; raises AlreadyExists."""

    async def replace(self, scope: ClientScope) -> None:
        """Overwrite the scope with the same id; raises AlreadyExists when its name is taken."""

    async def remove(self, realm_id: str, scope_id: str) -> bool:
        """Forget the scope; tell whether there was one."""


class RoleScopeRepository(Protocol):
    """Which roles are in the scope of clients and client scopes. Keycloak: scope mappings.

    They are put in and taken out by the catalogue of roles.
    """

    async def list(self, realm_id: str, kind: Holding) -> Mapping[str, frozenset[str]]:
        """Return the ids of roles by the id of the client, or of the client scope, they are in.

        Direct ones only; whatever has none is left out.
        """

    async def reached(
        self, realm_id: str, client: str | None, client_scopes: Sequence[str]
    ) -> frozenset[str]:
        """Return the ids of the roles in the scope of a client or of client scopes, in the end.

        What roles contain counts, and of the client its own roles. All are internal ids.
        """
