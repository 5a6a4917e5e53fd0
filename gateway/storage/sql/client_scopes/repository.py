"""Client scopes: one JSON document each, and the list of the realm that it belongs to."""

from typing import Any

from sqlalchemy import insert, select, update

from gateway.domain.client_scopes import ClientScope
from gateway.representations.client_scopes import render_client_scope, restore_client_scope
from gateway.storage.sql.schema import client_scopes
from gateway.storage.sql.transaction import Transaction, is_row


class SqlClientScopes:
    """ClientScopeRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str) -> tuple[ClientScope, ...]:
        of_realm = select(client_scopes).where(client_scopes.c.realm_id == realm_id)
        return await self._transaction.read(of_realm.order_by(client_scopes.c.name), _read)

    async def find(self, realm_id: str, scope_id: str) -> ClientScope | None:
        return await self._transaction.get(client_scopes, realm_id, scope_id, _read)

    async def get_for_update(self, realm_id: str, scope_id: str) -> ClientScope | None:
        return await self._transaction.get(
            client_scopes, realm_id, scope_id, _read, for_update=True
        )

    async def add(self, scope: ClientScope) -> None:
        await self._transaction.execute(insert(client_scopes), _values(scope), taken=_taken(scope))

    async def replace(self, scope: ClientScope) -> None:
        one = update(client_scopes).where(is_row(client_scopes, scope.realm_id, scope.id))
        await self._transaction.change(one.values(_values(scope)), taken=_taken(scope))

    async def remove(self, realm_id: str, scope_id: str) -> bool:
        return await self._transaction.remove(client_scopes, realm_id, scope_id)


def _values(scope: ClientScope) -> dict[str, Any]:
    return {
        "realm_id": scope.realm_id,
        "id": scope.id,
        "name": scope.name,
        "realm_default": scope.realm_default,
        "document": render_client_scope(scope),
    }


def _read(row: Any) -> ClientScope:
    return restore_client_scope(row.document, row.realm_id, row.realm_default)


def _taken(scope: ClientScope) -> str:
    return f"Client Scope {scope.name} already exists"
