"""Telling every worker of every gateway that a cached thing has changed."""

from collections.abc import Callable
from typing import Protocol


class Invalidation(Protocol):
    """Messages between gateways; losing them is allowed, for caches also age."""

    @property
    def connected(self) -> bool:
        """Tell whether messages of others would reach us now."""
        ...

    async def publish(self, topic: str) -> None:
        """Tell everybody that `topic` changed (see `Directory`); raises StoreUnavailable."""
        ...

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        """Call `listener` with each topic, and with None when messages may have been missed."""
        ...
