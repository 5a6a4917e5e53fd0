"""Locks of devices in Redis: `rg:device:locks:<realm>:<client>:<cause>`, a sorted set.

Members are names of devices, scores the ends of their locks in seconds since 1970, so one look-up
costs the same for one device and for 10,000. The set expires with the longest lock that it may
hold. Failures are counted in `rg:device:failures:<realm>:<client>:<SHA-256 of the name>`.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from redis.asyncio import Redis

from gateway.domain.clients import LONGEST_DEVICE_LOCK
from gateway.domain.ports.sign_in.device_locks import MOST_LISTED, DeviceLock, LockCause
from gateway.storage.redis.connection import named_failures


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

    async def lock(self, realm_id: str, client: str, lock: DeviceLock, now: datetime) -> None:
        key = _locks(realm_id, client, lock.cause)
        end = min(lock.until, now + LONGEST_DEVICE_LOCK)
        with named_failures():
            async with self._client.pipeline(transaction=True) as pipeline:
                pipeline.zremrangebyscore(key, "-inf", now.timestamp())
                pipeline.zadd(key, {lock.device: end.timestamp()})
                pipeline.pexpire(key, LONGEST_DEVICE_LOCK)
                await pipeline.execute()

    async def unlock(self, realm_id: str, client: str, device: str) -> bool:
        with named_failures():
            async with self._client.pipeline(transaction=True) as pipeline:
                for cause in LockCause:
                    pipeline.zrem(_locks(realm_id, client, cause), device)
                pipeline.delete(_failures(realm_id, client, device))
                *removed, _ = await pipeline.execute()
        return any(removed)

    async def list(self, realm_id: str, client: str, now: datetime) -> tuple[DeviceLock, ...]:
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
