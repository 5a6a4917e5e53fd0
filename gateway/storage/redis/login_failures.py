"""Failed sign-ins and lock-outs of users and devices in Redis: one script a call, for all gateways.

`rg:failures:<realm>:<user>` is the record, `rg:attempts:<realm>:<user>` are attempts in progress by
the instant when their places expire. Where the realm limits the failures of an address,
`rg:addresses:<realm>:<user>` has for each address the number, the last failure in milliseconds, and
the second until which it is locked out. Of a user at most 50 addresses are counted; failures of
further ones count for the user alone. `rg:failed:<realm>` and `rg:locked:<realm>` list users by
the end of their records and lock-outs. Unknown names are counted as users are, and are never listed
as locked: `rg:unknown:<realm>` has the last 20,000 of them. Later failures remove expired entries,
and every key expires: a record when the realm would not count it any more, and a year after the
last failure where the realm counts without a limit (permanent lock-out), since the lock itself is
in SQL. Time is the server's: gateways with different clocks count alike. An emptied Redis allows
`failureFactor` new guesses. Keycloak: 4.1 (brute-force protection)

`rg:device:locks:<realm>:<client>:<cause>` is a sorted set: names of devices by the ends of their
locks in seconds since 1970, so one look-up costs the same for one device and for 10,000. It expires
with the longest lock that it may hold. Failures are counted in
`rg:device:failures:<realm>:<client>:<SHA-256 of the name>`.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, Final

from redis.asyncio import Redis

from gateway.domain.clients import LONGEST_DEVICE_LOCK
from gateway.domain.clock import EPOCH
from gateway.domain.limits.rate_limits import caller_of
from gateway.domain.ports.certificates import MOST_LISTED, DeviceLock, LockCause
from gateway.domain.ports.login_failures import (
    ATTEMPT_LIFESPAN,
    Admission,
    FailureOutcome,
    LoginFailures,
)
from gateway.domain.realm import BruteForce, BruteForceStrategy
from gateway.storage.redis.connection import LoadScript, RedisClient, ServerScript, named_failures

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
        locked_until=EPOCH + locked_until * _SECOND if locked_until else None,
        last_failure=EPOCH + last_failure * _MILLISECOND if last_failure else None,
        last_address=address,
        permanent=bool(permanent),
        secondary_failures=secondary,
    )


class RedisDeviceLocks:
    """DeviceLocks in the server that `client` is connected to."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def is_locked(self, realm_id: str, client: str, device: str, now: datetime) -> bool:
        with named_failures():
            async with self._client.pipeline(transaction=False) as pipeline:
                for cause in LockCause:
                    pipeline.zscore(_locks(realm_id, client, cause), device)
                ends = await pipeline.execute()
        return any(end is not None and float(end) > now.timestamp() for end in ends)

    async def lock_device(
        self, realm_id: str, client: str, lock: DeviceLock, now: datetime
    ) -> None:
        key = _locks(realm_id, client, lock.cause)
        end = min(lock.until, now + LONGEST_DEVICE_LOCK)
        with named_failures():
            async with self._client.pipeline(transaction=True) as pipeline:
                pipeline.zremrangebyscore(key, "-inf", now.timestamp())
                pipeline.zadd(key, {lock.device: end.timestamp()})
                pipeline.pexpire(key, LONGEST_DEVICE_LOCK)
                await pipeline.execute()

    async def unlock_device(self, realm_id: str, client: str, device: str) -> bool:
        with named_failures():
            async with self._client.pipeline(transaction=True) as pipeline:
                for cause in LockCause:
                    pipeline.zrem(_locks(realm_id, client, cause), device)
                pipeline.delete(_failures(realm_id, client, device))
                *removed, _ = await pipeline.execute()
        return any(removed)

    async def list_locks(self, realm_id: str, client: str, now: datetime) -> tuple[DeviceLock, ...]:
        with named_failures():
            async with self._client.pipeline(transaction=False) as pipeline:
                for cause in LockCause:
                    pipeline.zrangebyscore(
                        *(_locks(realm_id, client, cause), f"({now.timestamp()}", "+inf"),
                        start=0,
                        num=MOST_LISTED,
                        withscores=True,
                    )
                found = await pipeline.execute()
        return tuple(
            DeviceLock(_text(device), cause, datetime.fromtimestamp(float(end), UTC))
            for cause, members in zip(LockCause, found, strict=True)
            for device, end in members
        )

    async def count_failure(
        self, realm_id: str, client: str, device: str, window: timedelta
    ) -> int:
        key = _failures(realm_id, client, device)
        with named_failures():
            async with self._client.pipeline(transaction=True) as pipeline:
                pipeline.set(key, 0, px=window, nx=True)
                pipeline.incr(key)
                _, counted = await pipeline.execute()
        return int(counted)


def _locks(realm_id: str, client: str, cause: LockCause) -> str:
    return f"rg:device:locks:{realm_id}:{client}:{cause}"


def _failures(realm_id: str, client: str, device: str) -> str:
    digest = hashlib.sha256(device.encode()).hexdigest()
    return f"rg:device:failures:{realm_id}:{client}:{digest}"


def _text(member: Any) -> str:
    return member.decode() if isinstance(member, bytes) else str(member)
