"""Device authorizations of all gateways: each gives tokens once. Spec: RFC 8628 §3.4, §5.1."""

from datetime import timedelta
from typing import Final, Protocol

from gateway.domain.sign_in.device_authorizations import (
    DeviceApproval,
    DeviceAuthorization,
    DeviceOfUserCode,
    DevicePoll,
    GuessLimit,
)

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

    async def take(self, realm_id: str, device_code: str) -> bool:
        """Spend an approved code: of many callers at once exactly one gets True."""

    async def find(
        self, realm_id: str, user_code: str, address: str, limit: GuessLimit
    ) -> DeviceOfUserCode:
        """Return what waits for an answer under a user code; an unknown code counts as a guess."""

    async def approve(
        self, realm_id: str, user_code: str, client: str, approval: DeviceApproval
    ) -> bool:
        """Approve what is pending; False where it is over, or belongs to another client."""

    async def deny(self, realm_id: str, user_code: str, client: str) -> bool:
        """Deny what is pending; False as `approve`."""
