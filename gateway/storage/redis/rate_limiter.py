"""Counts of what callers did, in Redis: `rg:rate:<realm>:<name>:<caller>`, which expires.

The count of the whole realm has no caller in its key.
"""

from redis.asyncio import Redis

from gateway.domain.limits.rate_limits import RateLimit
from gateway.storage.redis.connection import named_failures


class RedisRateLimiter:
    """RateLimiter in the server that `client` is connected to."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def admit(self, realm_id: str, caller: str, limit: RateLimit) -> bool:
        of_realm = f"rg:rate:{realm_id}:{limit.name}"
        if await self._count(f"{of_realm}:{caller}", limit) > limit.of_caller:
            # What is refused does not count for the realm: one caller must not use that up.
            return False
        return await self._count(of_realm, limit) <= limit.of_realm

    async def _count(self, key: str, limit: RateLimit) -> int:
        with named_failures():
            async with self._client.pipeline(transaction=True) as pipeline:
                pipeline.set(key, 0, px=limit.window, nx=True)
                pipeline.incr(key)
                return int((await pipeline.execute())[1])
