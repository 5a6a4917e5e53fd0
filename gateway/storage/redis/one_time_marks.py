"""One-time marks in Redis: `rg:used:<realm>:<name>` exists while the name must not be used again.

Spec: RFC 6238 §5.2 (a code is accepted once)
"""

from datetime import timedelta

from redis.asyncio import Redis

from gateway.storage.redis.connection import named_failures


class RedisOneTimeMarks:
    """OneTimeMarks in the server that `client` is connected to."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def claim(self, realm_id: str, name: str, lifespan: timedelta) -> bool:
        with named_failures():
            return bool(
                await self._client.set(f"rg:used:{realm_id}:{name}", "", px=lifespan, nx=True)
            )

    async def remaining(self, realm_id: str, name: str) -> timedelta:
        with named_failures():
            found = await self._client.pttl(f"rg:used:{realm_id}:{name}")
        return timedelta(milliseconds=max(int(found), 0))
