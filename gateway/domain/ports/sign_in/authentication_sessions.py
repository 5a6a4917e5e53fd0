"""Sign-ins that are not finished, for all gateways.

All methods raise StoreUnavailable("redis"): a sign-in does not go on without its state.
"""

from datetime import datetime
from typing import Final, Protocol

from gateway.domain.authentication import AuthenticationSession

MOST_TABS: Final = 50
"""Of one browser in one realm; a further tab replaces the one that ends first."""
MOST_BYTES: Final = 64 * 1024
"""Bytes of one stored session."""
MOST_UNPROVEN_BYTES: Final = 128 * 1024 * 1024
"""Bytes of the sessions of one realm in which no credential was right: about 100,000 sessions."""


class AuthenticationSessionStore(Protocol):
    """Authentication sessions until they end at `expires_at`, by realm, id and tab.

    Anonymous callers begin sign-ins. Those of a realm in which no credential was right (`used` is
    empty) have at most MOST_UNPROVEN_BYTES: of the network with the most, the one whose last step
    is the oldest is removed.
    """

    async def add(self, session: AuthenticationSession, expires_at: datetime) -> None:
        """Store a new session; raises InvalidInput for one that is too large."""

    async def find(
        self, realm_id: str, session_id: str, tab_id: str
    ) -> AuthenticationSession | None:
        """Return the session; None where there is none, or it has ended."""

    async def replace(
        self, before: AuthenticationSession, after: AuthenticationSession, expires_at: datetime
    ) -> bool:
        """Replace `before` by `after`; False where another request has replaced it already.

        So of two requests that continue the same step one succeeds. Where `after` has another id,
        all tabs of the browser move to it: under the old one nothing is left. Raises InvalidInput
        for a session that is too large.
        """

    async def delete(self, realm_id: str, session_id: str) -> None:
        """Remove the sessions of all tabs of a browser."""

    async def remove(self, realm_id: str, session_id: str, tab_id: str) -> None:
        """Remove the session of one tab."""
