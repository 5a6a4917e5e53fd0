"""What the account console reads: as the repositories say it, in one statement or in none."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import pytest

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.accounts.applications import AccountApplications
from gateway.accounts.credentials import AccountCredentials
from gateway.accounts.sessions import AccountSessions
from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.profile_updates import EmailUpdates
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.client_scopes import Consent
from gateway.domain.ports.lookups import RealmEntry, UserEntry, UserGrants
from gateway.domain.roles import EffectiveRoles
from gateway.domain.secrets import SecretsAtRest
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.sessions import Sessions
from gateway.storage.cache import RealmCache
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.sessions import RedisSessions
from gateway.storage.sql.database import SqlDatabase
from tests.support.password_logins import RememberedTopics
from tests.support.redis_server import RedisServer
from tests.support.sessions import LATER, part, session, store_owners
from tests.support.set_clock import SetClock
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, client, credential, realm, user
from tests.support.timed_scripts import scripts_at

CONSENT: Final = Consent(
    "demo-id", "alice-uuid", "device-uuid", ("email", "profile"), NOW, NOW + timedelta(1)
)
LISTED: Final = {"alwaysDisplayInConsole": True}
STRANGE: Final = ("", "nobody", "device\0", "\ud800", "x" * 256)


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    """Return a database with two users, a consent and offline sessions of one of them."""
    await store_owners(database)
    async with database.write() as stores:
        await stores.consents.put_consent(CONSENT)
        for name, clients in (("one", ("device", "browser")), ("two", ("device",))):
            await stores.offline_sessions.add(session(name, *clients, offline=True), LATER)
        await stores.offline_sessions.add(
            session("other", "device", of="other", offline=True), LATER
        )
    return database


async def test_grants_are_consents_and_clients_of_offline_sessions(
    stored: SqlDatabase,
) -> None:
    clients = frozenset({"device-uuid", "browser-uuid"})
    assert await stored.lookups.grants("demo-id", "alice-uuid") == UserGrants((CONSENT,), clients)
    theirs = UserGrants((), frozenset({"device-uuid"}))
    assert await stored.lookups.grants("other-id", "alice-uuid") == theirs
    for name in ("bob-uuid", *STRANGE):
        assert await stored.lookups.grants("demo-id", name) == UserGrants()


async def test_credentials_come_as_the_repository_tells(stored: SqlDatabase) -> None:
    held = (
        credential(priority=7),
        credential(type="otp", created_at=NOW + timedelta(1), label="Phone"),
        credential(type="otp", id="first"),
    )
    async with stored.write() as stores:
        for one in (*held, credential(user_id="bob-uuid")):
            await stores.users.set_credential("demo-id", one)
        expected = await stores.users.credentials("demo-id", "alice-uuid")
    assert await stored.lookups.credentials("demo-id", "alice-uuid") == expected
    assert [one.id for one in expected] == [held[0].id, "first", held[1].id]
    for name in ("alice-uuid", *STRANGE):
        assert await stored.lookups.credentials("other-id", name) == ()


async def test_a_client_is_named_by_its_id_in_its_realm(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.clients.add(client("own", id="id-of-own"))
    assert await stored.lookups.client_name("demo-id", "id-of-own") == "own"
    assert await stored.lookups.client_name("other-id", "id-of-own") is None
    for name in ("own", *STRANGE):
        assert await stored.lookups.client_name("demo-id", name) is None


async def test_clients_that_are_always_listed_are_found_in_their_realm(
    stored: SqlDatabase,
) -> None:
    quoted = {"description": '"alwaysDisplayInConsole":true'}
    async with stored.write() as stores:
        for name, document in (("shown", LISTED), ("another", LISTED), ("quoted", quoted)):
            await stores.clients.add(client(name, document=document))
        await stores.clients.add(client("theirs", of="other", document=LISTED))
    assert sorted(await stored.lookups.always_listed("demo-id")) == ["another", "shown"]
    assert await stored.lookups.always_listed("none") == ()


@dataclass(frozen=True, slots=True)
class Accounts:
    """The use cases over real stores, and the statements that the database got."""

    applications: AccountApplications
    sessions: AccountSessions
    credentials: AccountCredentials
    statements: list[str]
    caller: AccountCaller


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the database reads from now on."""
    found: list[str] = []
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def traced(*given: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*given, **named)
        connection.set_trace_callback(note)
        return connection

    def note(statement: str) -> None:
        if statement.startswith(("SELECT", "WITH")):
            found.append(statement)

    monkeypatch.setattr(sqlite3, "connect", traced)
    return found


