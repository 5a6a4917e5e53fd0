"""Very many users in a realm, by one statement, and the questions that are asked about them.

Each user has a name of its own, an address, one of 400 first names and one of 100 last names; ids
and names are spread as by chance.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Final

import asyncpg  # type: ignore[import-untyped] # asyncpg ships no types

from bench.processes import BenchError
from gateway.bootstrap import open_services
from gateway.domain.ports.storage import Stores
from gateway.domain.users import UserQuery
from gateway.settings import load_settings

FEW, MANY = "few-users", "many-users"
"""The realms: one statement fills each, and questions go to them in turn."""
_SYLLABLES: Final = tuple(
    map("".join, zip("kmlrtsnbfdghjpvwztxc", "aoiaeuioeaoaueioeyae", strict=True))
)
_FIRST: Final = [f"{one}{two}n" for one, two in product(_SYLLABLES, _SYLLABLES)]
_LAST: Final = [f"{one}{two}man" for one, two in product(_SYLLABLES[:10], _SYLLABLES[:10])]
_PAGE: Final = 100

# Put together of what stands in this file alone.
_INSERT: Final = """
INSERT INTO users (realm_id, id, username, email, first_name, last_name, first_name_lower,
    last_name_lower, enabled, email_verified, created_at, document)
SELECT '{realm}', {hexadecimal} || '-4000-8000-' || n, f || '.' || l || '.' || n,
    f || '.' || l || '.' || n || '@example.test', f, l, f, l, true, true, n, '{{}}'
FROM (SELECT n, spread, {first} AS f, {last} AS l FROM
    (SELECT n, ({wide} * 2654435761) % 4294967296 AS spread FROM {numbers}) AS numbers) AS people
