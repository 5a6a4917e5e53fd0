"""Passes events to a realm's listeners; a failing one is logged and does not affect others."""

from collections.abc import Iterator, Mapping

from structlog.typing import FilteringBoundLogger

from gateway.domain.events import UserEvent
from gateway.domain.realm import Realm
from gateway.listeners import Listener


class Dispatch:
    """EventListeners over the registered listeners.

    A realm may name others, of a later or an earlier version: they are ignored.
    """

    def __init__(self, listeners: Mapping[str, Listener], log: FilteringBoundLogger) -> None:
        self._listeners = listeners
        self._log = log
        self.names = frozenset(listeners)

    def wants(self, realm: Realm, *, failed: bool) -> bool:
        return any(listener.wants(failed=failed) for _, listener in self._of(realm))

    def publish(self, realm: Realm, event: UserEvent) -> None:
        for name, listener in self._of(realm):
            try:
                if listener.wants(failed=event.error is not None):
                    listener.on_event(event)
            except Exception as failure:  # noqa: BLE001 - no listener may fail a request
                self._log.error("listener failed", listener=name, exc_info=failure)

    def _of(self, realm: Realm) -> Iterator[tuple[str, Listener]]:
        for name in realm.events.listeners:
            listener = self._listeners.get(name)
            if listener is not None:
                yield name, listener
