"""What a refusal costs tells nothing: the same work for every kind of account.

Attack: D11. Compared is the processor time of this process and its threads, which a busy machine
does not disturb, and the kinds come in another order in every round.
"""

import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from statistics import median

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
from tests.support.stepwise_sign_ins import Browser, required, rules
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, store_realms, user

ROUNDS = 100
ITERATIONS = 8_000
"""So few that the other work of a refusal weighs as well."""
_ALIKE = 1.25
"""More than the noise of a busy machine, less than a hash or a part of one (measured: 1.6)."""
OPEN = replace(RULES, failure_factor=1_000_000)
"""A wrong password that is refused for being wrong, however often it is tried."""
_RESERVING = Counter(
    f"cmdstat_{name}" for name in ("zadd", "zrange", "zremrangebyscore", "pexpire")
)
"""What only an attempt that is admitted does before."""
TRIED = {
    "unknown": ("nobody", WRONG),
    "wrong": ("wrong", WRONG),
    "no password given": ("wrong", None),
    "no password stored": ("none", WRONG),
    "locked, right": ("locked", PASSWORD),
    "permanent, right": ("permanent", PASSWORD),
    "disabled, wrong": ("disabled", WRONG),
    "weaker hash": ("weak", WRONG),
}


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
            iterations=ITERATIONS // 4 if name == "weak" else ITERATIONS,
            enabled=name != "disabled",
        )
    async with database.write() as stores:
        await stores.users.add(user("none"))
    opened = Gateway(database, redis_server, SetClock(NOW))
    await _fail(opened, "locked", guarded_realm(replace(RULES, failure_factor=1)))
    yield opened
    await opened.close()
    await database.dispose()


async def _fail(gateway: Gateway, name: str, realm: Realm) -> None:
    await gateway.failures.fail(
        realm.id, f"{name}-uuid", "", rules=realm.brute_force, address=ADDRESS
    )


async def test_refusals_cost_the_same_whatever_the_reason(gateway: Gateway) -> None:
    """attacks: D4, D11."""
    realm = guarded_realm(OPEN, ITERATIONS)
    at_once = permanently(replace(RULES, failure_factor=1))
    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(guarded_realm(at_once, ITERATIONS), "permanent", WRONG)
    costs: dict[str, list[float]] = {kind: [] for kind in TRIED}
    for _ in range(ROUNDS):
        for kind in random.sample(list(TRIED), len(TRIED)):
            name, password = TRIED[kind]
            begin = time.process_time()
            with pytest.raises(InvalidUserCredentials):
                await gateway.sign_in(realm, name, password)
            costs[kind].append(time.process_time() - begin)
    medians = {kind: median(taken) for kind, taken in costs.items()}
    # A hash that is left out, or a weaker one that nothing is added to, is half of it and more.
    assert max(medians.values()) < _ALIKE * min(medians.values()), medians
    # The way to the threads and back costs as well, and waits where they are busy.
    assert gateway.hasher.checks == 1 + ROUNDS * len(TRIED)


async def test_a_page_of_the_password_alone_costs_the_same(gateway: Gateway) -> None:
    """The name was typed on a page before: a user is read again, and so is one who is not there."""
    realm = guarded_realm(OPEN, ITERATIONS)
    flow = rules(required("auth-username-form"), required("auth-password-form"))
    costs: dict[str, list[float]] = {kind: [] for kind in TRIED if kind != "permanent, right"}
    for _ in range(ROUNDS // 2):
        for kind in random.sample(list(costs), len(costs)):
            name, password = TRIED[kind]
            browser = Browser(gateway, realm=realm, sign_in=flow)
            await browser.begin()
            await browser.submit(username=name)
            given = "" if password is None else password.reveal()
            begin = time.process_time()
            await browser.submit(password=given)
            costs[kind].append(time.process_time() - begin)
    medians = {kind: median(taken) for kind, taken in costs.items()}
    assert max(medians.values()) < _ALIKE * min(medians.values()), medians


@pytest.mark.parametrize("limit", [0, 2])
async def test_refusals_cost_redis_the_same(
    gateway: Gateway, redis_server: RedisServer, limit: int
) -> None:
    """attacks: D11. What is not counted does in Redis what counting takes, and undoes it.

    With a limit of failures for each address, too: also where the address is locked out.
    """
    realm = guarded_realm(replace(OPEN, failures_per_address=limit), ITERATIONS)

    async def cost(kind: str) -> Counter[str]:
        name, password = TRIED[kind]
        with redis_server.client() as plain:
            plain.config_resetstat()
            with pytest.raises(InvalidUserCredentials):
                await gateway.sign_in(realm, name, password)
            told = plain.info("commandstats")
        return Counter({command: stats["calls"] for command, stats in told.items()})

    counted = await cost("wrong")
    assert counted["cmdstat_hset"] == (2 if limit else 1)
    assert counted - await cost("unknown") == Counter()
    assert counted - await cost("locked, right") <= _RESERVING
    if limit:
        await cost("wrong")
        assert counted - await cost("wrong") <= _RESERVING, "the address is locked out"
