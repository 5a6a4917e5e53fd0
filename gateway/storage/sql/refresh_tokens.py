"""Families of refresh tokens: whose turn it is, decided under a lock and written before the answer.

A token is accepted when it is its turn, or when it is a successor of the one whose turn it was.
The former may come again as often as the realm allows reuse, for an answer may have been lost on
its way. Anything else ends the family, and what has ended stays ended.

Leave the transaction normally after REUSED and STALE: an exception would take the end back.
Spec: RFC 9700 §4.14; Keycloak: 2.4; attacks: C9
"""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, and_, delete, insert, select, update

from gateway.domain.refresh_tokens import Rotation
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import refresh_families
from gateway.storage.sql.transaction import Transaction

_MOST_SUCCESSORS: Final = 1000
"""The youngest are remembered; only a realm that allows endless reuse comes this far."""


class SqlRefreshTokens:
    """RefreshTokenRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def begin(
        self, realm_id: str, family: str, *, session_id: str, token_id: str, expires_at: datetime
    ) -> None:
        """Keep a new family whose first token is `token_id`; raises AlreadyExists."""
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

    async def rotate(
        self,
        realm_id: str,
        family: str,
        token_id: str,
        *,
        successor: str,
        max_reuse: int,
        expires_at: datetime,
    ) -> Rotation:
        """Use a token: accept it and remember its successor, or end the family."""
        known = await self._locked(realm_id, family)
        if known is None or known.ended:
            return Rotation.STALE
        rotation, changes = _used(known, token_id, successor, max_reuse)
        if rotation is Rotation.ACCEPTED:
            # The later of both: a token that was given out may still come.
            changes["expires_at"] = max(expires_at, known.expires_at)
        await self._transaction.change(
            update(refresh_families).where(_is(realm_id, family)).values(changes)
        )
        return rotation

    async def is_next(self, realm_id: str, family: str, token_id: str, *, max_reuse: int) -> bool:
        """Tell whether `rotate` would accept the token; nothing changes."""
        if not is_name(family):
            return False
        rows = await self._transaction.execute(
            select(refresh_families).where(_is(realm_id, family))
        )
        known = rows.first()
        if known is None or known.ended:
            return False
        return _used(known, token_id, "", max_reuse)[0] is Rotation.ACCEPTED

    async def end_of_session(self, realm_id: str, session_id: str) -> int:
        """End the families of a session; return how many."""
        result = await self._transaction.execute(
            update(refresh_families)
            .where(
                refresh_families.c.realm_id == realm_id,
                refresh_families.c.session_id == session_id,
                refresh_families.c.ended.is_(False),
            )
            .values(_ENDED)
        )
        return result.rowcount

    async def purge(self, before: datetime) -> int:
        """Forget families that expired before the instant; return how many."""
        result = await self._transaction.execute(
            delete(refresh_families).where(refresh_families.c.expires_at < before)
        )
        return result.rowcount

    async def _locked(self, realm_id: str, family: str) -> Row[Any] | None:
        """Return the family, kept from others until the transaction ends."""
        if not is_name(family):
            return None
        # SQLite has no such lock and needs none: a transaction that may write is alone.
        rows = await self._transaction.execute(
            select(refresh_families).where(_is(realm_id, family)).with_for_update()
        )
        return rows.first()


_ENDED: Final[dict[str, Any]] = {"ended": True, "successors": ()}


def _is(realm_id: str, family: str) -> ColumnElement[bool]:
    return and_(refresh_families.c.realm_id == realm_id, refresh_families.c.family == family)


def _used(
    known: Row[Any], token_id: str, successor: str, max_reuse: int
) -> tuple[Rotation, dict[str, Any]]:
    """Return the answer to the token, and what it changes in its family."""
    if token_id == known.token_id:
        if known.uses > max_reuse:
            return Rotation.REUSED, dict(_ENDED)
        successors = (*known.successors, successor)[-_MOST_SUCCESSORS:]
        return Rotation.ACCEPTED, {"uses": known.uses + 1, "successors": successors}
    if token_id in known.successors:
        return Rotation.ACCEPTED, {"token_id": token_id, "uses": 1, "successors": (successor,)}
    return Rotation.STALE, dict(_ENDED)
