"""Passes events to a realm's listeners; a failing one is logged and does not affect others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from structlog.typing import FilteringBoundLogger

from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.events import LoggedEvent, UserEvent
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.listeners import Listener, QueueingListener

_FAILED: Final = "listener failed"


class Dispatch:
    """EventListeners and EventQueues over the registered listeners.

    A realm may name others, of a later or an earlier version: they are ignored.
    """

    def __init__(
        self, listeners: Mapping[str, Listener | QueueingListener], log: FilteringBoundLogger
    ) -> None:
        self._queueing = {
            name: each for name, each in listeners.items() if isinstance(each, QueueingListener)
        }
        self._immediate = {
            name: each for name, each in listeners.items() if not isinstance(each, QueueingListener)
        }
        self._log = log
        self.names = frozenset(listeners)

    def wants(self, realm: Realm, name: str, *, failed: bool) -> bool:
        return any(each.wants(realm, name, failed=failed) for _, each in self._of(realm))

    def publish(self, realm: Realm, event: UserEvent) -> None:
        for listener_name, listener in self._of(realm):
            try:
                if listener.wants(realm, event.name, failed=event.error is not None):
                    listener.on_event(realm, event)
            except Exception as failure:  # noqa: BLE001 - no listener may fail a request
                self._log.error(_FAILED, listener=listener_name, exc_info=failure)

    def queueing(self, realm: Realm, name: str, *, failed: bool) -> tuple[str, ...]:
        return tuple(
            listener
            for listener in realm.events.listeners
            if listener in self._queueing
            and self._queueing[listener].wants(realm, name, failed=failed)
        )

    async def queue(self, stores: Stores, logged: Sequence[LoggedEvent]) -> None:
        for name, listener in self._queueing.items():
            events = [each.event for each in logged if name in each.listeners]
            if events:
                try:
                    await listener.queue(stores, events)
                except (StoreUnavailable, InvalidInput):
                    raise  # the journal stores the events later, or each one in its own transaction
                except Exception as failure:  # noqa: BLE001 - no listener may keep events from SQL
                    self._log.error(_FAILED, listener=name, exc_info=failure)

    def _of(self, realm: Realm) -> Iterator[tuple[str, Listener]]:
        for name in realm.events.listeners:
            listener = self._immediate.get(name)
            if listener is not None:
                yield name, listener
