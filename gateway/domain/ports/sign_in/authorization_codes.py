"""Authorization codes of all gateways: each is redeemed once. Spec: RFC 6749 §4.1.2.

A code is stored with its session: `OnlineSessionStore`.
"""

from datetime import timedelta
from typing import Protocol

from gateway.domain.sign_in.authorization_codes import CodeName, RedeemedCode


class AuthorizationCodeStore(Protocol):
    """Methods raise StoreUnavailable."""

    async def redeem(self, realm_id: str, name: CodeName, replay_window: timedelta) -> RedeemedCode:
        """Redeem the code: of many callers at once exactly one is the first.

        A redeemed code is recognized for `replay_window`.
        """

    async def was_replayed(self, realm_id: str, name: CodeName) -> bool:
        """Tell whether a redeemed code was presented again."""
