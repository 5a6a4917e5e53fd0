"""What the tables of queues have in common: `realm_id`, `due_at` and `attempts`.

A gateway claims rows by moving the instant when they are due, so that no second one sends them
meanwhile. PostgreSQL lets gateways pass by the rows that another one is claiming; on SQLite one
transaction writes at a time.

Rows of one realm (and kind) that were tried as often are a line. The index of a table has one line
after another, each by the instant when its rows are due. A claim looks at the first row of each
line, so its cost depends on the number of lines, never on how many rows wait.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, Table, and_, func, or_, select, update

from gateway.storage.sql.distinct_values import distinct_values
from gateway.storage.sql.transaction import Transaction


@dataclass(frozen=True, slots=True)
class RowKinds:
    """The column that says what a row is about, and what its values mean."""

    column: Column[Any]
    claimed: frozenset[str]
    """Other kinds are left to other gateways."""
    less_urgent: frozenset[str]
    """Kinds that are claimed last."""


class DeliveryRows:
    """The rows of one queue."""

    def __init__(
        self, transaction: Transaction, table: Table, kinds: RowKinds | None = None
    ) -> None:
        self._transaction = transaction
        self._table = table
        self._kinds = kinds
        self._key = tuple(table.primary_key.columns)
        kind = () if kinds is None else (kinds.column,)
        self._line = (table.c.realm_id, *kind, table.c.attempts)

    async def has_due(self, now: datetime, busy: Collection[str]) -> bool:
        """Return whether any row is due, of realms that are not `busy`."""
        return bool(await self._due_lines(now, 1, busy))

    async def is_full(self, realm_id: str, most: int, *conditions: ColumnElement[bool]) -> bool:
        """Return whether at least `most` rows of the realm wait that meet the conditions.

        It counts entries of an index, up to `most` of them.
        """
        columns = self._table.c
        waiting = (columns.realm_id == realm_id, columns.due_at.is_not(None), *conditions)
        # By the order of the index of lines, which has all of these columns: nothing is sorted.
        last = select(columns.realm_id).where(*waiting).order_by(*self._line, columns.due_at)
        last = last.offset(most - 1).limit(1)
        return await self._transaction.first(last, _exists) is not None

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str]
    ) -> Sequence[Any]:
        """Return due rows and count the attempt: urgent, tried least, then longest due first.

        Of lines that are alike in this, the one whose first row is due longest goes first.
        """
        columns = self._table.c
        rows: list[Any] = []
        for line in await self._due_lines(now, most, busy):
            due = (
                select(self._table)
                .where(*self._is_of(line), columns.due_at <= now)
                .order_by(columns.due_at)
                .limit(most - len(rows))
                .with_for_update(skip_locked=True)
            )
            rows += (await self._transaction.execute(due)).all()
            if len(rows) == most:
                break
        begun = {"due_at": now + lease, "attempts": columns.attempts + 1}
        await self.change([self._key_of(row) for row in rows], begun)
        return rows

    async def change(self, keys: Collection[tuple[str, ...]], values: dict[str, Any]) -> None:
        """Change the rows with these keys."""
        if keys:
            # SQLite reads the whole table for a list of tuples.
            some = or_(*map(self._is_row, sorted(keys)))
            await self._transaction.execute(update(self._table).where(some).values(values))

    async def _due_lines(self, now: datetime, most: int, busy: Collection[str]) -> Sequence[Any]:
        """Return the first lines with a due row, in the order in which they are claimed."""
        rows = await self._transaction.execute(self._lines(now, busy).limit(most))
        return rows.all()

    def _lines(self, now: datetime, busy: Collection[str]) -> Select[Any]:
        waits = self._table.c.due_at.is_not(None)
        lines = distinct_values(self._line, waits)
        first = select(func.min(self._table.c.due_at)).where(*self._is_of(lines.c), waits)
        head = first.correlate(lines).scalar_subquery().label(self._table.c.due_at.name)
        # Materialized: a subquery would be evaluated each time when it is named.
        heads = select(*lines.c, head).where(lines.c.attempts.is_not(None)).cte("heads")
        heads = heads.prefix_with("MATERIALIZED")
        conditions = [heads.c.due_at <= now]
        urgency: tuple[ColumnElement[bool], ...] = ()
        if busy:
            conditions.append(heads.c.realm_id.not_in(sorted(busy)))
        if self._kinds is not None:
            kind = heads.c[self._kinds.column.name]
            conditions.append(kind.in_(sorted(self._kinds.claimed)))
            urgency = (kind.in_(sorted(self._kinds.less_urgent)),)
        query = select(heads).where(*conditions)
        return query.order_by(*urgency, heads.c.attempts, heads.c.due_at, heads.c.realm_id)

    def _is_of(self, line: Any) -> Sequence[ColumnElement[bool]]:
        return tuple(column == getattr(line, column.name) for column in self._line)

    def _is_row(self, key: tuple[str, ...]) -> ColumnElement[bool]:
        return and_(*(column == value for column, value in zip(self._key, key, strict=True)))

    def _key_of(self, row: Any) -> tuple[str, ...]:
        return tuple(getattr(row, column.name) for column in self._key)


def _exists(_row: Any) -> bool:
    return True
