"""Which roles are in the scope of clients and client scopes: a table of links for each."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Column, Table, delete, select

from gateway.domain.ports.storage.client_scopes import RoleScope, ScopeOwner
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.inserts import insert_into
from gateway.storage.sql.schema import client_roles_in_scope, client_scope_roles
from gateway.storage.sql.transaction import Transaction

_TABLES: Final[Mapping[ScopeOwner, tuple[Table, Column[Any]]]] = {
    ScopeOwner.CLIENT: (client_roles_in_scope, client_roles_in_scope.c.client),
    ScopeOwner.CLIENT_SCOPE: (client_scope_roles, client_scope_roles.c.client_scope),
}


class SqlRoleScopes:
    """RoleScopeRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str, owner: ScopeOwner) -> Mapping[str, frozenset[str]]:
        """Return the ids of roles by the id of the owner; owners without any are left out."""
        table, column = _TABLES[owner]
        rows = await self._transaction.execute(
            select(column.label("owner"), table.c.role_id).where(table.c.realm_id == realm_id)
        )
        found: defaultdict[str, set[str]] = defaultdict(set)
        for row in rows:
            found[row.owner].add(row.role_id)
        return {identity: frozenset(role_ids) for identity, role_ids in found.items()}

    async def of(self, realm_id: str, scope: RoleScope) -> frozenset[str]:
        """Return the ids of the roles in one scope."""
        if not is_name(scope.id):
            return frozenset()
        table, column = _TABLES[scope.owner]
        rows = await self._transaction.execute(
            select(table.c.role_id).where(table.c.realm_id == realm_id, column == scope.id)
        )
        return frozenset(row.role_id for row in rows)

    async def add(self, realm_id: str, scope: RoleScope, role_ids: Sequence[str]) -> None:
        """Put roles into a scope; those in it already are left alone."""
        if not role_ids:
            return
        table, column = _TABLES[scope.owner]
        statement = insert_into(table, self._transaction.dialect)
        await self._transaction.execute(
            statement.on_conflict_do_nothing(),
            [
                {"realm_id": realm_id, column.key: scope.id, "role_id": role_id}
                for role_id in role_ids
            ],
        )

    async def remove(self, realm_id: str, scope: RoleScope, role_ids: Sequence[str]) -> None:
        """Take roles out of a scope; others are left alone."""
        table, column = _TABLES[scope.owner]
        await self._transaction.execute(
            delete(table).where(
                table.c.realm_id == realm_id,
                column == scope.id,
                table.c.role_id.in_(role_ids),
            )
        )
