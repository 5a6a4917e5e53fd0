"""The gate against guessing, on a real Redis: races, outages, and what it leaves behind."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.authentication.brute_force_protection import BruteForceGuard
from gateway.domain.errors import Overloaded, StoreUnavailable
from gateway.domain.ports.login_failures import Admission
from gateway.domain.realm import BruteForce
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.login_failures import RedisLoginFailures, _rules
from tests.support.deadline import eventually_succeeds
from tests.support.login_failures import LIFESPAN, MOST_ADDRESSES, START
from tests.support.password_logins import CountedEvents
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.timed_scripts import scripts_at

REALM = "demo-id"
NOT_QUICK = BruteForce(protected=True, failure_factor=6, quick_login_check=timedelta(0))
QUICK = replace(NOT_QUICK, quick_login_check=timedelta(seconds=1))
ADDRESS = "192.0.2.1"


class Gate:
    """A guard with a connection of its own, as a second gateway has."""

    def __init__(self, server: RedisServer, clock: SetClock) -> None:
        self.client = create_client(server.url)
        self.store = RedisLoginFailures(self.client, scripts_at(clock))
        self.metrics = CountedEvents()
        self.clock = clock
        self.guard = BruteForceGuard(self.store, self.metrics)

    async def try_password(
        self,
        rules: BruteForce,
        *,
        right: bool = False,
        user: str = "alice",
        address: str = ADDRESS,
    ) -> str:
        """Sign in with a hash of real cost; tell `in`, `wrong` or `refused`."""
        async with self.guard.attempt(rules, REALM, user, address) as attempt:
            if not attempt.admitted:
                return "refused"
            await asyncio.to_thread(hashlib.pbkdf2_hmac, "sha256", b"guess", b"salt", 5_000)
            if right:
                await attempt.succeeded()
                return "in"
            await attempt.failed()
            return "wrong"


@pytest.fixture
def clock() -> SetClock:
    return SetClock(START)


OpenGate = Callable[[RedisServer], Gate]


@pytest.fixture
async def open_gate(clock: SetClock) -> AsyncIterator[OpenGate]:
    """Return what opens gates; they are closed at the end."""
    opened: list[Gate] = []

    def open_one(server: RedisServer) -> Gate:
        opened.append(Gate(server, clock))
        return opened[-1]

    yield open_one
    for gate in opened:
        await gate.client.aclose()


@pytest.fixture
async def gates(redis_server: RedisServer, open_gate: OpenGate) -> tuple[Gate, Gate]:
    return open_gate(redis_server), open_gate(redis_server)


@pytest.fixture
async def gate(gates: tuple[Gate, Gate]) -> Gate:
    return gates[0]


@pytest.fixture
def durable_redis() -> Iterator[RedisServer]:
    server = RedisServer(appendonly="yes", appendfsync="always")
    try:
        server.start()
        yield server
    finally:
        server.remove()


async def _parallel(
    gates: tuple[Gate, Gate], rules: BruteForce, user: str, addresses: tuple[str, ...] = (ADDRESS,)
) -> Counter[str]:
    attempts = (
        gates[n % 2].try_password(rules, user=user, address=addresses[n % len(addresses)])
        for n in range(200)
    )
    return Counter(await asyncio.gather(*attempts))


async def test_of_200_parallel_guesses_the_allowed_number_is_checked(
    gates: tuple[Gate, Gate],
) -> None:
    for repetition in range(20):
        said = await _parallel(gates, NOT_QUICK, f"user-{repetition}")
        assert said == {"wrong": NOT_QUICK.failure_factor, "refused": 194}
    locks = sum((gate.metrics.events for gate in gates), Counter())
    assert locks == {"failed_login": 20 * NOT_QUICK.failure_factor, "temporary_lockout": 20}


async def test_of_200_guesses_of_one_address_its_limit_is_checked(
    gates: tuple[Gate, Gate],
) -> None:
    """attacks: D5, D6. The user signs in from another address meanwhile."""
    rules = replace(NOT_QUICK, failures_per_address=3)
    for repetition in range(5):
        user = f"user-{repetition}"
        guesses, at_home = await asyncio.gather(
            _parallel(gates, rules, user),
            gates[0].try_password(rules, user=user, right=True, address="192.0.2.2"),
        )
        assert (guesses, at_home) == ({"wrong": 3, "refused": 197}, "in")
        assert await gates[1].try_password(rules, user=user, right=True) == "refused"
    locks = sum((gate.metrics.events for gate in gates), Counter())
    assert locks == {"failed_login": 15, "address_lockout": 5}


async def test_of_200_guesses_of_many_addresses_the_factor_is_checked(
    gates: tuple[Gate, Gate],
) -> None:
    """attacks: D3."""
    rules = replace(NOT_QUICK, failures_per_address=3)
    for number in (2, 7, 100):
        addresses = tuple(f"198.51.100.{n}" for n in range(number))
        said = await _parallel(gates, rules, f"by-{number}", addresses)
        assert said == {"wrong": NOT_QUICK.failure_factor, "refused": 194}


async def test_addresses_beyond_the_maximum_count_for_the_user_alone(
    gate: Gate, redis_server: RedisServer
) -> None:
    """The store keeps no more of one user, and no guess is free for it."""
    rules = replace(NOT_QUICK, failures_per_address=3, failure_factor=60)
    for number in range(59):
        address = f"198.51.100.{number}"
        assert await gate.try_password(rules, address=address) == "wrong"
    with redis_server.client() as plain:
        assert plain.hlen(f"rg:addresses:{REALM}:alice") == MOST_ADDRESSES
        assert plain.memory_usage(f"rg:addresses:{REALM}:alice") < 8192
    last = "198.51.100.58"
    assert await gate.try_password(rules, address=last) == "wrong"
    assert (await gate.store.record(REALM, "alice")).failures == 60
    assert await gate.try_password(rules, right=True, address=last) == "refused"


async def test_an_address_without_a_lockout_counts_for_the_user(gate: Gate) -> None:
    """attacks: D3. Where lock-outs have no length, a limit of addresses makes no guess free."""
    rules = replace(
        NOT_QUICK, permanent_lockout=True, wait_increment=timedelta(0), failures_per_address=3
    )
    for _ in range(NOT_QUICK.failure_factor):
        assert await gate.try_password(rules) == "wrong"
    assert await gate.try_password(rules) == "refused"
    assert (await gate.store.record(REALM, "alice")).permanent


async def test_quick_failures_leave_at_most_two_guesses(
    gates: tuple[Gate, Gate],
) -> None:
    for repetition in range(5):
        said = await _parallel(gates, QUICK, f"user-{repetition}")
        assert said == {"wrong": 2, "refused": 198}


async def test_a_permanent_lockout_allows_no_more_guesses_either(gates: tuple[Gate, Gate]) -> None:
    rules = replace(NOT_QUICK, permanent_lockout=True)
    said = await _parallel(gates, rules, "alice")
    assert said == {"wrong": rules.failure_factor, "refused": 194}
    locks = sum((gate.metrics.events for gate in gates), Counter())
    assert locks == {"failed_login": rules.failure_factor, "permanent_lockout": 1}
    gates[0].clock.advance(timedelta(days=300))
    async with gates[0].guard.attempt(rules, REALM, "alice", ADDRESS) as attempt:
        assert attempt.admission is Admission.LOCKED_FOR_GOOD


async def test_after_a_lockout_each_further_failure_locks_again(gate: Gate) -> None:
    """Keycloak's growth: failures 6 to 11 wait one increment each, not six guesses more."""
    for _ in range(NOT_QUICK.failure_factor):
        await gate.try_password(NOT_QUICK)
    gate.clock.advance(timedelta(seconds=61))
    said = Counter(await asyncio.gather(*(gate.try_password(NOT_QUICK) for _ in range(20))))
    assert said == {"wrong": 1, "refused": 19}


