"""Very many events in a realm, by one statement for each kind, and the questions asked of them.

They follow each other second by second. Nine in ten are alike: of frequent types, of a hundred
clients, of users and addresses that each come back a hundred times; some are rare: one in 5,000.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

import asyncpg  # type: ignore[import-untyped] # asyncpg ships no types

from bench.processes import BenchError
from gateway.bootstrap import open_services
from gateway.domain.events import AdminEventQuery, EventPage, Period, UserEventQuery
from gateway.domain.ports.storage import Stores
from gateway.settings import load_settings

FEW, MANY = "few-events", "many-events"
"""The realms: questions go to them in turn."""
_BEGUN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_BEGUN_MICROSECONDS: Final = 1_767_225_600_000_000
_RARE: Final = 5_000

# Put together of what stands in this file alone.
_USER_EVENTS: Final = """
INSERT INTO user_events (realm_id, id, time, type, client_id, user_id, session_id, ip_address,
    error, details)
SELECT '{realm}', {wide} || '-user-event', {begun} + {wide} * 1000000,
    CASE WHEN n % {rare} = 0 THEN 'UPDATE_PASSWORD' WHEN n % 10 = 0 THEN 'LOGIN_ERROR'
        WHEN n % 3 = 0 THEN 'CLIENT_LOGIN' ELSE 'LOGIN' END,
    CASE WHEN n % {rare} = 1 THEN 'rare' ELSE 'client-' || (n % 97) END,
    'user-' || (n % {distinct}), NULL, '192.0.2.' || (n % {distinct}), NULL,
    '{{"username":"somebody","grant_type":"password"}}'
FROM {numbers}
"""
_ADMIN_EVENTS: Final = """
INSERT INTO admin_events (realm_id, id, time, operation_type, resource_type, resource_path,
    auth_realm_id, auth_client, auth_user_id, ip_address, representation, error, details)
SELECT '{realm}', {wide} || '-admin-event', {begun} + {wide} * 1000000,
    CASE WHEN n % {rare} = 0 THEN 'DELETE' WHEN n % 2 = 0 THEN 'CREATE' ELSE 'UPDATE' END,
    CASE WHEN n % {rare} = 1 THEN 'CLIENT' ELSE 'USER' END,
    CASE WHEN n % {rare} = 1 THEN 'clients/' ELSE 'users/' END || n,
    CASE WHEN n % {rare} = 2 THEN 'own' ELSE 'master' END,
    CASE WHEN n % {rare} = 3 THEN 'console' ELSE 'cli' END,
    'admin-' || (n % {distinct}), '192.0.2.' || (n % 97), '{{"username":"somebody"}}', NULL, '{{}}'
