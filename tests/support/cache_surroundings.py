"""What a cache of a worker is built on: messages that the test sends, a database it can cut off."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.storage import Stores
from gateway.storage.sql.database import SqlDatabase


@dataclass
class InvalidationMessages:
    """Invalidation whose messages the test sends."""

    connected: bool = True
    send: Callable[[str | None], None] = lambda _topic: None

    async def publish(self, topics: Sequence[str]) -> None:
        for topic in topics:
            self.send(topic)

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        self.send = listener


@dataclass
class SwitchedDatabase:
    """A database that can be cut off; counts its transactions that read."""

    database: SqlDatabase
    is_down: bool = False
    reads: int = 0

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Stores]:
        self.reads += 1
        if self.is_down:
            raise StoreUnavailable("sql")
        async with self.database.read() as stores:
            yield stores
