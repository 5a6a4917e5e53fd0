"""Notices of ended sessions: one row for each session and client, until the client received it.

A gateway claims rows by moving the instant when they are due, so that no second one sends them
meanwhile. PostgreSQL lets gateways pass by the rows that another one is claiming; on SQLite one
transaction writes at a time.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, select, tuple_, update

from gateway.domain.logout_notices import LogoutNotice
from gateway.storage.sql.schema import logout_notices as notices
from gateway.storage.sql.transaction import Transaction

_FIELDS = tuple(field.name for field in fields(LogoutNotice))
_KEY = (notices.c.realm_id, notices.c.session_id, notices.c.client)


class SqlLogoutNotices:
    """LogoutNoticeQueue on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def add(self, added: Sequence[LogoutNotice]) -> None:
        rows = [
            {name: getattr(notice, name) for name in _FIELDS} | {"due_at": notice.created_at}
            for notice in added
        ]
        await self._transaction.insert_missing(notices, rows)

    async def has_due(self, now: datetime) -> bool:
        due = select(notices.c.attempts).where(notices.c.due_at <= now).limit(1)
        return await self._transaction.first(due, _exists) is not None

    async def claim(self, now: datetime, lease: timedelta, most: int) -> tuple[LogoutNotice, ...]:
        due = (
            select(*(notices.c[name] for name in _FIELDS))
            .where(notices.c.due_at <= now)
            .order_by(notices.c.attempts, notices.c.due_at, *_KEY)
            .limit(most)
            .with_for_update(skip_locked=True)
        )
        found = await self._transaction.read(due, _read)
        keys = [(notice.realm_id, notice.session_id, notice.client) for notice in found]
        if keys:
            claimed = update(notices).where(tuple_(*_KEY).in_(keys))
            values = {"due_at": now + lease, "attempts": notices.c.attempts + 1}
            await self._transaction.execute(claimed.values(values))
        return tuple(replace(notice, attempts=notice.attempts + 1) for notice in found)

    async def postpone(self, notice: LogoutNotice, due_at: datetime) -> None:
        one = update(notices).where(_is_notice(notice)).values(due_at=due_at)
        await self._transaction.execute(one)

    async def remove(self, notice: LogoutNotice) -> None:
        await self._transaction.execute(delete(notices).where(_is_notice(notice)))


def _exists(_row: Any) -> bool:
    return True


def _is_notice(notice: LogoutNotice) -> ColumnElement[bool]:
    return and_(
        notices.c.realm_id == notice.realm_id,
        notices.c.session_id == notice.session_id,
        notices.c.client == notice.client,
    )


def _read(row: Any) -> LogoutNotice:
    return LogoutNotice(**{name: getattr(row, name) for name in _FIELDS})
