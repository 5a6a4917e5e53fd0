"""What mails have reported of what expires: a row for each thing and number of days ahead."""

from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import delete, func, select

from gateway.storage.sql.column_types import Instant
from gateway.storage.sql.expiry.tables import expiry_notices
from gateway.storage.sql.transaction import Transaction, portions


class SqlExpiryNotices:
    """ExpiryNotices on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def last_at(self, realm_id: str) -> datetime | None:
        last = select(func.max(expiry_notices.c.noticed_at, type_=Instant)).where(
            expiry_notices.c.realm_id == realm_id
        )
        found: datetime | None = (await self._transaction.execute(last)).scalar_one()
        return found

    async def list(self, realm_id: str, ids: Collection[str]) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for some in portions(sorted(ids)):
            rows = (
                select(expiry_notices.c.id, func.min(expiry_notices.c.days).label("days"))
                .where(expiry_notices.c.realm_id == realm_id, expiry_notices.c.id.in_(some))
                .group_by(expiry_notices.c.id)
            )
            found |= dict(await self._transaction.read(rows, lambda row: (row.id, row.days)))
        return found

    async def add(
        self, realm_id: str, notices: Mapping[str, tuple[int, datetime]], now: datetime
    ) -> None:
        rows = [
            {
                "realm_id": realm_id,
                "id": identity,
                "days": days,
                "expires_at": expires_at,
                "noticed_at": now,
            }
            for identity, (days, expires_at) in sorted(notices.items())
        ]
        await self._transaction.insert_missing(expiry_notices, rows)

    async def purge(self, before: datetime) -> None:
        await self._transaction.execute(
            delete(expiry_notices).where(expiry_notices.c.expires_at < before)
        )