async def test_the_right_password_gets_in_among_wrong_ones(gates: tuple[Gate, Gate]) -> None:
    wrong = (gates[n % 2].try_password(NOT_QUICK) for n in range(NOT_QUICK.failure_factor - 1))
    said = Counter(await asyncio.gather(*wrong, gates[0].try_password(NOT_QUICK, right=True)))
    assert said == {"wrong": 5, "in": 1}


async def test_many_right_passwords_at_once_all_get_in(gates: tuple[Gate, Gate]) -> None:
    """More than there are places: those who find none wait for one."""
    right = (gates[n % 2].try_password(NOT_QUICK, right=True) for n in range(12))
    assert Counter(await asyncio.gather(*right)) == {"in": 12}


async def test_success_forgets_the_failures(gate: Gate) -> None:
    for _ in range(NOT_QUICK.failure_factor - 1):
        await gate.try_password(NOT_QUICK)
    await gate.try_password(NOT_QUICK, right=True)
    assert (await gate.store.record(REALM, "alice")).failures == 0
    for _ in range(NOT_QUICK.failure_factor - 1):
        assert await gate.try_password(NOT_QUICK) == "wrong"
    assert await gate.try_password(NOT_QUICK, right=True) == "in"


async def test_a_success_frees_no_places_beside_running_attempts(gate: Gate) -> None:
    """Otherwise each success among parallel guesses would allow `failureFactor` more."""
    rules = replace(NOT_QUICK, failure_factor=2)
    for attempt in ("first", "second"):
        await gate.store.reserve(REALM, "alice", attempt, rules=rules, address=ADDRESS)
    await gate.store.succeed(REALM, "alice", "first", address=ADDRESS)
    said = [
        await gate.store.reserve(REALM, "alice", attempt, rules=rules, address=ADDRESS)
        for attempt in ("third", "fourth")
    ]
    assert said == [Admission.ADMITTED, Admission.BUSY]


