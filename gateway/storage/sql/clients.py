"""Clients: one JSON document each, the secret sealed beside it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import delete, insert, select, update

from gateway.domain.clients import Client
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.secrets import Secret
from gateway.representations.client import write_client
from gateway.representations.stored_client import restore_client
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import clients
from gateway.storage.sql.transaction import Transaction

_NAMES_AT_ONCE: Final = 1_000
"""Databases limit how many values a statement has."""


class SqlClients:
    """ClientRepository on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        self._transaction = transaction
        self._secrets = secrets

    async def find_by_client_id(self, realm_id: str, client_id: str) -> Client | None:
        """Return the client whose public name is exactly `client_id`."""
        if not is_name(client_id):
            return None
        rows = await self._transaction.execute(
            select(clients).where(clients.c.realm_id == realm_id, clients.c.client_id == client_id)
        )
        row = rows.first()
        return None if row is None else read_row(row, self._secrets)

    async def named(self, realm_id: str, client_ids: Sequence[str]) -> tuple[Client, ...]:
        """Return those of the clients that exist."""
        names = [client_id for client_id in client_ids if is_name(client_id)]
        found: list[Client] = []
        for start in range(0, len(names), _NAMES_AT_ONCE):
            some = names[start : start + _NAMES_AT_ONCE]
            rows = await self._transaction.execute(
                select(clients).where(clients.c.realm_id == realm_id, clients.c.client_id.in_(some))
            )
            found += [read_row(row, self._secrets) for row in rows]
        return tuple(found)

    async def list(self, realm_id: str) -> tuple[Client, ...]:
        """Return the realm's clients by client_id."""
        rows = await self._transaction.execute(
            select(clients).where(clients.c.realm_id == realm_id).order_by(clients.c.client_id)
        )
        return tuple(read_row(row, self._secrets) for row in rows)

    async def add(self, client: Client) -> None:
        """Store a new client, its secret sealed; raises AlreadyExists."""
        await self._transaction.execute(insert(clients), self._values(client), taken=_taken(client))

    async def replace(self, client: Client) -> None:
        """Overwrite the client with the same id in the same realm."""
        await self._transaction.change(
            update(clients)
            .where(clients.c.realm_id == client.realm_id, clients.c.id == client.id)
            .values(self._values(client)),
            taken=_taken(client),
        )

    async def remove(self, realm_id: str, client: str) -> bool:
        """Forget the client with internal id `client`, its roles and account; tell if it was."""
        result = await self._transaction.execute(
            delete(clients).where(clients.c.realm_id == realm_id, clients.c.id == client)
        )
        return result.rowcount > 0

    def _values(self, client: Client) -> dict[str, Any]:
        secret = client.secret
        return {
            "realm_id": client.realm_id,
            "id": client.id,
            "client_id": client.client_id,
            "document": write_client(replace(client, secret=None)),
            "secret": secret
            and self._secrets.seal(secret.reveal(), _context(client.realm_id, client.id)),
        }


def read_row(row: Any, secrets: SecretsAtRest) -> Client:
    """Return the client of a row."""
    client = restore_client(row.document, row.realm_id)
    if row.secret is None:
        return client
    context = _context(row.realm_id, row.id)
    return replace(client, secret=Secret(secrets.unseal(row.secret, context)))


def _context(realm_id: str, client: str) -> str:
    return f"client-secret:{realm_id}:{client}"


def _taken(client: Client) -> str:
    return f"Client {client.client_id} already exists"
