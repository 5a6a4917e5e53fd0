"""Event listeners: a file each, and one line here. Keycloak: EventListenerProvider.

There is no `email` listener yet: it needs mails.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from structlog.typing import FilteringBoundLogger

from gateway.domain.events import UserEvent
from gateway.listeners import jboss_logging


class Listener(Protocol):
    """Receives events. The dispatch logs any exception of it."""

    def wants(self, *, failed: bool) -> bool:
        """Return whether it wants events of success, or of failure, now."""

    def on_event(self, event: UserEvent) -> None:
        """Receive an event; must not block."""


LISTENERS: Final[Mapping[str, Callable[[FilteringBoundLogger], Listener]]] = {
    jboss_logging.NAME: jboss_logging.JbossLogging,
}
"""Keycloak's name -> listener, created with the gateway's log."""
