"""Failed sign-ins in a real Redis: equal to the rules, whatever happens in whatever order."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from gateway.domain.realm import BruteForce, BruteForceStrategy
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.login_failures import RedisLoginFailures
from tests.support.login_failures import START, ModelUser
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.timed_scripts import scripts_at

ResultT = TypeVar("ResultT")

REALM = "demo"
RULES = BruteForce(protected=True, failure_factor=3, quick_login_check=timedelta(0))
_USERS = ("alice", "bob")
_ADDRESSES = ("192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1")
"""The third and the fourth are of one network."""


def _seconds(*values: float) -> st.SearchStrategy[timedelta]:
    return st.sampled_from([timedelta(seconds=value) for value in values])


_RULES = st.builds(
    BruteForce,
    protected=st.just(True),
    permanent_lockout=st.booleans(),
    max_temporary_lockouts=st.integers(0, 2),
    strategy=st.sampled_from(BruteForceStrategy),
    max_failure_wait=_seconds(0, 90, 900),
    minimum_quick_login_wait=_seconds(0, 60),
    wait_increment=_seconds(0, 1, 60),
    quick_login_check=_seconds(0, 1),
    max_delta_time=_seconds(0, 5, 1000),
    failure_factor=st.integers(0, 4),
    max_secondary_failures=st.integers(0, 2),
    failures_per_address=st.integers(0, 3),
)
_PASSING = _seconds(0.001, 0.4, 0.999, 1, 4.999, 29.999, 30, 60, 1001, -0.5)


class GuardMachine(RuleBasedStateMachine):
    """Does to the store and to the model the same, and compares what they say."""

    server: RedisServer

    def __init__(self) -> None:
        super().__init__()
        with self.server.client() as plain:
            plain.flushall()
        self._runner = asyncio.Runner()
        self._client = self._run(_opened(self.server))
        self._clock = SetClock(START)
        self._store = RedisLoginFailures(self._client, scripts_at(self._clock))
        self._users = {user: ModelUser() for user in _USERS}
        self._rules = RULES
        self._attempts = 0

    def teardown(self) -> None:
        """Close the connection."""
        self._run(self._client.aclose())
        self._runner.close()

    def _run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        return self._runner.run(work)

    @rule(rules=_RULES)
    def change_rules(self, rules: BruteForce) -> None:
        """Change the realm as an administrator does."""
        self._rules = rules

    @rule(by=_PASSING)
    def pass_time(self, by: timedelta) -> None:
        """Time passes, or a clock is set back a little."""
        self._clock.advance(by)

    @rule(user=st.sampled_from(_USERS), address=st.sampled_from(_ADDRESSES))
    def reserve(self, user: str, address: str) -> None:
        """Ask for a place."""
        self._attempts += 1
        attempt = str(self._attempts)
        said = self._run(
            self._store.reserve(REALM, user, attempt, rules=self._rules, address=address)
        )
        expected = self._users[user].reserve(attempt, self._rules, self._clock.instant, address)
        assert said is expected

    @rule(user=st.sampled_from(_USERS), choice=st.integers(0, 9), otp=st.booleans())
    def fail(self, user: str, choice: int, *, otp: bool) -> None:
        """One of the attempts under way turns out wrong: its password, or its code."""
        model = self._users[user]
        if not model.under_way:
            return
        attempt = sorted(model.under_way)[choice % len(model.under_way)]
        _, address = model.under_way[attempt]
        before = model.record
        model.fail(attempt, self._rules, self._clock.instant, address, otp=otp)
        outcome = self._run(
            self._store.fail(
                REALM,
                user,
                attempt,
                rules=self._rules,
                address=address,
                second_factor=otp,
            )
        )
        assert outcome.record == model.record.shown()
        assert outcome.permanent == (model.record.permanent and not before.permanent)
        if not before.locked(self._clock.instant) and not model.record.permanent:
            assert outcome.locked_now == model.record.locked(self._clock.instant)

    @rule(user=st.sampled_from(_USERS), choice=st.integers(0, 9))
    def succeed(self, user: str, choice: int) -> None:
        """One turns out right: the failures go, the other attempts stay."""
        model = self._users[user]
        if model.under_way:
            attempt = sorted(model.under_way)[choice % len(model.under_way)]
            _, address = model.under_way[attempt]
            self._run(self._store.succeed(REALM, user, attempt, address=address))
            model.succeed(attempt)

    @rule(user=st.sampled_from(_USERS), choice=st.integers(0, 9))
    def release(self, user: str, choice: int) -> None:
        """One is given up before anything was compared."""
        model = self._users[user]
        if model.under_way:
            attempt = sorted(model.under_way)[choice % len(model.under_way)]
            _, address = model.under_way.pop(attempt)
            self._run(self._store.release(REALM, user, attempt, address=address))

    @rule(user=st.sampled_from(_USERS))
    def clear(self, user: str) -> None:
        """Clear one user's failures as an administrator does."""
        assert self._run(self._store.clear(REALM, user)) == self._users[user].clear()

    @rule()
    def clear_realm(self) -> None:
        """Clear those of all users."""
        known = sum(model.clear() for model in self._users.values())
        assert self._run(self._store.clear_realm(REALM)) == known

    @invariant()
    def the_records_are_equal(self) -> None:
        """Every record is what the rules say."""
        for user, model in self._users.items():
            assert self._run(self._store.record(REALM, user)) == model.record.shown()

    @invariant()
    def the_locked_are_the_locked(self) -> None:
        """List those that are locked, and no other."""
        locked = {
            (user, model.record.shown())
            for user, model in self._users.items()
            if model.record.locked(self._clock.instant)
        }
        assert set(self._run(self._store.locked(REALM))) == locked


_GAPS = _seconds(0, 0.999, 1, 1.001, 4.999, 5, 5.001, 59, 999.999, 1000, 1000.001)


@given(rules=_RULES, gaps=st.lists(_GAPS, min_size=2, max_size=14))
@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_history_of_failures_is_counted_as_the_rules_say(
    redis_server: RedisServer, rules: BruteForce, gaps: list[timedelta]
) -> None:
    async def fail_again_and_again() -> None:
        client = await _opened(redis_server)
        clock, user, model = SetClock(START), str(uuid4()), ModelUser()
        store = RedisLoginFailures(client, scripts_at(clock))
        for gap in gaps:
            clock.advance(gap)
            before = model.record
            model.fail("", rules, clock.instant, "192.0.2.1")
            outcome = await store.fail(REALM, user, "", rules=rules, address="192.0.2.1")
            assert outcome.record == model.record.shown()
            assert outcome.permanent == (model.record.permanent and not before.permanent)
        await client.aclose()

    asyncio.run(fail_again_and_again())


async def _opened(server: RedisServer) -> Any:
    return create_client(server.url)


def test_the_store_equals_the_rules_in_every_order_of_events(redis_server: RedisServer) -> None:
    """attacks: D6."""

    class Machine(GuardMachine):
        server = redis_server

    run_state_machine_as_test(
        Machine, settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )
