"""Counting what anonymous callers do, for all gateways."""

from typing import Protocol

from gateway.domain.limits.rate_limits import RateLimit


class RateLimiter(Protocol):
    """Counts in windows that begin with the first of what is counted."""

    async def admit(self, realm_id: str, caller: str, limit: RateLimit) -> bool:
        """Count one more of the caller and of the realm; False beyond one of the limits.

        What is beyond the limit of the caller does not count for the realm.
        Raises StoreUnavailable.
        """
        ...
