"""Offline sessions: they outlive the browser, and every restart. Keycloak: 3, offline sessions.

Every change of a session changes its row first: a refresh that runs at the same time as the end of
a session either comes before it or finds no row, so it re-creates nothing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, delete, func, insert, select, update

from gateway.domain.sessions import ClientSession, UserSession
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import offline_client_sessions as parts
from gateway.storage.sql.schema import offline_sessions as sessions
from gateway.storage.sql.transaction import Transaction, insert_into, is_row

_OWN = tuple(column.key for column in sessions.c if column.key != "expires_at")
_OF_PART = ("client", "started_at", "refreshed_at", "scope", "acr", "authenticated_at", "claims")


class SqlOfflineSessions:
    """SessionStore on SQL; every session in it is an offline one."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def add(self, session: UserSession, expires_at: datetime) -> None:
        values = {field: getattr(session, field) for field in _OWN} | {"expires_at": expires_at}
        await self._transaction.execute(insert(sessions), values, taken="Session exists")
        for part in session.clients.values():
            await self._put(session.realm_id, session.id, session.started_at, part)

    async def find(self, realm_id: str, session_id: str) -> UserSession | None:
        if not is_name(session_id):
            return None
        found = await self._all(realm_id, sessions.c.id == session_id)
        return found[0] if found else None

    async def join(
        self, realm_id: str, session_id: str, client: ClientSession, expires_at: datetime
    ) -> bool:
        if not is_name(session_id):
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
        await self._put(realm_id, session_id, started_at, client)
        return True

    async def refresh(
        self, realm_id: str, session_id: str, client: ClientSession, expires_at: datetime
    ) -> bool:
        if not is_name(session_id) or not await self._lock(realm_id, session_id):
            return False
        part = select(parts.c.client).where(
            _of_session(realm_id, session_id), parts.c.client == client.client
        )
        found = (await self._transaction.execute(part)).first()
        return found is not None and await self.join(realm_id, session_id, client, expires_at)

    async def leave(self, realm_id: str, session_id: str, client: str) -> None:
        if not is_name(session_id) or not await self._lock(realm_id, session_id):
            return
        of_session = _of_session(realm_id, session_id)
        removed = delete(parts).where(of_session, parts.c.client == client)
        was_there = await self._transaction.count_changed(removed)
        left = await self._transaction.execute(select(parts.c.client).where(of_session).limit(1))
        if was_there and left.first() is None:
            await self.end(realm_id, session_id)

    async def leave_all(self, realm_id: str, client: str) -> None:
        of_client = and_(parts.c.realm_id == realm_id, parts.c.client == client)
        another = parts.alias("another")
        others = select(another.c.session_id).where(
            another.c.realm_id == sessions.c.realm_id,
            another.c.session_id == sessions.c.id,
            another.c.client != client,
        )
        joined = sessions.c.id.in_(select(parts.c.session_id).where(of_client))
        await self._end_all(and_(sessions.c.realm_id == realm_id, joined, ~others.exists()))
        await self._transaction.execute(delete(parts).where(of_client))

    async def end(self, realm_id: str, session_id: str) -> bool:
        return await self._transaction.remove(sessions, realm_id, session_id)

    async def end_of_user(self, realm_id: str, user_id: str) -> int:
        of_user = and_(sessions.c.realm_id == realm_id, sessions.c.user_id == user_id)
        return await self._end_all(of_user)

    async def end_of_realm(self, realm_id: str) -> int:
        return await self._end_all(sessions.c.realm_id == realm_id)

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
        rows = await self._transaction.execute(
            select(func.count())
            .select_from(parts)
            .where(parts.c.realm_id == realm_id, parts.c.client == client)
        )
        return int(rows.scalar_one())

    async def counts_of_clients(self, realm_id: str, clients: Sequence[str]) -> Mapping[str, int]:
        wanted = frozenset(clients)
        rows = await self._transaction.execute(
            select(parts.c.client, func.count().label("sessions"))
            .where(parts.c.realm_id == realm_id)
            .group_by(parts.c.client)
        )
        return {row.client: row.sessions for row in rows if row.client in wanted}

    async def purge(self, before: datetime) -> int:
        return await self._end_all(sessions.c.expires_at < before)

    async def _end_all(self, condition: ColumnElement[bool]) -> int:
        return await self._transaction.count_changed(delete(sessions).where(condition))

    async def _lock(self, realm_id: str, session_id: str) -> bool:
        rows = await self._transaction.execute(
            select(sessions.c.id).where(is_row(sessions, realm_id, session_id)).with_for_update()
        )
        return rows.first() is not None

    async def _put(
        self, realm_id: str, session_id: str, started_at: datetime, part: ClientSession
    ) -> None:
        key = {"realm_id": realm_id, "session_id": session_id, "session_started_at": started_at}
        values = {field: getattr(part, field) for field in _OF_PART}
        await self._transaction.execute(
            insert_into(parts, self._transaction.dialect)
            .values(key | values)
            .on_conflict_do_update(index_elements=["realm_id", "session_id", "client"], set_=values)
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
            part = ClientSession(**{field: getattr(row, field) for field in _OF_PART})
            found[row.session_id][row.client] = part
        return found


def _of_session(realm_id: str, session_id: str) -> ColumnElement[bool]:
    return and_(parts.c.realm_id == realm_id, parts.c.session_id == session_id)


def _session(row: Row[Any], clients: dict[str, ClientSession]) -> UserSession:
    own = {field: getattr(row, field) for field in _OWN}
    return UserSession(**own, offline=True, clients=clients)
