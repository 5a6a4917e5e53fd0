"""What is made with its first use: use cases of a group, and the connection to Redis.

A worker makes all use cases with the table of operations. A command needs one or two, and the
modules of the others would take most of its time.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.domain.ports.invalidation import Invalidation


class OnDemand:
    """Makes an attribute by its function, once."""

    def __init__(self, **makers: Callable[[], object]) -> None:
        self._makers = makers

    def __getattr__(self, name: str) -> object:
        make = self._makers.get(name)
        if make is None:
            raise AttributeError(name)
        made = make()
        setattr(self, name, made)
        return made


class InvalidationOnUse:
    """Invalidation whose connection to Redis is made with the first message.

    A process that sends none receives none: its caches end with it.
    """

    connected = False

    def __init__(self, make: "Callable[[], Invalidation]") -> None:
        self._make = make
        self._listeners: list[Callable[[str | None], None]] = []

    async def publish(self, topics: Sequence[str]) -> None:
        invalidation = self._make()
        while self._listeners:
            invalidation.subscribe(self._listeners.pop())
        await invalidation.publish(topics)

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        self._listeners.append(listener)