"""
_NUMBERS: Final = (
    "(WITH RECURSIVE counted(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n < {last})"
    " SELECT n FROM counted)"
)

Question = Callable[[Stores, str, int, int], Awaitable[object]]
"""Asks of a realm of so many users something that depends on a number below that."""


def user_name(number: int) -> str:
    """Return the name of a user."""
    spread = number * 2654435761 % 4294967296
    first, last = _FIRST[spread // 400 % 400], _LAST[spread // 160_000 % 100]
    return f"{first}.{last}.{number}"


def _page(first: int = 0, **query: Any) -> Question:
    async def ask(stores: Stores, realm: str, count: int, number: int) -> object:
        asked: dict[str, Any] = {
            name: value.format(number=number) if isinstance(value, str) else value
            for name, value in query.items()
        }
        at = first * count // _PAGE
        found = await stores.users.search_users(realm, UserQuery(**asked), at, _PAGE)
        if not found:
            raise BenchError(f"{asked} of {realm} found nobody")
        return found

    return ask


def _count(**query: Any) -> Question:
    async def ask(stores: Stores, realm: str, count: int, number: int) -> object:
        del count, number
        return await stores.users.count_users(realm, UserQuery(**query))

    return ask


async def _by_username(stores: Stores, realm: str, count: int, number: int) -> object:
    del count
    return _found(await stores.users.find_by_username(realm, user_name(number)), number)


async def _by_email(stores: Stores, realm: str, count: int, number: int) -> object:
    del count
    address = f"{user_name(number)}@example.test"
    return _found(await stores.users.find_by_email(realm, address), number)


async def _by_beginning(stores: Stores, realm: str, count: int, number: int) -> object:
    del count
    query = UserQuery(search=f"{user_name(number)}@")
    (found,) = await stores.users.search_users(realm, query, 0, _PAGE)
    return found


def _found(user: object, number: int) -> object:
    if user is None:
        raise BenchError(f"user {number} is not there")
    return user


FLAT: Final[Mapping[str, Question]] = {
    "one user by name": _by_username,
    "one user by address": _by_email,
    "the first page of 100": _page(),
    "part of an address that one user has": _page(search="*.{number}@*"),
    "beginning of an address that one user has": _by_beginning,
    "part of a name that all have": _page(search="*man*"),
}
GROWING: Final[Mapping[str, Question]] = {
    "beginning of a first or last name that 1 in 7 has": _page(search="ka"),
    "part of a name that 1 in 100 has": _page(search="*kakaman*"),
    "part of a name that 1 in 400 has": _page(search="*kakan*"),
    "the page in the middle of all": _page(50),
    "the number of all": _count(),
    "the number of 1 in 100": _count(search="*kakaman*"),
}


def fill_sqlite(file: Path, sizes: Mapping[str, int]) -> None:
    """Fill the realms of a database file."""
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        for pragma in ("cache_size = -400000", "synchronous = OFF", "foreign_keys = ON"):
            database.execute(f"PRAGMA {pragma}")
        for realm, count in sizes.items():
            database.execute("CREATE TEMP TABLE names (kind TEXT, place INTEGER, name TEXT)")
            database.executemany(
                "INSERT INTO names VALUES (?, ?, ?)",
                [
                    (kind, place, name)
                    for kind, names in (("f", _FIRST), ("l", _LAST))
                    for place, name in enumerate(names)
                ],
            )
            database.execute("CREATE UNIQUE INDEX temp.by_place ON names (kind, place)")
            chosen = "(SELECT name FROM names WHERE kind = '{}' AND place = spread / {} % {})"
            database.execute("BEGIN IMMEDIATE")
            database.execute(
                _INSERT.format(
                    realm=realm,
                    hexadecimal="printf('%08x', spread)",
                    first=chosen.format("f", 400, 400),
                    last=chosen.format("l", 160_000, 100),
                    wide="n",
                    numbers=_NUMBERS.format(last=count - 1),
                )
            )
            database.execute("COMMIT")
            database.execute("DROP TABLE names")


def fill_postgresql(url: str, sizes: Mapping[str, int]) -> None:
    """Fill the realms of a PostgreSQL database; the index of terms is made after."""
    asyncio.run(_fill_postgresql(url, sizes))


async def _fill_postgresql(url: str, sizes: Mapping[str, int]) -> None:
    connection = await asyncpg.connect(url)
    try:
        index = "SELECT indexdef FROM pg_indexes WHERE indexname = 'ix_users_search_terms'"
        definition = await connection.fetchval(index)
        await connection.execute("DROP INDEX ix_users_search_terms")
        for realm, count in sizes.items():
            await connection.execute(
                _INSERT.format(
                    realm=realm,
                    hexadecimal="lpad(to_hex(spread), 8, '0')",
                    first=f"('{{{','.join(_FIRST)}}}'::text[])[1 + spread / 400 % 400]",
                    last=f"('{{{','.join(_LAST)}}}'::text[])[1 + spread / 160000 % 100]",
                    wide="n::bigint",
                    numbers=f"generate_series(0, {count - 1}) AS n",
                )
            )
        await connection.execute(definition)
        # As autovacuum does it, a minute later.
        await connection.execute("VACUUM ANALYZE users")
    finally:
        await connection.close()


async def ask(
    environment: Mapping[str, str], sizes: Mapping[str, int], rounds: int
) -> dict[str, tuple[float, float]]:
    """Return by question how many seconds its answer takes in the large realm, and the ratio."""
    settings = load_settings(environment=environment, env_file=Path("/nonexistent"))
    async with open_services(settings) as services, services.database.read() as stores:
        return {
            name: await _measured(question, stores, sizes, rounds)
            for name, question in {**FLAT, **GROWING}.items()
        }


async def _measured(
    question: Question, stores: Stores, sizes: Mapping[str, int], rounds: int
) -> tuple[float, float]:
    taken: dict[str, list[float]] = {realm: [] for realm in sizes}
    for turn in range(rounds + 1):
        for realm, count in sizes.items():
            began = time.perf_counter()
            await question(stores, realm, count, (turn + 1) * 7919 % count)
            if turn:
                taken[realm].append(time.perf_counter() - began)
    few, many = median(taken[FEW]), median(taken[MANY])
    return many, many / few


def lines_of_users(count: int) -> Sequence[str]:
    """Return users as JSON lines for an import."""
    line = '{{"username":"{name}","email":"{name}@example.test","enabled":true}}\n'
    return [line.format(name=user_name(number)) for number in range(count)]
