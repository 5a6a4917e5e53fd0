"""Clients: one JSON document each, the secret sealed in a column, the rotated one in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, delete, insert, select, update

from gateway.domain.clients import Client
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.ports.storage.clients import ClientSearch
from gateway.domain.roles import EffectiveRoles
from gateway.domain.secrets import Secret
from gateway.representations.clients import (
    restore_client,
    sealed_rotated_secret,
    with_sealed_rotated_secret,
    write_client,
)
from gateway.storage.sql.clients.search import matches
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.roles import by_owner, effective, roles_of_accounts
from gateway.storage.sql.schema import clients, users
from gateway.storage.sql.transaction import Transaction

_NAMES_AT_ONCE: Final = 1_000
"""Databases limit how many values a statement has."""


class SqlClients:
    """ClientRepository on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        self._transaction = transaction
        self._secrets = secrets

    async def find_by_client_id(self, realm_id: str, client_id: str) -> Client | None:
        if not is_name(client_id):
            return None
        return await self._find(
            and_(clients.c.realm_id == realm_id, clients.c.client_id == client_id)
        )

    async def find_by_id(self, realm_id: str, client: str) -> Client | None:
        return await self._find(_is(realm_id, client)) if is_name(client) else None

    async def find_alone(self, realm_id: str, client: str) -> Client | None:
        return await self._find(_is(realm_id, client), alone=True) if is_name(client) else None

    async def named(self, realm_id: str, client_ids: Sequence[str]) -> tuple[Client, ...]:
        found: list[Client] = []
        for some in _portions(client_ids):
            rows = await self._transaction.execute(
                select(clients).where(clients.c.realm_id == realm_id, clients.c.client_id.in_(some))
            )
            found += [read_client_row(row, self._secrets) async for row in in_slices(rows)]
        return tuple(found)

    async def search(
        self, realm_id: str, search: ClientSearch, first: int, maximum: int
    ) -> tuple[Client, ...]:
        rows = await self._transaction.execute(
            select(clients)
            .where(clients.c.realm_id == realm_id, *matches(search, self._transaction.dialect))
            .order_by(clients.c.client_id)
            .offset(first)
            .limit(maximum)
        )
        return tuple([read_client_row(row, self._secrets) async for row in in_slices(rows)])

    async def account_roles(
        self, realm_id: str, owners: Sequence[str]
    ) -> Mapping[str, EffectiveRoles]:
        found: dict[str, EffectiveRoles] = {}
        for some in _portions(owners):
            rows = await self._transaction.execute(roles_of_accounts(realm_id, some))
            held = by_owner(rows.all())
            found |= {owner: effective(names) for owner, names in held.items()}
        return found

    async def list(self, realm_id: str) -> tuple[Client, ...]:
        rows = await self._transaction.execute(
            select(clients).where(clients.c.realm_id == realm_id).order_by(clients.c.client_id)
        )
        return tuple([read_client_row(row, self._secrets) async for row in in_slices(rows)])

    async def ids(self, realm_id: str) -> Mapping[str, str]:
        rows = await self._transaction.execute(
            select(clients.c.client_id, clients.c.id).where(clients.c.realm_id == realm_id)
        )
        return {row.client_id: row.id async for row in in_slices(rows)}

    async def add(self, client: Client) -> None:
        await self._transaction.execute(insert(clients), self._values(client), taken=_taken(client))

    async def replace(self, client: Client) -> None:
        await self._transaction.change(
            update(clients).where(_is(client.realm_id, client.id)).values(self._values(client)),
            taken=_taken(client),
        )

    async def remove(self, realm_id: str, client: str) -> bool:
        if not is_name(client):
            return False
        result = await self._transaction.execute(delete(clients).where(_is(realm_id, client)))
        return result.rowcount > 0

    async def remove_service_account(self, realm_id: str, client: str) -> None:
        await self._transaction.execute(
            delete(users).where(
                users.c.realm_id == realm_id, users.c.service_account_client == client
            )
        )

    async def registration_token(self, realm_id: str, client: str) -> str | None:
        rows = await self._transaction.execute(
            select(clients.c.registration_token_id).where(_is(realm_id, client))
        )
        return rows.scalar_one_or_none()

    async def set_registration_token(
        self, realm_id: str, client: str, token_id: str | None
    ) -> None:
        await self._transaction.change(
            update(clients).where(_is(realm_id, client)).values(registration_token_id=token_id)
        )

    async def _find(self, condition: ColumnElement[bool], *, alone: bool = False) -> Client | None:
        one = select(clients).where(condition)
        # SQLite has no such lock and needs none: a transaction that may write is alone.
        rows = await self._transaction.execute(one.with_for_update() if alone else one)
        row = rows.first()
        return None if row is None else read_client_row(row, self._secrets)

    def _values(self, client: Client) -> dict[str, Any]:
        secret, rotated = client.secret, client.rotated_secret
        document = write_client(replace(client, secret=None, rotated_secret=None))
        if rotated is not None:
            context = _rotated_context(client.realm_id, client.id)
            sealed = self._secrets.seal(rotated.reveal(), context)
            document = with_sealed_rotated_secret(document, sealed)
        return {
            "realm_id": client.realm_id,
            "id": client.id,
            "client_id": client.client_id,
            "document": document,
            "secret": secret
            and self._secrets.seal(secret.reveal(), _context(client.realm_id, client.id)),
        }


def read_client_row(row: Any, secrets: SecretsAtRest) -> Client:
    """Return the client of a row."""
    client = restore_client(row.document, row.realm_id)
    rotated = sealed_rotated_secret(row.document)
    if rotated is not None:
        context = _rotated_context(row.realm_id, row.id)
        client = replace(client, rotated_secret=Secret(secrets.unseal(rotated, context)))
    if row.secret is None:
        return client
    context = _context(row.realm_id, row.id)
    return replace(client, secret=Secret(secrets.unseal(row.secret, context)))


def _is(realm_id: str, client: str) -> ColumnElement[bool]:
    return and_(clients.c.realm_id == realm_id, clients.c.id == client)


def _portions(names: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(names), _NAMES_AT_ONCE):
        fitting = [name for name in names[start : start + _NAMES_AT_ONCE] if is_name(name)]
        if fitting:
            yield fitting


def _context(realm_id: str, client: str) -> str:
    return f"client-secret:{realm_id}:{client}"


def _rotated_context(realm_id: str, client: str) -> str:
    return f"rotated-client-secret:{realm_id}:{client}"


def _taken(client: Client) -> str:
    return f"Client {client.client_id} already exists"