async def test_an_attempt_whose_gateway_died_gives_its_place_back(gate: Gate) -> None:
    rules = replace(NOT_QUICK, failure_factor=1)

    async def ask(attempt: str, after: timedelta) -> Admission:
        gate.clock.instant = START + after
        return await gate.store.reserve(REALM, "alice", attempt, rules=rules, address=ADDRESS)

    assert await ask("dead", timedelta(0)) is Admission.ADMITTED
    assert await ask("other", LIFESPAN - timedelta(milliseconds=1)) is Admission.BUSY
    assert await ask("other", LIFESPAN) is Admission.ADMITTED


async def test_who_finds_no_place_for_long_is_refused(
    gate: Gate, redis_server: RedisServer
) -> None:
    """The pauses between its questions keep the load on Redis low."""
    rules = replace(NOT_QUICK, failure_factor=1)
    await gate.store.reserve(REALM, "alice", "slow", rules=rules, address=ADDRESS)
    begin = asyncio.get_running_loop().time()
    with redis_server.client() as plain:
        plain.config_resetstat()
        assert await gate.try_password(rules, right=True) == "refused"
        assert plain.info("commandstats")["cmdstat_evalsha"]["calls"] < 30
    assert 1.9 < asyncio.get_running_loop().time() - begin < 4


async def test_work_that_was_shed_is_not_counted_and_holds_no_place(gate: Gate) -> None:
    rules = replace(NOT_QUICK, failure_factor=1)

    async def shed() -> None:
        async with gate.guard.attempt(rules, REALM, "alice", ADDRESS):
            raise Overloaded

    with pytest.raises(Overloaded):
        await shed()
    assert await gate.try_password(rules, right=True) == "in"


async def test_an_unsettled_attempt_is_not_counted_and_frees_its_place(
    gate: Gate,
) -> None:
    rules = replace(NOT_QUICK, failure_factor=1)
    async with gate.guard.attempt(rules, REALM, "alice", ADDRESS) as attempt:
        assert attempt.admitted
    assert (await gate.store.record(REALM, "alice")).failures == 0
    assert await gate.try_password(rules, right=True) == "in"


async def test_a_cancelled_attempt_allows_no_further_guess(gate: Gate) -> None:
    """Closing the connection before the answer must not make the guess free."""
    rules, held = replace(NOT_QUICK, failure_factor=1), asyncio.Event()

    async def hang() -> None:
        async with gate.guard.attempt(rules, REALM, "alice", ADDRESS):
            held.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hang())
    await held.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    said = await gate.store.reserve(REALM, "alice", "next", rules=rules, address=ADDRESS)
    assert said is Admission.BUSY


