"""Counting what callers cause, for all gateways."""

from typing import Protocol

from gateway.domain.limits.rate_limits import RateLimit


class RateLimiter(Protocol):
    """Counts in windows; a window begins with its first count.

    Methods raise StoreUnavailable. `network` is what `caller_of` returns.
    """

    async def admit(self, realm_id: str, limit: RateLimit, network: str, subject: str = "") -> bool:
        """Count one more; False, and nothing is counted, beyond a share of the limit.

        `subject` is the id of the user or a digest; empty for a limit of the whole realm. Refusals
        and admissions take the same calls of the store.
        """
        ...

    async def remember_network(self, realm_id: str, user_id: str, network: str) -> None:
        """Note that the user has signed in from the network: `of_known` counts for it then."""
        ...
