"""Servers that a test begins and ends, whatever they are."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar


class Server(Protocol):
    """A server in a folder of its own."""

    def start(self) -> None:
        """Start it and wait until it answers."""
        ...

    def remove(self) -> None:
        """End it and delete what it has written."""
        ...


ServerT = TypeVar("ServerT", bound=Server)


@contextmanager
def running(server: ServerT) -> Iterator[ServerT]:
    """Run a server, and remove it at last, also when it did not come up."""
    try:
        server.start()
        yield server
    finally:
        server.remove()
