"""Who may be told of events: a file each, and one line here. Keycloak: EventListenerProvider.

`email` is not among them yet: it comes with the mails.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from structlog.typing import FilteringBoundLogger

from gateway.domain.events import UserEvent
from gateway.listeners import jboss_logging


class Listener(Protocol):
    """Is told of events; may raise whatever it likes, which stays with the dispatch."""

    def wants(self, *, failed: bool) -> bool:
        """Return whether it listens now to what went well, or to what failed."""

    def hear(self, event: UserEvent) -> None:
        """Learn of an event, without waiting for anything."""


LISTENERS: Final[Mapping[str, Callable[[FilteringBoundLogger], Listener]]] = {
    jboss_logging.NAME: jboss_logging.JbossLogging,
}
"""Keycloak's name -> listener, made with the gateway's log."""
