"""Pushed authorization requests: kept for a short time, used once. Spec: RFC 9126 §2.2, §7.3."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol


class PushedRequestStore(Protocol):
    """Keeps requests for all gateways; each belongs to the client that pushed it."""

    async def add(
        self,
        realm_id: str,
        client: str,
        reference: str,
        parameters: Mapping[str, str],
        lifespan: timedelta,
    ) -> None:
        """Keep the parameters under a new reference; raises StoreUnavailable.

        `client` is the internal id.
        """

    async def take(self, realm_id: str, client: str, reference: str) -> Mapping[str, str] | None:
        """Remove and return the parameters; None for another client, or the second time.

        Of several callers at once one gets them. Raises StoreUnavailable.
        """
