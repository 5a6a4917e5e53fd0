"""Sessions of browsers at protected sites, by the value of the session cookie.

All methods raise StoreUnavailable("redis").
"""

from datetime import timedelta
from typing import Protocol

from gateway.domain.forward_auth import SiteSession


class SiteSessions(Protocol):
    """The sessions of all sites. The store removes a session after its lifespan."""

    async def add(self, value: str, session: SiteSession, lifespan: timedelta) -> None:
        """Store a new session under a new random value."""

    async def find(self, realm_id: str, value: str) -> SiteSession | None:
        """Return the session of the value."""

    async def end(self, realm_id: str, value: str) -> None:
        """Remove the session of the value, if there is one."""
