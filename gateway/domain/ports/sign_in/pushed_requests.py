"""Pushed authorization requests: kept for a short time, used once. Spec: RFC 9126 §2.2, §4."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Protocol

MOST_ANONYMOUS_BYTES: Final = 32 * 1024 * 1024
"""Bytes of the requests that public clients of one realm have pushed."""


@dataclass(frozen=True, slots=True)
class PushedParameters:
    """The parameters of a request, and what is known of the client that pushed it."""

    values: Mapping[str, str] = field(repr=False)
    certificate: str | None = None
    """Thumbprint of the certificate that its code must be redeemed with; None for any."""
    was_signed: bool = False
    """They came in a request object that was verified, or the gateway itself has made them."""
    is_anonymous: bool = False
    """A public client, which is not authenticated, pushed it; `find` does not return it."""


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
        """Keep a request under a new reference; raises StoreUnavailable.

        `client` is the internal id.
        """

    async def find(self, realm_id: str, client: str, reference: str) -> PushedParameters | None:
        """Return the request; None for another client, after their time, and once used.

        Raises StoreUnavailable.
        """

    async def use(self, realm_id: str, client: str, reference: str, remembered: timedelta) -> bool:
        """Mark the request as used; False where it was used within the last `remembered`.

        Of several callers at once one gets True, also after the time of the parameters. Raises
        StoreUnavailable.
        """
