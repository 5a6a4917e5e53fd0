"""Notices of ended sessions: one row for each session and client, until the client received it."""

from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete

from gateway.domain.logout_notices import LogoutNotice
from gateway.storage.sql.delivery_rows import DeliveryRows
from gateway.storage.sql.schema import logout_notices as notices
from gateway.storage.sql.transaction import Transaction

_FIELDS = tuple(field.name for field in fields(LogoutNotice))


class SqlLogoutNotices:
    """LogoutNoticeQueue on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._rows = DeliveryRows(transaction, notices)

    async def add(self, added: Sequence[LogoutNotice]) -> None:
        rows = [
            {name: getattr(notice, name) for name in _FIELDS} | {"due_at": notice.created_at}
            for notice in added
        ]
        await self._transaction.insert_missing(notices, rows)

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        return await self._rows.has_due(now, busy)

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[LogoutNotice, ...]:
        found = map(_read, await self._rows.claim(now, lease, most, busy))
        return tuple(replace(notice, attempts=notice.attempts + 1) for notice in found)

    async def postpone(self, notice: LogoutNotice, due_at: datetime) -> None:
        key = (notice.realm_id, notice.session_id, notice.client)
        await self._rows.change([key], {"due_at": due_at})

    async def remove(self, notice: LogoutNotice) -> None:
        await self._transaction.execute(delete(notices).where(_is_notice(notice)))


def _is_notice(notice: LogoutNotice) -> ColumnElement[bool]:
    return and_(
        notices.c.realm_id == notice.realm_id,
        notices.c.session_id == notice.session_id,
        notices.c.client == notice.client,
    )


def _read(row: Any) -> LogoutNotice:
    return LogoutNotice(**{name: getattr(row, name) for name in _FIELDS})
