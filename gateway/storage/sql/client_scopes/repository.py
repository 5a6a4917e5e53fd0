"""Client scopes: one JSON document each, and the list of the realm it stands in."""

from typing import Any

from sqlalchemy import Select, delete, insert, select, update

from gateway.domain.client_scopes import ClientScope
from gateway.domain.limits.event_loop import in_slices
from gateway.representations.client_scopes import restore_client_scope, write_client_scope
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import client_scopes
from gateway.storage.sql.transaction import Transaction


class SqlClientScopes:
    """ClientScopeRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str) -> tuple[ClientScope, ...]:
        rows = await self._transaction.execute(
            select(client_scopes)
            .where(client_scopes.c.realm_id == realm_id)
            .order_by(client_scopes.c.name)
        )
        return tuple([_read(row) async for row in in_slices(rows)])

    async def find(self, realm_id: str, scope_id: str) -> ClientScope | None:
        return await self._find(_one(realm_id, scope_id)) if is_name(scope_id) else None

    async def find_alone(self, realm_id: str, scope_id: str) -> ClientScope | None:
        # SQLite has no such lock and needs none: a transaction that may write is alone.
        statement = _one(realm_id, scope_id).with_for_update()
        return await self._find(statement) if is_name(scope_id) else None

    async def add(self, scope: ClientScope) -> None:
        await self._transaction.execute(insert(client_scopes), _values(scope), taken=_taken(scope))

    async def replace(self, scope: ClientScope) -> None:
        await self._transaction.change(
            update(client_scopes)
            .where(client_scopes.c.realm_id == scope.realm_id, client_scopes.c.id == scope.id)
            .values(_values(scope)),
            taken=_taken(scope),
        )

    async def remove(self, realm_id: str, scope_id: str) -> bool:
        if not is_name(scope_id):
            return False
        result = await self._transaction.execute(
            delete(client_scopes).where(
                client_scopes.c.realm_id == realm_id, client_scopes.c.id == scope_id
            )
        )
        return result.rowcount > 0

    async def _find(self, statement: Select[Any]) -> ClientScope | None:
        row = (await self._transaction.execute(statement)).first()
        return None if row is None else _read(row)


def _one(realm_id: str, scope_id: str) -> Select[Any]:
    return select(client_scopes).where(
        client_scopes.c.realm_id == realm_id, client_scopes.c.id == scope_id
    )


def _values(scope: ClientScope) -> dict[str, Any]:
    return {
        "realm_id": scope.realm_id,
        "id": scope.id,
        "name": scope.name,
        "realm_default": scope.realm_default,
        "document": write_client_scope(scope),
    }


def _read(row: Any) -> ClientScope:
    return restore_client_scope(row.document, row.realm_id, row.realm_default)


def _taken(scope: ClientScope) -> str:
    return f"Client Scope {scope.name} already exists"
