"""Telling every worker of every gateway that a cached thing has changed.

A change records its topics in its own transaction (`Stores.change_log`) and publishes them after
it. Messages are fast and may be lost; the record cannot be, and every worker reads it.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

REALM_TOPIC: Final = "realm:"
USER_TOPIC: Final = "user:"
CLIENT_TOPIC: Final = "client:"


def realm_topic(realm_id: str) -> str:
    """Return what a change of a realm, or of much in it, is told as."""
    return f"{REALM_TOPIC}{realm_id}"


def user_topic(realm_id: str, user_id: str) -> str:
    """Return what a change of one user is told as."""
    return f"{USER_TOPIC}{realm_id}:{user_id}"


def client_topic(realm_id: str, client: str) -> str:
    """Return what a change of the client with internal id `client` is told as."""
    return f"{CLIENT_TOPIC}{realm_id}:{client}"


class Invalidation(Protocol):
    """Messages between gateways; they may be lost, since every worker also reads the change log."""

    @property
    def connected(self) -> bool:
        """Tell whether messages of others would reach us now."""
        ...

    async def publish(self, topics: Sequence[str]) -> None:
        """Invalidate all topics in this process, then in the others; raises StoreUnavailable.

        Every topic is tried, whatever becomes of the others.
        """
        ...

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        """Call `listener` with each topic, and with None when messages may have been missed."""
        ...
