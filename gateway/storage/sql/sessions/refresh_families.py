"""The current token of a family of refresh tokens: compared, set and on disk before the answer.

Which token is accepted is decided by `RefreshFamily.use`.

A token that was issued while the realm did not rotate has no family: its first use begins one under
its own id. The row is inserted with that use in it, so of parallel first uses one inserts it and
the others find it.

A family is read, and written only if it has not changed since: of parallel uses one succeeds, and
the others read it again. So no lock is held while a request waits.
Spec: RFC 9700 §4.14; Keycloak: 2.4; attacks: C9
"""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Dialect, Select, bindparam, select, update
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from gateway.domain.sessions import RefreshFamily, Rotation
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.prepared_query import PreparedQuery, QueryExecutor
from gateway.storage.sql.schema import refresh_families
from gateway.storage.sql.transaction import insert_into

_COLUMNS: Final = ("token_id", "uses", "successors", "expires_at", "ended")
_INSERTED: Final = ("realm_id", "family", "session_id", *_COLUMNS)


class SqlRotations:
    """Rotations by prepared queries; `writer` commits durably."""

    def __init__(self, reader: QueryExecutor, writer: QueryExecutor, dialect: Dialect) -> None:
        self._reader = reader
        self._writer = writer
        self._find = PreparedQuery(_find(), dialect)
        self._exchange = PreparedQuery(_exchange(), dialect)
        self._begin = PreparedQuery(_begin(dialect), dialect)

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
        while True:
            known = await self._lasting(realm_id, family)
            if known is None:
                return Rotation.STALE
            rotation, after = known.use(token_id, successor, max_reuse)
            if rotation is Rotation.ACCEPTED:
                # The later of both: an issued token may still come.
                after = replace(after, expires_at=max(expires_at, known.expires_at))
            if await self._exchanged(realm_id, family, known, after):
                return rotation

    async def rotate_without_family(
        self,
        realm_id: str,
        token_id: str,
        *,
        session_id: str,
        successor: str,
        max_reuse: int,
        expires_at: datetime,
    ) -> Rotation:
        if not is_name(token_id):
            return Rotation.STALE
        values = {
            "realm_id": realm_id,
            "family": token_id,
            "session_id": session_id,
            "token_id": token_id,
            "uses": 1,
            "successors": (successor,),
            "expires_at": expires_at,
            "ended": False,
        }
        if await self._writer.execute(self._begin, self._begin.arguments(**values)):
            return Rotation.ACCEPTED
        return await self.rotate(
            realm_id,
            token_id,
            token_id,
            successor=successor,
            max_reuse=max_reuse,
            expires_at=expires_at,
        )

    async def is_next(self, realm_id: str, family: str, token_id: str, *, max_reuse: int) -> bool:
        known = await self._lasting(realm_id, family)
        return known is not None and known.use(token_id, "", max_reuse)[0] is Rotation.ACCEPTED

    async def is_next_without_family(self, realm_id: str, token_id: str, *, max_reuse: int) -> bool:
        known = await self._known(realm_id, token_id)
        if known is None:
            return is_name(token_id)
        return not known.ended and known.use(token_id, "", max_reuse)[0] is Rotation.ACCEPTED

    async def _lasting(self, realm_id: str, family: str) -> RefreshFamily | None:
        """Return the family unless it has ended."""
        known = await self._known(realm_id, family)
        return None if known is None or known.ended else known

    async def _known(self, realm_id: str, family: str) -> RefreshFamily | None:
        if not is_name(family):
            return None
        arguments = self._find.arguments(in_realm=realm_id, named=family)
        rows = await self._reader.execute(self._find, arguments)
        return RefreshFamily(*self._find.read(rows[0])) if rows else None

    async def _exchanged(
        self, realm_id: str, family: str, was: RefreshFamily, new: RefreshFamily
    ) -> bool:
        """Write the family unless it has changed; return whether it was written."""
        given = _prefixed("was", was) | _prefixed("new", new)
        arguments = self._exchange.arguments(in_realm=realm_id, named=family, **given)
        return bool(await self._writer.execute(self._exchange, arguments))


def _prefixed(prefix: str, family: RefreshFamily) -> dict[str, Any]:
    return {f"{prefix}_{name}": getattr(family, name) for name in _COLUMNS}


def _find() -> Select[Any]:
    table = refresh_families.c
    return select(*(table[name] for name in _COLUMNS)).where(
        table.realm_id == bindparam("in_realm"), table.family == bindparam("named")
    )


def _exchange() -> ReturningUpdate[Any]:
    table = refresh_families.c
    return (
        update(refresh_families)
        .where(
            table.realm_id == bindparam("in_realm"),
            table.family == bindparam("named"),
            *(table[name] == bindparam(f"was_{name}", type_=table[name].type) for name in _COLUMNS),
        )
        .values({name: bindparam(f"new_{name}", type_=table[name].type) for name in _COLUMNS})
        .returning(table.family)
    )


def _begin(dialect: Dialect) -> ReturningInsert[Any]:
    table = refresh_families
    return (
        insert_into(table, dialect.name)
        .values({name: bindparam(name, type_=table.c[name].type) for name in _INSERTED})
        .on_conflict_do_nothing()
        .returning(table.c.family)
    )
