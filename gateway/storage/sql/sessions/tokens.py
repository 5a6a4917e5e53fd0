"""Families of refresh tokens, which `rotations` uses, and revoked tokens, which `lookups` find.

Spec: RFC 9700 §4.14, RFC 7009 §2; Keycloak: 2.4
"""

from datetime import datetime

from sqlalchemy import delete, insert, select, update

from gateway.storage.sql.schema import offline_sessions, refresh_families, revocations
from gateway.storage.sql.transaction import Transaction, insert_into


class SqlRefreshTokens:
    """RefreshTokenRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def begin(
        self, realm_id: str, family: str, *, session_id: str, token_id: str, expires_at: datetime
    ) -> None:
        values = {
            "realm_id": realm_id,
            "family": family,
            "session_id": session_id,
            "token_id": token_id,
            "uses": 0,
            "successors": (),
            "expires_at": expires_at,
            "ended": False,
        }
        await self._transaction.execute(
            insert(refresh_families), values, taken="Family of refresh tokens exists"
        )

    async def end_of_session(self, realm_id: str, session_id: str) -> int:
        return await self._transaction.count_changed(
            update(refresh_families)
            .where(
                refresh_families.c.realm_id == realm_id,
                refresh_families.c.session_id == session_id,
                refresh_families.c.ended.is_(False),
            )
            .values(ended=True, successors=())
        )

    async def purge(self, before: datetime) -> int:
        """Remove families that expired before the instant; return how many.

        Those of an offline session stay as long as it does: a token without a family that does not
        expire would begin its family again, and so could be used again.
        """
        families = refresh_families.c
        session = select(offline_sessions.c.id).where(
            offline_sessions.c.realm_id == families.realm_id,
            offline_sessions.c.id == families.session_id,
        )
        return await self._transaction.count_changed(
            delete(refresh_families).where(families.expires_at < before, ~session.exists())
        )


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
        return await self._transaction.count_changed(
            delete(revocations).where(revocations.c.expires_at < before)
        )
