"""Revoked tokens, remembered until they would have expired; looked up by `lookups`.

Spec: RFC 7009 §2
"""

from datetime import datetime

from sqlalchemy import delete

from gateway.storage.sql.schema import revocations
from gateway.storage.sql.transaction import Transaction, insert_into


class SqlRevocations:
    """RevocationRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def revoke(self, realm_id: str, token_id: str, expires_at: datetime) -> None:
        statement = insert_into(revocations, self._transaction.dialect)
        later = statement.on_conflict_do_update(
            index_elements=["realm_id", "token_id"],
            set_={"expires_at": statement.excluded.expires_at},
            where=revocations.c.expires_at < statement.excluded.expires_at,
        )
        await self._transaction.execute(
            later, {"realm_id": realm_id, "token_id": token_id, "expires_at": expires_at}
        )

    async def purge(self, before: datetime) -> int:
        return await self._transaction.count(
            delete(revocations).where(revocations.c.expires_at < before)
        )