FROM {numbers}
"""
_STATEMENTS: Final = {"user_events": _USER_EVENTS, "admin_events": _ADMIN_EVENTS}
_NUMBERS: Final = (
    "(WITH RECURSIVE counted(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n < {last})"
    " SELECT n FROM counted)"
)

Question = Callable[[Stores, str, int, int], Awaitable[object]]
"""Asks of a realm with so many events something that depends on a number below that."""


def _users(least: int = 1, **query: Any) -> Question:
    async def ask(stores: Stores, realm: str, count: int, number: int) -> object:
        asked = UserEventQuery(**_with(query, count, number))
        return _enough(least, asked, await stores.user_events.page(realm, asked, EventPage()))

    return ask


def _admins(least: int = 1, **query: Any) -> Question:
    async def ask(stores: Stores, realm: str, count: int, number: int) -> object:
        asked = AdminEventQuery(**_with(query, count, number))
        return _enough(least, asked, await stores.admin_events.page(realm, asked, EventPage()))

    return ask


def _with(query: Mapping[str, Any], count: int, number: int) -> dict[str, Any]:
    """Return the query about one of those that there are."""
    one = number % (count // 100)
    return {
        name: value.format(one=one, number=number)
        if isinstance(value, str)
        else value(count)
        if callable(value)
        else value
        for name, value in query.items()
    }


def _enough(least: int, asked: object, found: tuple[object, ...]) -> object:
    if len(found) < least:
        raise BenchError(f"{asked}: {len(found)} events")
    return found


def _long_ago(count: int) -> Period:
    """Return a quarter of an hour in the middle of all."""
    since = _BEGUN + timedelta(seconds=count // 2)
    return Period(since, since + timedelta(minutes=15))


_PAGE: Final = 100
FLAT: Final[Mapping[str, Question]] = {
    "the newest 100": _users(_PAGE),
    "of a time": _users(_PAGE, period=_long_ago),
    "of a type that is frequent": _users(_PAGE, names=("LOGIN_ERROR",)),
    "of a type that is rare": _users(names=("UPDATE_PASSWORD",)),
    "of three types": _users(_PAGE, names=("UPDATE_PASSWORD", "LOGIN", "LOGIN_ERROR")),
    "of a client": _users(_PAGE, client_id="client-7"),
    "of a client that is rare": _users(client_id="rare"),
    "of a user": _users(user_id="user-{one}"),
    "of an address": _users(ip_address="192.0.2.{one}"),
    "of a client that is frequent, at a time": _users(client_id="client-7", period=_long_ago),
    "of a type and a user": _users(
        names=("LOGIN", "CLIENT_LOGIN", "LOGIN_ERROR"), user_id="user-{one}"
    ),
    "of a type and a client": _users(_PAGE, names=("LOGIN_ERROR",), client_id="client-7"),
    "of type, client and address that never meet": _users(
        0, names=("LOGIN",), client_id="rare", ip_address="192.0.2.{one}"
    ),
    "of administrators: the newest 100": _admins(_PAGE),
    "of administrators: of an operation": _admins(_PAGE, operations=("CREATE",)),
    "of administrators: of a rare operation": _admins(operations=("DELETE",)),
    "of administrators: of a resource": _admins(resources=("CLIENT",)),
    "of administrators: of a path": _admins(resource_path="users/{number}"),
    "of administrators: of paths that are frequent": _admins(_PAGE, resource_path="users/*"),
    "of administrators: of paths that are rare": _admins(resource_path="clients/*"),
    "of administrators: by realm": _admins(auth_realm_id="own"),
    "of administrators: by client": _admins(auth_client="console"),
    "of administrators: by user": _admins(auth_user_id="admin-{one}"),
    "of administrators: by address": _admins(_PAGE, ip_address="192.0.2.7"),
    "of administrators: by user and operation": _admins(
        auth_user_id="admin-{one}", operations=("CREATE", "UPDATE", "DELETE", "ACTION")
    ),
}


def fill_sqlite(file: Path, sizes: Mapping[str, int]) -> None:
    """Fill the realms of a database file; indexes are made after."""
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        for pragma in ("cache_size = -400000", "synchronous = OFF", "foreign_keys = ON"):
            database.execute(f"PRAGMA {pragma}")
        for table, statement in _STATEMENTS.items():
            indexes = database.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ?"
                " AND sql IS NOT NULL",
                (table,),
            ).fetchall()
            for name, _ in indexes:
                database.execute(f"DROP INDEX {name}")
            database.execute("BEGIN IMMEDIATE")
            for realm, count in sizes.items():
                numbers = _NUMBERS.format(last=count - 1)
                database.execute(_filled(statement, realm, count, "n", numbers))
            database.execute("COMMIT")
            for _, definition in indexes:
                database.execute(definition)


def fill_postgresql(url: str, sizes: Mapping[str, int]) -> None:
    """Fill the realms of a PostgreSQL database; indexes are made after."""
    asyncio.run(_fill_postgresql(url, sizes))


async def _fill_postgresql(url: str, sizes: Mapping[str, int]) -> None:
    connection = await asyncpg.connect(url)
    try:
        for table, statement in _STATEMENTS.items():
            indexes = await connection.fetch(
                "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = $1"
                " AND indexname LIKE 'ix_%'",
                table,
            )
            for name, _ in indexes:
                await connection.execute(f"DROP INDEX {name}")
            for realm, count in sizes.items():
                numbers = f"generate_series(0, {count - 1}) AS n"
                await connection.execute(_filled(statement, realm, count, "n::bigint", numbers))
            for _, definition in indexes:
                await connection.execute(definition)
            # As autovacuum does it, a minute later.
            await connection.execute(f"VACUUM ANALYZE {table}")
    finally:
        await connection.close()


def _filled(statement: str, realm: str, count: int, wide: str, numbers: str) -> str:
    return statement.format(
        realm=realm,
        wide=wide,
        numbers=numbers,
        begun=_BEGUN_MICROSECONDS,
        rare=_RARE,
        distinct=count // 100,
    )


async def ask(
    environment: Mapping[str, str], sizes: Mapping[str, int], rounds: int
) -> dict[str, tuple[float, float]]:
    """Return by question how many seconds its answer takes in the large realm, and the ratio."""
    settings = load_settings(environment=environment, env_file=Path("/nonexistent"))
    async with open_services(settings) as services:
        return {
            name: await _measured(question, services.database.read, sizes, rounds)
            for name, question in FLAT.items()
        }


async def _measured(
    question: Question, read: Callable[[], Any], sizes: Mapping[str, int], rounds: int
) -> tuple[float, float]:
    taken: dict[str, list[float]] = {realm: [] for realm in sizes}
    for turn in range(rounds + 1):
        for realm, count in sizes.items():
            async with read() as stores:
                began = time.perf_counter()
                await question(stores, realm, count, (turn + 1) * 7919 % count)
                if turn:
                    taken[realm].append(time.perf_counter() - began)
    few, many = median(taken[FEW]), median(taken[MANY])
    return many, many / few
