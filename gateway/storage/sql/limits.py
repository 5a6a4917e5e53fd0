"""Time limits of the database, numbers of connections, and which of them may write."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from gateway.storage.sql.asynchronous import AsyncEngine
from gateway.storage.sql.prepared_query import QueryExecutor

_GRACE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how many."""

    connect: timedelta = timedelta(seconds=3)
    statement: timedelta = timedelta(seconds=5)
    """One statement, or the wait for a lock."""
    pool_wait: timedelta = timedelta(seconds=3)
    """The wait for a free connection."""
    connections: int = 5
    """Connections of each process, without those of the look-ups."""
    lookups: int = 2
    """Connections for the look-ups of each process, on PostgreSQL."""

    @property
    def client_timeout(self) -> timedelta:
        """The wait for a database that should have ended the statement itself."""
        return self.statement + _GRACE

    def pool(self, connections: int) -> dict[str, Any]:
        """Return SQLAlchemy's settings for a pool of fixed size."""
        return {
            "pool_size": connections,
            "max_overflow": 0,
            "pool_timeout": self.pool_wait.total_seconds(),
            # Errors quote statements without their values.
            "hide_parameters": True,
        }


@dataclass(frozen=True, slots=True)
class Engines:
    """Connections for transactions and for prepared queries, for reading or for writing."""

    reader: AsyncEngine = field(repr=False)
    writer: AsyncEngine = field(repr=False)
    query_executor: QueryExecutor = field(repr=False)
    command_executor: QueryExecutor = field(repr=False)

    async def dispose(self) -> None:
        await self.query_executor.dispose()
        await self.command_executor.dispose()
        await self.reader.dispose()
        await self.writer.dispose()
