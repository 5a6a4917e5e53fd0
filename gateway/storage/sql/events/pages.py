"""Pages of events, at a cost that does not grow with the log.

Each filter has an index in the order of time. With several filters, the one with the fewest rows
is used, by counting up to SAMPLE rows of each; so no combination scans a realm. The cost still
grows with the events before the page, with frequent values that rarely occur together, and for a
path that begins with `*`.
"""

import operator
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    Table,
    delete,
    func,
    literal,
    select,
    text,
    union_all,
)

from gateway.domain.events import EventPage, Period
from gateway.storage.sql.events.filters import Condition, EventsOf, Filter, Matching
from gateway.storage.sql.transaction import Transaction

SAMPLE: Final = 10_000
"""Rows that are counted for each filter, and rows by path that are sorted at most."""

_ALONG_INDEXES: Final = """
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true)
"""
"""PostgreSQL estimates how many rows match several filters. With a wrong estimate it would scan the
table, so the transaction may only use an index in its order."""
_SORTED: Final = "SELECT set_config('enable_sort', 'on', true)"


class EventPages:
    """Finds the events of a realm in one of the tables."""

    def __init__(
        self, transaction: Transaction, table: Table, realm_id: str, period: Period
    ) -> None:
        self._transaction = transaction
        self._table = table
        self._realm_id = realm_id
        self._events = EventsOf(transaction.dialect, table.c.time, period)

    async def page(self, filters: Sequence[Filter], page: EventPage) -> Sequence[Row[Any]]:
        if page.maximum == 0:
            return []
        await self._set(_ALONG_INDEXES)
        leading = await self._leading(filters)
        if isinstance(leading, Matching):
            await self._set(_SORTED)
        others = [each.holds(self._events.dialect) for each in filters if each is not leading]
        if leading is None:
            found = self._by_time(others, page)
        else:
            found = self._found(leading, others, page)
        return (await self._transaction.execute(found)).all()

    async def _set(self, settings: str) -> None:
        if self._events.dialect == "postgresql":
            await self._transaction.execute(text(settings))

    async def _leading(self, filters: Sequence[Filter]) -> Filter | None:
        """Return the filter whose index finds the rows, None for the index of time."""
        exact = [each for each in filters if not isinstance(each, Matching)]
        if len(filters) == len(exact) <= 1:
            return next(iter(exact), None)
        counted = [each for each in filters if not isinstance(each, Matching) or each.beginning]
        usable = [
            (number, order, each)
            for order, (number, each) in enumerate(
                zip(await self._counted(counted), counted, strict=True)
            )
            # Rows by path are not in the order of time: they are sorted, so they must be few.
            if number < SAMPLE or not isinstance(each, Matching)
        ]
        return min(usable, default=(0, 0, None))[2]

    async def _counted(self, filters: Sequence[Filter]) -> Sequence[int]:
        """Return the number of rows of each filter, SAMPLE or more for many."""
        if not filters:
            return []
        numbers = [
            [self._number(each, branch) for branch in each.found(self._events)] for each in filters
        ]
        sums = [reduce(operator.add, parts) for parts in numbers]
        return tuple((await self._transaction.execute(select(*sums))).one())

    def _number(self, each: Filter, branch: Condition) -> ColumnElement[int]:
        # The order is that of the index: without it PostgreSQL may look along another.
        some = self._select([literal(1)], branch).order_by(*each.along(self._events))
        return select(func.count()).select_from(some.limit(SAMPLE).subquery()).scalar_subquery()

    def _by_time(self, held: Sequence[Condition], page: EventPage) -> Select[Any]:
        columns = self._table.c
        rows = self._select(columns, *held, *self._events.within())
        return (
            rows.order_by(*_order(page, columns.time, columns.id))
            .offset(page.first)
            .limit(page.maximum)
        )

    def _found(self, leading: Filter, held: Sequence[Condition], page: EventPage) -> Select[Any]:
        """Return the page by one index; several values are merged from one list each."""
        columns = self._table.c
        if isinstance(leading, Matching):
            held = [*held, leading.holds(self._events.dialect)]
        order = _order(page, *leading.order(self._events), columns.id)
        enough = page.first + page.maximum
        found = [
            self._select(columns, branch, *held).order_by(*order).limit(enough)
            for branch in leading.found(self._events)
        ]
        if len(found) == 1:
            return found[0].offset(page.first).limit(page.maximum)
        rows = union_all(*(select(each.subquery()) for each in found)).subquery()
        merged = select(rows).order_by(*_order(page, rows.c.time, rows.c.id))
        return merged.offset(page.first).limit(page.maximum)

    def _select(self, columns: Iterable[ColumnElement[Any]], *held: Condition) -> Select[Any]:
        of_realm = self._table.c.realm_id == self._realm_id
        return select(*columns).select_from(self._table).where(of_realm, *held)


async def remove_oldest(
    transaction: Transaction, table: Table, realm_id: str, before: object, most: int
) -> int:
    """Remove the oldest events before the instant; return how many."""
    oldest = (
        select(table.c.id)
        .where(table.c.realm_id == realm_id, table.c.time < before)
        .order_by(table.c.time, table.c.id)
        .limit(most)
    )
    return await transaction.count_changed(
        delete(table).where(table.c.realm_id == realm_id, table.c.id.in_(oldest))
    )


def _order(page: EventPage, *columns: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    return [column.desc() if page.newest_first else column.asc() for column in columns]
