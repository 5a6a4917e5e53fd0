"""The change log: written with each change, read by every worker."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Dialect, bindparam, delete, func, select

from gateway.domain.ports.invalidation import RecordedChange
from gateway.storage.sql.prepared_query import PreparedQuery, QueryExecutor
from gateway.storage.sql.schema import change_log
from gateway.storage.sql.transaction import Transaction

KEPT: Final = 10_000
"""Records that a purge leaves: far more than the changes between two reads."""


class SqlChangeLog:
    """ChangeLog on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def record(self, topics: Sequence[str]) -> None:
        if topics:
            values = {"topics": tuple(dict.fromkeys(topics))}
            await self._transaction.insert_later(change_log, [values])

    async def purge(self) -> int:
        newest = select(func.max(change_log.c.id)).scalar_subquery()
        return await self._transaction.count_changed(
            delete(change_log).where(change_log.c.id <= newest - KEPT)
        )


class SqlChangeLogReader:
    """ChangeLogReader by prepared queries."""

    def __init__(self, executor: QueryExecutor, dialect: Dialect) -> None:
        self._executor = executor
        columns = change_log.c
        later = columns.id > bindparam("identity", type_=columns.id.type)
        after = select(columns.id, columns.topics).where(later).order_by(columns.id)
        self._newest = PreparedQuery(select(func.max(columns.id).label("newest")), dialect)
        self._after = PreparedQuery(after, dialect)

    async def newest(self) -> int:
        rows = await self._executor.execute(self._newest, self._newest.arguments())
        return int(rows[0][0] or 0)

    async def after(self, identity: int) -> Sequence[RecordedChange]:
        rows = await self._executor.execute(self._after, self._after.arguments(identity=identity))
        return [RecordedChange(*self._after.read(row)) for row in rows]
