"""How long a refusal takes tells nothing: the same for every kind of account.

Attack: D11. The kinds take turns, so that a busy machine disturbs all of them alike.
"""

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import combinations

import pytest

from gateway.authentication.errors import InvalidUserCredentials
from gateway.domain.realm import Realm
from gateway.storage.sql.database import SqlDatabase
from tests.support.password_logins import (
    ADDRESS,
    PASSWORD,
    RULES,
    WRONG,
    Gateway,
    guarded_realm,
    permanently,
    store_user,
)
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, store_realms

ROUNDS = 200
ITERATIONS = 20_000
OPEN = replace(RULES, failure_factor=1_000_000)
"""A wrong password that is refused for being wrong, however often it is tried."""


@pytest.fixture
async def gateway(
    sqlite_database: StoredDatabase, secrets_at_rest: object, redis_server: RedisServer
) -> AsyncIterator[Gateway]:
    database = SqlDatabase(sqlite_database.url, secrets_at_rest)  # type: ignore[arg-type] # the fixture's
    await store_realms(database, "demo")
    for name in ("wrong", "locked", "disabled", "permanent", "weak"):
        await store_user(
            database,
            name,
            iterations=1_000 if name == "weak" else ITERATIONS,
            enabled=name != "disabled",
        )
    opened = Gateway(database, redis_server, SetClock(NOW))
    await _fail(opened, "locked", guarded_realm(replace(RULES, failure_factor=1)))
    yield opened
    await opened.close()
    await database.dispose()


async def _fail(gateway: Gateway, name: str, realm: Realm) -> None:
    await gateway.failures.fail(
        realm.id, f"{name}-uuid", "", rules=realm.brute_force, now=NOW, address=ADDRESS
    )


def _superiority(first: Sequence[float], second: Sequence[float]) -> float:
    """Return how often a time of the first is longer than one of the second (Mann-Whitney U)."""
    longer = sum((a > b) + 0.5 * (a == b) for a in first for b in second)
    return longer / (len(first) * len(second))


async def test_refusals_take_the_same_time_whatever_the_reason(gateway: Gateway) -> None:
    realm = guarded_realm(OPEN, ITERATIONS)
    at_once = permanently(replace(RULES, failure_factor=1))
    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(guarded_realm(at_once, ITERATIONS), "permanent", WRONG)
    tried = {
        "unknown": ("nobody", WRONG),
        "wrong": ("wrong", WRONG),
        "no password": ("wrong", None),
        "locked, right": ("locked", PASSWORD),
        "permanent, right": ("permanent", PASSWORD),
        "disabled, wrong": ("disabled", WRONG),
        "weaker hash": ("weak", WRONG),
    }
    times: dict[str, list[float]] = {kind: [] for kind in tried}
    for _ in range(ROUNDS):
        for kind, (name, password) in tried.items():
            begin = time.perf_counter()
            with pytest.raises(InvalidUserCredentials):
                await gateway.sign_in(realm, name, password)
            times[kind].append(time.perf_counter() - begin)
    told = {
        (one, other): round(_superiority(times[one], times[other]), 2)
        for one, other in combinations(tried, 2)
    }
    # Without the pretended hash a kind is always, or never, the longer one.
    assert {pair: share for pair, share in told.items() if not 0.15 < share < 0.85} == {}
