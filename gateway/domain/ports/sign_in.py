"""The state that a sign-in with a browser keeps between two requests, in Redis for all gateways.

A pushed request is used once, an authorization code is redeemed once, and a device authorization
gives tokens once. A code is stored with its session: `OnlineSessionStore`. All methods raise
StoreUnavailable("redis"): a sign-in does not go on without its state.
Spec: RFC 6749 §4.1.2; RFC 8628 §3.4, §5.1; RFC 9126 §2.2, §4
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from gateway.domain.authentication import AuthenticationSession
from gateway.domain.authorization_codes import (
    CodeName,
    DeviceApproval,
    DeviceAuthorization,
    DeviceOfUserCode,
    DevicePoll,
    GuessLimit,
    RedeemedCode,
)

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

    async def find_tab(
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

    async def remove_browser(self, realm_id: str, session_id: str) -> None:
        """Remove the sessions of all tabs of a browser."""

    async def remove_tab(self, realm_id: str, session_id: str, tab_id: str) -> None:
        """Remove the session of one tab."""


class AuthorizationCodeStore(Protocol):
    """Methods raise StoreUnavailable."""

    async def redeem(self, realm_id: str, name: CodeName, replay_window: timedelta) -> RedeemedCode:
        """Redeem the code for one caller; it is recognized for `replay_window` afterwards."""

    async def was_replayed(self, realm_id: str, name: CodeName) -> bool:
        """Tell whether a redeemed code was presented again."""


MOST_ANONYMOUS_BYTES: Final = 32 * 1024 * 1024
"""Bytes of the unanswered authorizations that devices of public clients of one realm asked for."""


class DeviceAuthorizationStore(Protocol):
    """Methods raise StoreUnavailable.

    The anonymous authorizations of a realm that wait for an answer have at most
    MOST_ANONYMOUS_BYTES: the oldest of the network with the most is removed.
    """

    async def add(
        self, realm_id: str, authorization: DeviceAuthorization, lifespan: timedelta
    ) -> bool:
        """Store a new authorization; False where its user code is in use."""

    async def poll(self, realm_id: str, device_code: str, client: str) -> DevicePoll:
        """Answer a poll of the client with this internal id; the interval begins with it."""

    async def redeem(self, realm_id: str, device_code: str) -> bool:
        """Spend an approved code: of many callers at once exactly one gets True."""

    async def find_by_user_code(
        self, realm_id: str, user_code: str, address: str, limit: GuessLimit
    ) -> DeviceOfUserCode:
        """Return what waits for an answer under a user code; an unknown code counts as a guess."""

    async def approve(
        self, realm_id: str, user_code: str, client: str, approval: DeviceApproval
    ) -> bool:
        """Approve what is pending; False where it is over, or belongs to another client."""

    async def deny(self, realm_id: str, user_code: str, client: str) -> bool:
        """Deny what is pending; False as `approve`."""


@dataclass(frozen=True, slots=True)
class PushedParameters:
    """The parameters of a request, and what is known of the client that pushed it."""

    values: Mapping[str, str] = field(repr=False)
    certificate: str | None = None
    """Thumbprint of the certificate that its code must be redeemed with; None for any."""
    was_signed: bool = False
    """They came in a request object that was verified, or the gateway itself has made them."""
    is_anonymous: bool = False
    """A public client, which is not authenticated, pushed it; `find_request` does not return it."""


class PushedRequestStore(Protocol):
    """Keeps requests for all gateways; each belongs to the client that pushed it.

    The anonymous ones of a realm have at most MOST_ANONYMOUS_BYTES: the oldest of the network
    with the most is removed.
    """

    async def add(
        self,
        realm_id: str,
        client: str,
        reference: str,
        pushed: PushedParameters,
        lifespan: timedelta,
    ) -> None:
        """Store a request under a new reference; raises StoreUnavailable. `client`: internal id."""

    async def find_request(
        self, realm_id: str, client: str, reference: str
    ) -> PushedParameters | None:
        """Return the request; None for another client, after its time, and once used."""

    async def use(self, realm_id: str, client: str, reference: str, remembered: timedelta) -> bool:
        """Mark the request as used; False where it was used within the last `remembered`.

        Of several callers at once one gets True, also after the time of the parameters. Raises
        StoreUnavailable.
        """
