"""Failed sign-ins in Redis: one script a call, so that all gateways count together.

`rg:failures:<realm>:<user>` is the record, `rg:attempts:<realm>:<user>` are attempts in progress by
the instant when their places expire. Where the realm limits the failures of an address,
`rg:addresses:<realm>:<user>` has those of each one: their number, the last one in milliseconds, and
the second until which it is locked out. Of a user at most 50 addresses are counted; failures of
further ones count for the user alone. `rg:failed:<realm>` and `rg:locked:<realm>` list users by
the end of their records and lock-outs. Names that no user has are counted as users are, and are
never listed as locked: `rg:unknown:<realm>` has the last 20,000 of them. Later failures remove
expired entries, and every key expires: a record when the realm would not count it any more, and a
year after the last failure where the realm counts without a limit (permanent lock-out), since the
lock itself is in SQL.

Time is the server's, not the caller's: gateways with different clocks count alike. An emptied Redis
allows `failureFactor` new guesses.
Keycloak: 4.1 (brute-force protection)
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final

from gateway.domain.limits.rate_limits import caller_of
from gateway.domain.login_failures import Admission, FailureOutcome, LoginFailures
from gateway.domain.ports.login_failures import ATTEMPT_LIFESPAN
from gateway.domain.realm import BruteForce, BruteForceStrategy
from gateway.storage.redis.connection import RedisClient
from gateway.storage.redis.server_script import LoadScript, ServerScript

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_SECOND: Final = timedelta(seconds=1)
_AT_ONCE: Final = 500
"""Users of one script call: the server answers no other call meanwhile."""


class RedisLoginFailures:
    """LoginFailureStore in the server that `client` is connected to."""

    def __init__(self, client: RedisClient, load: LoadScript = ServerScript) -> None:
        self._run = load(client, "login_failures")

    async def reserve(
        self, realm_id: str, user_id: str, attempt: str, *, rules: BruteForce, address: str
    ) -> Admission:
        place = (realm_id, user_id, attempt, caller_of(address))
        lifespan = ATTEMPT_LIFESPAN // _MILLISECOND
        return Admission(await self._run("reserve", *place, lifespan, *_rules(rules)))

    async def fail(
        self,
        realm_id: str,
        user_id: str,
        attempt: str,
        *,
        rules: BruteForce,
        address: str,
        second_factor: bool = False,
    ) -> FailureOutcome:
        place = (realm_id, user_id, attempt, caller_of(address))
        locked_now, permanent, address_locked, values = await self._run(
            "fail", *place, address, int(second_factor), *_rules(rules)
        )
        return FailureOutcome(
            _record(values),
            locked_now=bool(locked_now),
            permanent=bool(permanent),
            address_locked=bool(address_locked),
        )

    async def pass_over(
        self,
        realm_id: str,
        user_id: str,
        attempt: str,
        *,
        rules: BruteForce,
        address: str,
        counts: bool = False,
    ) -> None:
        place = (realm_id, user_id, attempt, caller_of(address))
        *_, values = await self._run("pass_over", *place, address, int(counts), *_rules(rules))
        _record(values)

    async def succeed(self, realm_id: str, user_id: str, attempt: str, *, address: str) -> None:
        await self._run("succeed", realm_id, user_id, attempt, caller_of(address))

    async def release(self, realm_id: str, user_id: str, attempt: str, *, address: str) -> None:
        await self._run("release", realm_id, user_id, attempt, caller_of(address))

    async def record(self, realm_id: str, user_id: str) -> LoginFailures:
        return _record(await self._run("record", realm_id, user_id))

    async def clear(self, realm_id: str, user_id: str) -> bool:
        return bool(await self._run("clear", realm_id, user_id))

    async def clear_realm(self, realm_id: str) -> int:
        cleared, seen = 0, _AT_ONCE
        while seen == _AT_ONCE:
            seen, known = await self._run("clear_some", realm_id, _AT_ONCE)
            cleared += known
        return cleared

    async def locked(self, realm_id: str) -> tuple[tuple[str, LoginFailures], ...]:
        found: list[tuple[str, LoginFailures]] = []
        offset, page = 0, _AT_ONCE
        while page == _AT_ONCE:
            users = await self._run("locked", realm_id, offset, _AT_ONCE)
            found.extend((user, _record(values)) for user, values in users)
            offset, page = offset + len(users), len(users)
        return tuple(found)


def _rules(rules: BruteForce) -> tuple[str | int, ...]:
    """Return the rules as arguments of the script: names and numbers in turn."""
    numbers = {
        "permanent_lockout": int(rules.permanent_lockout),
        "max_temporary_lockouts": rules.max_temporary_lockouts,
        "linear": int(rules.strategy is BruteForceStrategy.LINEAR),
        "failure_factor": rules.failure_factor,
        "wait_increment_seconds": rules.wait_increment // _SECOND,
        "max_failure_wait_seconds": rules.max_failure_wait // _SECOND,
        "minimum_quick_login_wait_seconds": rules.minimum_quick_login_wait // _SECOND,
        "quick_login_check_milliseconds": rules.quick_login_check // _MILLISECOND,
        "max_delta_time_milliseconds": rules.max_delta_time // _MILLISECOND,
        "max_secondary_failures": rules.max_secondary_failures,
        "failures_per_address": rules.failures_per_address,
    }
    return tuple(chain.from_iterable(numbers.items()))


def _record(values: Sequence[str | None]) -> LoginFailures:
    address, *numbers = values
    failures, lockouts, locked_until, last_failure, permanent, secondary = (
        int(n or 0) for n in numbers
    )
    return LoginFailures(
        failures=failures,
        temporary_lockouts=lockouts,
        locked_until=_EPOCH + locked_until * _SECOND if locked_until else None,
        last_failure=_EPOCH + last_failure * _MILLISECOND if last_failure else None,
        last_address=address,
        permanent=bool(permanent),
        secondary_failures=secondary,
    )