async def test_each_call_is_one_round_trip_and_reloads_a_lost_script(
    gate: Gate, redis_server: RedisServer
) -> None:
    await gate.try_password(NOT_QUICK)
    with redis_server.client() as plain:
        plain.config_resetstat()
        await gate.try_password(NOT_QUICK)
        assert plain.info("commandstats")["cmdstat_evalsha"]["calls"] == 2
        plain.script_flush()
    await gate.try_password(NOT_QUICK)
    assert (await gate.store.record(REALM, "alice")).failures == 3


async def test_an_unprotected_realm_asks_no_redis(
    own_redis: RedisServer, open_gate: OpenGate
) -> None:
    gate = open_gate(own_redis)
    own_redis.stop()
    rules = replace(NOT_QUICK, protected=False, failure_factor=1)
    for _ in range(3):
        assert await gate.try_password(rules) == "wrong"
    assert await gate.try_password(rules, right=True) == "in"


async def test_without_redis_every_attempt_is_refused_until_it_is_back(
    own_redis: RedisServer, open_gate: OpenGate
) -> None:
    gate = open_gate(own_redis)
    await gate.try_password(NOT_QUICK)
    own_redis.stop()
    with pytest.raises(StoreUnavailable):
        await gate.try_password(NOT_QUICK, right=True)
    own_redis.start()

    async def sign_in() -> None:
        assert await gate.try_password(NOT_QUICK, right=True) == "in"

    await eventually_succeeds(sign_in, StoreUnavailable)


async def test_a_failure_that_cannot_be_counted_is_no_answer(
    own_redis: RedisServer, open_gate: OpenGate
) -> None:
    gate = open_gate(own_redis)

    async def fail_after_the_server() -> None:
        async with gate.guard.attempt(NOT_QUICK, REALM, "alice", ADDRESS) as attempt:
            own_redis.stop()
            await attempt.failed()

    with pytest.raises(StoreUnavailable):
        await fail_after_the_server()


async def test_a_lockout_survives_a_restart_of_gateway_and_redis(
    durable_redis: RedisServer, open_gate: OpenGate
) -> None:
    """attacks: D6."""
    gate = open_gate(durable_redis)
    for _ in range(NOT_QUICK.failure_factor):
        await gate.try_password(NOT_QUICK)
    await gate.client.aclose()
    durable_redis.stop()
    durable_redis.start()
    again = open_gate(durable_redis)
    assert await again.try_password(NOT_QUICK, right=True) == "refused"


async def test_a_wiped_redis_gives_no_more_than_the_factor_anew(
    gates: tuple[Gate, Gate], redis_server: RedisServer
) -> None:
    await _parallel(gates, NOT_QUICK, "alice")
    with redis_server.client() as plain:
        plain.flushall()
    assert (await _parallel(gates, NOT_QUICK, "alice"))["wrong"] == NOT_QUICK.failure_factor


async def test_keys_expire_but_not_before_the_realm_forgets(
    gate: Gate, redis_server: RedisServer
) -> None:
    rules = replace(NOT_QUICK, failure_factor=1)
    await gate.try_password(rules)
    await gate.try_password(replace(rules, permanent_lockout=True), user="bob")
    await gate.try_password(replace(rules, failures_per_address=1), user="dave")
    await gate.store.reserve(REALM, "carol", "dead", rules=rules, address=ADDRESS)
    with redis_server.client() as plain:
        left = {key: timedelta(milliseconds=plain.pttl(key)) for key in plain.scan_iter()}
    records = {key: ttl for key, ttl in left.items() if key.startswith("rg:failures:")}
    assert len(left) == 7
    assert min(left.values()) > timedelta(seconds=20)
    assert records[f"rg:failures:{REALM}:alice"] > rules.max_delta_time + rules.wait_increment
    assert records[f"rg:failures:{REALM}:bob"] > timedelta(days=360)
    addresses = left[f"rg:addresses:{REALM}:dave"]
    assert addresses > rules.max_delta_time + rules.wait_increment
    assert left[f"rg:attempts:{REALM}:carol"] <= LIFESPAN


async def test_a_realm_of_many_failures_is_listed_and_cleared_alone(gate: Gate) -> None:
    """More users than one script touches."""
    rules = replace(NOT_QUICK, failure_factor=1)
    users = [f"user-{number:04}" for number in range(1_100)]
    for realm_id, some in ((REALM, users), ("other-id", ["alice"])):
        await asyncio.gather(
            *(gate.store.fail(realm_id, user, "", rules=rules, address=ADDRESS) for user in some)
        )
    locked = await gate.store.locked(REALM)
    assert sorted(user for user, _ in locked) == users
    gate.clock.advance(timedelta(seconds=60))
    assert await gate.store.locked(REALM) == ()
    assert await gate.store.clear_realm(REALM) == len(users)
    gate.clock.instant = START
    assert await gate.store.locked(REALM) == ()
    assert (await gate.store.record("other-id", "alice")).failures == 1


@pytest.mark.parametrize("left_out", range(11))
async def test_without_one_of_the_rules_no_attempt_is_admitted(gate: Gate, left_out: int) -> None:
    """A rule that the script does not get must not switch the guard off."""
    rules = _rules(NOT_QUICK)
    assert len(rules) == 2 * 11
    place = (REALM, "alice", "attempt", ADDRESS)
    kept = (*rules[: 2 * left_out], *rules[2 * left_out + 2 :])
    with pytest.raises(StoreUnavailable, match="missing rule"):
        await gate.store._run("reserve", *place, 60_000, *kept)
    with pytest.raises(StoreUnavailable, match="missing rule"):
        await gate.store._run("fail", *place, ADDRESS, 0, *kept)


@pytest.mark.parametrize("rules", [NOT_QUICK, QUICK])
async def test_a_name_of_no_user_is_admitted_as_a_user_is(
    gate: Gate, clock: SetClock, rules: BruteForce
) -> None:
    """Attempts wait for each other, so that another order of admissions shows in the time."""
    store = gate.store

    async def admissions(name: str, *, is_user: bool) -> list[Admission]:
        found = []
        for number in range(14):
            pair = [f"{number}-{place}" for place in range(2)]
            for each in pair:
                asked = await store.reserve(REALM, name, each, rules=rules, address=ADDRESS)
                found.append(asked)
            for each, admission in zip(pair, found[-2:], strict=True):
                if admission is Admission.ADMITTED and is_user:
                    await store.fail(REALM, name, each, rules=rules, address=ADDRESS)
                elif admission is Admission.ADMITTED:
                    await store.pass_over(
                        REALM, name, each, rules=rules, address=ADDRESS, counts=True
                    )
            clock.advance(timedelta(seconds=0.5))
        return found

    began = clock.instant
    of_user = await admissions("alice", is_user=True)
    clock.instant = began
    of_name = await admissions("unknown-1", is_user=False)
    assert of_name == of_user
    assert Admission.LOCKED in of_user
    assert [user for user, _ in await store.locked(REALM)] in ([], ["alice"])


async def test_names_of_no_user_are_kept_within_a_bound(
    gate: Gate, redis_server: RedisServer
) -> None:
    with redis_server.client() as plain:
        others = {f"other-{number}": number for number in range(20_000)}
        plain.zadd(f"rg:unknown:{REALM}", others)
        place = (REALM, "unknown-1", "one")
        await gate.store.reserve(*place, rules=QUICK, address=ADDRESS)
        await gate.store.pass_over(*place, rules=QUICK, address=ADDRESS, counts=True)
        assert plain.zcard(f"rg:unknown:{REALM}") == 20_000
        assert plain.zscore(f"rg:unknown:{REALM}", "other-0") is None
    assert (await gate.store.record(REALM, "unknown-1")).failures == 1
    assert await gate.store.clear_realm(REALM) == 0
    assert (await gate.store.record(REALM, "unknown-1")).failures == 0
