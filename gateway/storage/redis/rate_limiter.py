"""Counts of what callers cause, in Redis.

`rg:rate:<realm>:<name>:<subject>` counts all networks, and the same key with `:<network>` one of
them. `:known` before the network, or at the end, counts networks that the user has signed in from;
these are in the sorted set `rg:known-networks:<realm>:<user>` by the last sign-in, as digests.
Every key expires.
"""

import hashlib
from datetime import timedelta
from typing import Final

from gateway.domain.limits.rate_limits import RateLimit
from gateway.storage.redis.connection import LoadScript, RedisClient, ServerScript

_MILLISECOND: Final = timedelta(milliseconds=1)
MOST_KNOWN: Final = 16
"""Networks of a user that are remembered."""
KNOWN_FOR: Final = timedelta(days=90)


class RedisRateLimiter:
    """RateLimiter in the server that `client` is connected to."""

    def __init__(self, client: RedisClient, load: LoadScript = ServerScript) -> None:
        self._run = load(client, "rate_limits")

    async def admit(self, realm_id: str, limit: RateLimit, network: str, subject: str = "") -> bool:
        admitted = await self._run(
            *("admit", realm_id, limit.name, subject, _digest(subject, network)),
            *(limit.of_network, limit.in_all, limit.reserve, limit.of_known),
            limit.window // _MILLISECOND,
        )
        return bool(admitted)

    async def remember_network(self, realm_id: str, user_id: str, network: str) -> None:
        lasts = KNOWN_FOR // _MILLISECOND
        named = _digest(user_id, network)
        await self._run("remember", realm_id, user_id, named, MOST_KNOWN, lasts)


def _digest(subject: str, network: str) -> str:
    """Return a short name of a network, another one for each subject."""
    text = f"{subject} {network}".encode("utf-8", "replace")
    return hashlib.sha256(text).hexdigest()[:32]