@pytest.fixture
async def accounts(
    sqlite_database: StoredDatabase,
    secrets_at_rest: SecretsAtRest,
    redis_server: RedisServer,
    statements: list[str],
) -> AsyncIterator[Accounts]:
    """Return them for a user with many sessions, in a realm with many applications."""
    database = SqlDatabase(sqlite_database.url, secrets_at_rest)
    await store_owners(database)
    clock = SetClock(NOW)
    redis = create_client(redis_server.url)
    online = RedisSessions(redis, clock, scripts_at(clock))
    async with database.write() as stores:
        await stores.users.set_credential("demo-id", credential())
        for number in range(5):
            await stores.clients.add(client(f"listed-{number}", document=LISTED))
    for name in ("one", "two", "three"):
        await online.add(session(name, "device", "browser"), LATER)
    topics = RememberedTopics()
    directory = RealmCache(database.lookups, PyJwtKeyFactory(), clock, topics)
    updates = AccountUpdates(database, topics, clock)
    ended = Sessions(online, database, EmailUpdates(updates))
    sessions = AccountSessions(directory, online, ended)
    yield Accounts(
        AccountApplications(database, directory, sessions),
        sessions,
        AccountCredentials(database, updates),
        statements,
        _caller(),
    )
    await redis.aclose()
    await database.dispose()


def _caller() -> AccountCaller:
    request = ProtocolRequest(
        realm=RealmEntry(realm("demo"), PyJwtKeyFactory().ring(())),
        issuer="https://gateway.test/realms/demo",
        parameters=Parameters(),
        authorization=None,
        certificate=None,
        remote_address="192.0.2.1",
        secure=True,
        now=NOW,
    )
    return AccountCaller(request, UserEntry(user(), EffectiveRoles()), frozenset(AccountRole))


async def test_applications_take_one_statement(accounts: Accounts) -> None:
    names = ["browser", "device", *(f"listed-{number}" for number in range(5))]
    for _ in range(2):
        accounts.statements.clear()
        found = await accounts.applications.list_applications(accounts.caller)
        assert [one.client.client_id for one in found] == names
    assert len(accounts.statements) == 1, accounts.statements


async def test_sessions_and_devices_take_no_statement(accounts: Accounts) -> None:
    for _ in range(2):
        accounts.statements.clear()
        (device,) = await accounts.sessions.devices(accounts.caller)
        shown = [[one.client_id for one in each.clients] for each in device.sessions]
        assert shown == [["browser", "device"]] * 3
    assert accounts.statements == []


async def test_credentials_take_one_statement(accounts: Accounts) -> None:
    for _ in range(2):
        accounts.statements.clear()
        held = [
            one
            for one in await accounts.credentials.list_credentials(accounts.caller)
            if one.credentials
        ]
        assert [one.kind.type for one in held] == ["password"]
    assert len(accounts.statements) == 1, accounts.statements


async def test_a_client_that_was_removed_is_left_out_of_a_session(accounts: Accounts) -> None:
    online = accounts.sessions._online
    await online.join("demo-id", "one-session", part("removed"), LATER)
    found = {one.session.id: one for one in await accounts.sessions.list_sessions(accounts.caller)}
    assert "removed-uuid" in found["one-session"].session.clients
    assert [one.client_id for one in found["one-session"].clients] == ["browser", "device"]
