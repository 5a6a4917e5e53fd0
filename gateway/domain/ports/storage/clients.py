"""Clients of a realm."""

from collections.abc import Sequence
from typing import Protocol

from gateway.domain.clients import Client


class ClientRepository(Protocol):
    """Clients of a realm."""

    async def find_by_client_id(self, realm_id: str, client_id: str) -> Client | None:
        """Return the client whose public name is exactly `client_id`."""
        ...

    async def named(self, realm_id: str, client_ids: Sequence[str]) -> tuple[Client, ...]:
        """Return those of the clients that exist."""
        ...

    async def list(self, realm_id: str) -> tuple[Client, ...]:
        """Return the realm's clients by client_id."""
        ...

    async def add(self, client: Client) -> None:
        """Store a new client, its secret sealed; raises AlreadyExists."""
        ...

    async def replace(self, client: Client) -> None:
        """Overwrite the client with the same id in the same realm."""
        ...

    async def remove(self, realm_id: str, client: str) -> bool:
        """Forget the client with internal id `client`, its roles and account; tell if it was."""
        ...
