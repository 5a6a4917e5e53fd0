"""What the tables of queues have in common: `realm_id`, `due_at` and `attempts`.

A gateway claims rows by moving the instant when they are due, so that no second one sends them
meanwhile. PostgreSQL lets gateways pass by the rows that another one is claiming; on SQLite one
transaction writes at a time.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Table, select, tuple_, update

from gateway.storage.sql.transaction import Transaction


class DeliveryRows:
    """The rows of one queue; only those that meet `conditions` are claimed."""

    def __init__(
        self, transaction: Transaction, table: Table, *conditions: ColumnElement[bool]
    ) -> None:
        self._transaction = transaction
        self._table = table
        self._conditions = conditions
        self._key = tuple(table.primary_key.columns)

    async def has_due(self, now: datetime, busy: Collection[str]) -> bool:
        """Return whether any row is due, of realms that are not `busy`."""
        due = select(self._table.c.attempts).where(*self._due(now, busy)).limit(1)
        return await self._transaction.first(due, _exists) is not None

    async def is_full(self, realm_id: str, most: int, *conditions: ColumnElement[bool]) -> bool:
        """Return whether at least `most` rows of the realm wait that meet the conditions."""
        columns = self._table.c
        waiting = (columns.realm_id == realm_id, columns.due_at.is_not(None), *conditions)
        last = select(columns.attempts).where(*waiting).offset(most - 1).limit(1)
        return await self._transaction.first(last, _exists) is not None

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str]
    ) -> Sequence[Any]:
        """Return due rows and count the attempt: those tried least, then the longest due."""
        columns = self._table.c
        due = (
            select(self._table)
            .where(*self._due(now, busy))
            .order_by(columns.attempts, columns.due_at, *self._key)
            .limit(most)
            .with_for_update(skip_locked=True)
        )
        rows = (await self._transaction.execute(due)).all()
        begun = {"due_at": now + lease, "attempts": columns.attempts + 1}
        await self.change([self._key_of(row) for row in rows], begun)
        return rows

    async def change(self, keys: Collection[tuple[str, ...]], values: dict[str, Any]) -> None:
        """Change the rows with these keys."""
        if keys:
            some = update(self._table).where(tuple_(*self._key).in_(sorted(keys)))
            await self._transaction.execute(some.values(values))

    def _due(self, now: datetime, busy: Collection[str]) -> Sequence[ColumnElement[bool]]:
        columns = self._table.c
        free = (columns.realm_id.not_in(sorted(busy)),) if busy else ()
        return (columns.due_at <= now, *self._conditions, *free)

    def _key_of(self, row: Any) -> tuple[str, ...]:
        return tuple(getattr(row, column.name) for column in self._key)


def _exists(_row: Any) -> bool:
    return True
