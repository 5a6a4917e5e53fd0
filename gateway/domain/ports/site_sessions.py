"""Sessions of browsers at protected sites."""

from typing import Protocol

from gateway.domain.forward_auth import SiteSession


class SiteSessions(Protocol):
    """Finds sessions by the value of the browser's cookie."""

    async def find(self, session_id: str) -> SiteSession | None:
        """Return the session of the cookie's value; raises StoreUnavailable."""
