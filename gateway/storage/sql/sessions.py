"""Offline sessions, families of refresh tokens, and initial access tokens in SQL.

Every change of an offline session changes its row first: a refresh that runs at the same time as
the end of a session either comes before it or finds no row, so it re-creates nothing. An offline
session outlives the browser and every restart. Keycloak: 3 (sessions), offline sessions.

The current token of a family is compared, set and on disk before the answer. `RefreshFamily.use`
decides which token is accepted. A token that was issued while the realm did not rotate has no
family: its first use begins one under its own id. The first use inserts the row atomically;
concurrent first uses find it. A family is read, and written only if it has not changed since: of
parallel uses one succeeds, and the others read it again. So no lock is held while a request waits.
Spec: RFC 9700 §4.14, RFC 7009 §2; Keycloak: 2.4 rotation; attacks: C9
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Dialect,
    Row,
    Select,
    and_,
    bindparam,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from gateway.domain.sessions import (
    ClientSession,
    ExpectedPart,
    RefreshFamily,
    Rotation,
    UserSession,
)
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.prepared_query import PreparedQuery, QueryExecutor
from gateway.storage.sql.schema import offline_client_sessions as parts
from gateway.storage.sql.schema import offline_sessions, refresh_families, revocations
from gateway.storage.sql.schema import offline_sessions as sessions
from gateway.storage.sql.transaction import (
    SqlRepository,
    has,
    insert_into,
    is_row,
    values_of,
)

_OWN = tuple(column.key for column in sessions.c if column.key != "expires_at")
_OF_PART = ("client", "started_at", "refreshed_at", "scope", "acr", "authenticated_at", "claims")


class SqlOfflineSessions(SqlRepository):
    """SessionStore on SQL; every session in it is an offline one."""

    async def add(self, session: UserSession, expires_at: datetime) -> None:
        values = values_of(session, _OWN) | {"expires_at": expires_at}
        await self._transaction.execute(insert(sessions), values, taken="Session exists")
        for part in session.clients.values():
            await self._put_part(session.realm_id, session.id, session.started_at, part)

    async def find_session(self, realm_id: str, session_id: str) -> UserSession | None:
        if not is_name(session_id):
            return None
        found = await self._all(realm_id, sessions.c.id == session_id)
        return found[0] if found else None

    async def join(
        self,
        realm_id: str,
        session_id: str,
        client: ClientSession,
        expires_at: datetime,
        *,
        expected: ExpectedPart | None = None,
    ) -> bool:
        if not is_name(session_id):
            return False
        if expected is not None:
            await self._lock_session(realm_id, session_id)
            if await self._part_start(realm_id, session_id, client.client) != expected.started_at:
                return False
        rows = await self._transaction.execute(
            update(sessions)
            .where(is_row(sessions, realm_id, session_id))
            .values(refreshed_at=client.refreshed_at, expires_at=expires_at)
            .returning(sessions.c.started_at)
        )
        started_at = rows.scalar_one_or_none()
        if started_at is None:
            return False
        await self._put_part(realm_id, session_id, started_at, client)
        return True

    async def refresh(
        self,
        realm_id: str,
        session_id: str,
        client: ClientSession,
        expires_at: datetime,
        *,
        expected: ExpectedPart | None = None,
    ) -> bool:
        if not is_name(session_id) or not await self._lock_session(realm_id, session_id):
            return False
        found = await self._part_start(realm_id, session_id, client.client)
        if found is None or (expected is not None and expected.started_at != found):
            return False
        return await self.join(realm_id, session_id, client, expires_at)

    async def leave(self, realm_id: str, session_id: str, client: str) -> None:
        if not is_name(session_id) or not await self._lock_session(realm_id, session_id):
            return
        key = {"realm_id": realm_id, "session_id": session_id}
        was_there = await self._transaction.delete_rows(parts, **key, client=client)
        others = select(parts.c.client).where(has(parts, **key)).limit(1)
        left = await self._transaction.execute(others)
        if was_there and left.first() is None:
            await self.end(realm_id, session_id)

    async def leave_all(self, realm_id: str, client: str) -> None:
        of_client = has(parts, realm_id=realm_id, client=client)
        another = parts.alias("another")
        others = select(another.c.session_id).where(
            another.c.realm_id == sessions.c.realm_id,
            another.c.session_id == sessions.c.id,
            another.c.client != client,
        )
        joined = sessions.c.id.in_(select(parts.c.session_id).where(of_client))
        await self._transaction.delete_rows(sessions, joined, ~others.exists(), realm_id=realm_id)
        await self._transaction.delete_rows(parts, of_client)

    async def end(self, realm_id: str, session_id: str) -> bool:
        return await self._transaction.remove_row(sessions, realm_id, session_id)

    async def end_of_user(self, realm_id: str, user_id: str) -> int:
        return await self._transaction.delete_rows(sessions, realm_id=realm_id, user_id=user_id)

    async def end_of_realm(self, realm_id: str) -> int:
        return await self._transaction.delete_rows(sessions, realm_id=realm_id)

    async def of_user(self, realm_id: str, user_id: str) -> tuple[UserSession, ...]:
        return await self._all(realm_id, sessions.c.user_id == user_id)

    async def of_client(
        self, realm_id: str, client: str, first: int, maximum: int
    ) -> tuple[UserSession, ...]:
        page = (
            select(parts.c.session_id)
            .where(parts.c.realm_id == realm_id, parts.c.client == client)
            .order_by(parts.c.session_started_at, parts.c.session_id)
            .offset(first)
            .limit(maximum)
        )
        return await self._all(realm_id, sessions.c.id.in_(page))

    async def count_of_client(self, realm_id: str, client: str) -> int:
        count = select(func.count()).select_from(parts)
        return await self._transaction.count_rows(
            count.where(has(parts, realm_id=realm_id, client=client))
        )

    async def counts_of_clients(self, realm_id: str, clients: Sequence[str]) -> Mapping[str, int]:
        wanted = frozenset(clients)
        rows = await self._transaction.execute(
            select(parts.c.client, func.count().label("sessions"))
            .where(parts.c.realm_id == realm_id)
            .group_by(parts.c.client)
        )
        return {row.client: row.sessions for row in rows if row.client in wanted}

    async def purge(self, before: datetime) -> int:
        return await self._transaction.delete_rows(sessions, sessions.c.expires_at < before)

    async def _lock_session(self, realm_id: str, session_id: str) -> bool:
        rows = await self._transaction.execute(
            select(sessions.c.id).where(is_row(sessions, realm_id, session_id)).with_for_update()
        )
        return rows.first() is not None

    async def _part_start(self, realm_id: str, session_id: str, client: str) -> datetime | None:
        """Return the start of the client's part; None without one."""
        part = has(parts, realm_id=realm_id, session_id=session_id, client=client)
        rows = await self._transaction.execute(select(parts.c.started_at).where(part))
        started_at: datetime | None = rows.scalar_one_or_none()
        return started_at

    async def _put_part(
        self, realm_id: str, session_id: str, started_at: datetime, part: ClientSession
    ) -> None:
        own = {"realm_id": realm_id, "session_id": session_id, "session_started_at": started_at}
        key = ("realm_id", "session_id", "client")
        await self._transaction.put_row(
            parts, own | values_of(part, _OF_PART), key, changed=_OF_PART
        )

    async def _all(self, realm_id: str, condition: ColumnElement[bool]) -> tuple[UserSession, ...]:
        wanted = and_(sessions.c.realm_id == realm_id, condition)
        rows = await self._transaction.execute(
            select(sessions).where(wanted).order_by(sessions.c.started_at, sessions.c.id)
        )
        clients = await self._parts(realm_id, wanted)
        return tuple(_session(row, clients[row.id]) for row in rows)

    async def _parts(
        self, realm_id: str, wanted: ColumnElement[bool]
    ) -> defaultdict[str, dict[str, ClientSession]]:
        found: defaultdict[str, dict[str, ClientSession]] = defaultdict(dict)
        rows = await self._transaction.execute(
            select(parts)
            .where(
                parts.c.realm_id == realm_id,
                parts.c.session_id.in_(select(sessions.c.id).where(wanted)),
            )
            .order_by(parts.c.started_at, parts.c.client)
        )
        for row in rows:
            found[row.session_id][row.client] = ClientSession(**values_of(row, _OF_PART))
        return found


