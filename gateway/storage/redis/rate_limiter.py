"""Counts of what callers did, in Redis: `rg:rate:<realm>:<name>:<caller>`, which expires.

The count of the whole realm has no caller in its key.
"""

from datetime import timedelta

from redis.asyncio import Redis

from gateway.domain.limits.rate_limits import RateLimit
from gateway.storage.redis.connection import named_failures


class RedisRateLimiter:
    """RateLimiter in the server that `client` is connected to."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def admit(self, realm_id: str, caller: str, limit: RateLimit) -> bool:
        of_realm = f"rg:rate:{realm_id}:{limit.name}"
        if await self._count(f"{of_realm}:{caller}", limit.window) > limit.of_caller:
            return False  # one caller does not use up the limit of the realm
        return await self._count(of_realm, limit.window) <= limit.of_realm

    async def _count(self, key: str, window: timedelta) -> int:
        with named_failures():
            async with self._client.pipeline(transaction=True) as pipeline:
                pipeline.set(key, 0, px=window, nx=True)
                pipeline.incr(key)
                _, counted = await pipeline.execute()
        return int(counted)
