"""What a refusal costs tells nothing: the same work for every kind of account.

Attack: D11. Compared is the processor time of this process and its threads, which a busy machine
does not disturb, and the kinds come in another order in every round. Rounds end when the medians
are alike: a real difference (a hash left out: 1.6) stays in all of them.
"""

import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from statistics import median

import pytest

from gateway.authentication.errors import InvalidUserCredentials
from gateway.crypto.passwords import Argon2, Pbkdf2, StoredPassword, hash_password
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
from tests.support.stored_values import NOW, credential, store_realms, user

FEWEST_ROUNDS, MOST_ROUNDS = 25, 100
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
    "stronger hash": ("strong", WRONG),
    "hash of another scheme": ("legacy", WRONG),
    "hash of Argon2": ("argon", WRONG),
}
STRENGTHS = {"weak": ITERATIONS // 4, "strong": 2 * ITERATIONS}


@pytest.fixture
async def gateway(
    sqlite_database: StoredDatabase, secrets_at_rest: object, redis_server: RedisServer
) -> AsyncIterator[Gateway]:
    database = SqlDatabase(sqlite_database.url, secrets_at_rest)  # type: ignore[arg-type] # the fixture's
    await store_realms(database, "demo")
    for name in ("wrong", "locked", "disabled", "permanent", "weak", "strong"):
        iterations = STRENGTHS.get(name, ITERATIONS)
        await store_user(database, name, iterations=iterations, enabled=name != "disabled")
    await _store_hash(database, "legacy", "pbkdf2-sha512", ITERATIONS // 2)
    await _store_hash(database, "argon", "argon2", 1)
    async with database.write() as stores:
        await stores.users.add(user("none"))
    opened = Gateway(database, redis_server, SetClock(NOW))
    await _fail(opened, "locked", guarded_realm(replace(RULES, failure_factor=1)))
    yield opened
    await opened.close()
    await database.dispose()


async def _store_hash(database: SqlDatabase, name: str, algorithm: str, iterations: int) -> None:
    stored = user(name)
    made, secret = hash_password(PASSWORD, algorithm, iterations)
    async with database.write() as stores:
        await stores.users.add(stored)
        held = credential(stored.id, credential_data=made, secret_data=secret)
        await stores.users.set_credential(stored.realm_id, held)


async def _fail(gateway: Gateway, name: str, realm: Realm) -> None:
    await gateway.failures.fail(
        realm.id, f"{name}-uuid", "", rules=realm.brute_force, address=ADDRESS
    )


def medians_of(costs: dict[str, list[float]]) -> dict[str, float]:
    """Return the median of each kind, in seconds."""
    return {kind: median(taken) for kind, taken in costs.items()}


def alike(costs: dict[str, list[float]]) -> bool:
    """Return whether no median exceeds another by more than the noise."""
    medians = medians_of(costs).values()
    return max(medians) < _ALIKE * min(medians)


async def test_refusals_cost_the_same_whatever_the_reason(gateway: Gateway) -> None:
    """attacks: D4, D11."""
    realm = guarded_realm(OPEN, ITERATIONS)
    at_once = permanently(replace(RULES, failure_factor=1))
    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(guarded_realm(at_once, ITERATIONS), "permanent", WRONG)
    costs: dict[str, list[float]] = {kind: [] for kind in TRIED}
    rounds = 0
    while rounds < FEWEST_ROUNDS or (rounds < MOST_ROUNDS and not alike(costs)):
        rounds += 1
        for kind in random.sample(list(TRIED), len(TRIED)):
            name, password = TRIED[kind]
            begin = time.process_time()
            with pytest.raises(InvalidUserCredentials):
                await gateway.sign_in(realm, name, password)
            costs[kind].append(time.process_time() - begin)
    # A hash that is left out, or a weaker one that nothing is added to, is half of it and more.
    assert alike(costs), medians_of(costs)
    # The way to the threads and back costs as well, and waits where they are busy.
    assert gateway.hasher.checks == 1 + rounds * len(TRIED)


async def test_refusals_compute_the_same_hashes_whatever_is_stored(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in hashes and iterations, which no busy machine disturbs. attacks: D11."""
    computed: list[Counter[str]] = []

    def counted(name: str, own: Callable[..., bool]) -> Callable[..., bool]:
        def matches(self: object, password: str, stored: StoredPassword) -> bool:
            computed[-1][f"{name} {stored.algorithm}"] += stored.iterations
            computed[-1]["hashes"] += 1
            return own(self, password, stored)

        return matches

    for scheme in (Pbkdf2, Argon2):
        monkeypatch.setattr(scheme, "matches", counted(scheme.__name__, scheme.matches))
    work = {}
    realm = guarded_realm(OPEN, ITERATIONS)
    for kind, (name, password) in TRIED.items():
        if kind == "permanent, right":
            continue
        computed.append(Counter())
        with pytest.raises(InvalidUserCredentials):
            await gateway.sign_in(realm, name, password)
        work[kind] = computed[-1]
    expected = {
        "Pbkdf2 pbkdf2-sha256": 2 * ITERATIONS + 1,
        "Pbkdf2 pbkdf2-sha512": ITERATIONS // 2 + 1,
        "Argon2 argon2": 1 + 1,
        "hashes": 2 * 3,
    }
    assert {kind: dict(sums) for kind, sums in work.items()} == dict.fromkeys(work, expected)


async def test_costs_of_hashes_that_are_gone_are_forgotten(gateway: Gateway) -> None:
    database = gateway.database

    async def costs() -> set[tuple[str, int]]:
        async with database.read() as stores:
            found = await stores.users.password_costs("demo-id")
        return {(cost.kind[0], cost.iterations) for cost in found}

    made, secret = hash_password(PASSWORD, "pbkdf2", 1)
    made = made.replace(":1,", ":27501,")
    held = credential("imported-uuid", credential_data=made, secret_data=secret)
    async with database.write() as stores:
        await stores.users.add_all([user("imported")], [replace(held, id="held-2")])
    before = await costs()
    assert ("pbkdf2", 28_000) in before, "rounded up: few costs, however many iterations there are"
    assert before > {("pbkdf2-sha512", ITERATIONS // 2), ("pbkdf2-sha256", 2 * ITERATIONS)}
    async with database.write() as stores:
        await stores.users.remove_user("demo-id", "legacy-uuid")
        await stores.users.recount_password_costs("other-id")
    assert await costs() == before
    async with database.write() as stores:
        await stores.users.recount_password_costs("demo-id")
    assert await costs() == before - {("pbkdf2-sha512", ITERATIONS // 2)}


async def test_a_page_of_the_password_alone_costs_the_same(gateway: Gateway) -> None:
    """The name was typed on a page before: a user is read again, and so is one who is not there."""
    realm = guarded_realm(OPEN, ITERATIONS)
    flow = rules(required("auth-username-form"), required("auth-password-form"))
    costs: dict[str, list[float]] = {kind: [] for kind in TRIED if kind != "permanent, right"}
    rounds = 0
    while rounds < FEWEST_ROUNDS or (rounds < MOST_ROUNDS and not alike(costs)):
        rounds += 1
        for kind in random.sample(list(costs), len(costs)):
            name, password = TRIED[kind]
            browser = Browser(gateway, realm=realm, sign_in=flow)
            await browser.begin()
            await browser.submit(username=name)
            given = "" if password is None else password.reveal()
            begin = time.process_time()
            await browser.submit(password=given)
            costs[kind].append(time.process_time() - begin)
    assert alike(costs), medians_of(costs)


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
