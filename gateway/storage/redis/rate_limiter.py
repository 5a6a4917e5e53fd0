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
        with named_failures():
            async with self._client.pipeline(transaction=True) as pipeline:
                for key in (f"{of_realm}:{caller}", of_realm):
                    pipeline.set(key, 0, px=limit.window, nx=True)
                    pipeline.incr(key)
                _, by_caller, _, by_realm = await pipeline.execute()
        return bool(by_caller <= limit.of_caller and by_realm <= limit.of_realm)