def _session(row: Row[Any], clients: dict[str, ClientSession]) -> UserSession:
    return UserSession(**values_of(row, _OWN), offline=True, clients=clients)


_COLUMNS: Final = ("token_id", "uses", "successors", "expires_at", "ended")
_INSERTED: Final = ("realm_id", "family", "session_id", *_COLUMNS)


class SqlRotations:
    """Rotations by prepared queries; `writer` commits durably."""

    def __init__(self, reader: QueryExecutor, writer: QueryExecutor, dialect: Dialect) -> None:
        self._reader = reader
        self._writer = writer
        self._find = PreparedQuery(_find_family(), dialect)
        self._exchange = PreparedQuery(_exchange(), dialect)
        self._begin = PreparedQuery(_begin_family(dialect), dialect)

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
        return RefreshFamily(*self._find.parse_row(rows[0])) if rows else None

    async def _exchanged(
        self, realm_id: str, family: str, was: RefreshFamily, new: RefreshFamily
    ) -> bool:
        """Write the family unless it has changed; return whether it was written."""
        given = _prefixed("was", was) | _prefixed("new", new)
        arguments = self._exchange.arguments(in_realm=realm_id, named=family, **given)
        return bool(await self._writer.execute(self._exchange, arguments))


def _prefixed(prefix: str, family: RefreshFamily) -> dict[str, Any]:
    return {f"{prefix}_{name}": getattr(family, name) for name in _COLUMNS}


def _find_family() -> Select[Any]:
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


def _begin_family(dialect: Dialect) -> ReturningInsert[Any]:
    table = refresh_families
    return (
        insert_into(table, dialect.name)
        .values({name: bindparam(name, type_=table.c[name].type) for name in _INSERTED})
        .on_conflict_do_nothing()
        .returning(table.c.family)
    )


class SqlRefreshTokens(SqlRepository):
    """RefreshTokenRepository on SQL."""

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
        return await self._transaction.delete_rows(
            refresh_families, families.expires_at < before, ~session.exists()
        )


class SqlRevocations(SqlRepository):
    """RevocationRepository on SQL."""

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
        return await self._transaction.delete_rows(revocations, revocations.c.expires_at < before)
