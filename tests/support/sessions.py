"""Sessions for tests, and both kinds of store for them behind one fixture."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from gateway.domain.ports.sessions import SessionStore
from gateway.domain.secrets import SecretsAtRest
from gateway.domain.sessions import ClientSession, UserSession
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.sessions import RedisSessions
from gateway.storage.sql.database import SqlDatabase
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, client, store_realms, user
from tests.support.timed_scripts import scripts_at

LATER = NOW + timedelta(minutes=30)


def part(client: str = "device", at: datetime = NOW, scope: str = "openid") -> ClientSession:
    return ClientSession(f"{client}-uuid", started_at=at, refreshed_at=at, scope=scope)


def session(name: str = "one", *clients: str, of: str = "demo", **fields: object) -> UserSession:
    given = {
        "id": f"{name}-session",
        "realm_id": f"{of}-id",
        "user_id": "alice-uuid",
        "username": "alice",
        "ip_address": "192.0.2.1",
        "started_at": NOW,
        "refreshed_at": NOW,
        "clients": {f"{client}-uuid": part(client) for client in clients},
    }
    return UserSession(**(given | fields))  # type: ignore[arg-type] # any field may be set


@dataclass(frozen=True, slots=True)
class SessionStorage:
    """A store of sessions: offline ones stand in transactions, so it is opened for each step."""

    open: Callable[[], AbstractAsyncContextManager[SessionStore]]
    offline: bool

    def session(self, name: str = "one", *clients: str, **fields: object) -> UserSession:
        """Return a session of the kind that the store keeps."""
        return session(name, *clients, **{"offline": self.offline, **fields})  # type: ignore[arg-type] # any field may be set


@pytest.fixture(params=["redis", "sqlite", "postgresql"])
def session_place(request: pytest.FixtureRequest) -> RedisServer | StoredDatabase:
    """Return an empty server of each kind in turn."""
    names = {"redis": "redis_server", "sqlite": "sqlite_database"}
    found: RedisServer | StoredDatabase = request.getfixturevalue(
        names.get(request.param, "postgres_database")
    )
    return found


@pytest.fixture
async def storage(
    session_place: RedisServer | StoredDatabase, secrets_at_rest: SecretsAtRest
) -> AsyncIterator[SessionStorage]:
    """Return each store in turn, with realms, users and clients that sessions may name."""
    if isinstance(session_place, RedisServer):
        connection = create_client(session_place.url)
        clock = SetClock(NOW)
        online = RedisSessions(connection, clock, scripts_at(clock))

        @asynccontextmanager
        async def open_online() -> AsyncIterator[SessionStore]:
            yield online

        yield SessionStorage(open_online, offline=False)
        await connection.aclose()
    else:
        database = SqlDatabase(session_place.url, secrets_at_rest)
        await store_owners(database)

        @asynccontextmanager
        async def open_offline() -> AsyncIterator[SessionStore]:
            async with database.write() as stores:
                yield stores.offline_sessions

        yield SessionStorage(open_offline, offline=True)
        await database.dispose()


async def store_owners(database: SqlDatabase) -> None:
    """Store two realms with the same users and clients."""
    await store_realms(database, "demo", "other")
    async with database.write() as stores:
        for realm in ("demo", "other"):
            for name in ("alice", "bob"):
                await stores.users.add(user(name, of=realm))
            for name in ("device", "browser"):
                await stores.clients.add(client(name, of=realm))
