"""Which roles are in the scope of clients and client scopes: a table of links for each."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Column, Table, select

from gateway.domain.ports.storage.role_catalogue import Holding
from gateway.storage.sql.roles.scoped_roles import reached_roles
from gateway.storage.sql.schema import client_roles_in_scope, client_scope_roles
from gateway.storage.sql.transaction import Transaction

_TABLES: Final[Mapping[Holding, tuple[Table, Column[Any]]]] = {
    Holding.CLIENT: (client_roles_in_scope, client_roles_in_scope.c.client),
    Holding.CLIENT_SCOPE: (client_scope_roles, client_scope_roles.c.client_scope),
}


class SqlRoleScopes:
    """RoleScopeRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str, kind: Holding) -> Mapping[str, frozenset[str]]:
        table, column = _TABLES[kind]
        rows = await self._transaction.execute(
            select(column.label("owner"), table.c.role_id).where(table.c.realm_id == realm_id)
        )
        found: defaultdict[str, set[str]] = defaultdict(set)
        for row in rows:
            found[row.owner].add(row.role_id)
        return {identity: frozenset(role_ids) for identity, role_ids in found.items()}

    async def reached(
        self, realm_id: str, client: str | None, client_scopes: Sequence[str]
    ) -> frozenset[str]:
        statement = reached_roles(realm_id, client, client_scopes)
        return frozenset(row.role_id for row in await self._transaction.execute(statement))
