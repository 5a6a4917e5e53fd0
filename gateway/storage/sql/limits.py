"""How long the database may take, how many connections there are, and which of them may write."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from gateway.storage.sql.asynchronous import AsyncEngine
from gateway.storage.sql.lookups import Questioner

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
    """Connections for each process, those of the look-ups not counted."""
    lookups: int = 2
    """Connections for the look-ups of each process, where the database has a server."""

    @property
    def patience(self) -> timedelta:
        """How long to wait for a database that should have ended the statement itself."""
        return self.statement + _GRACE

    def pool(self, connections: int) -> dict[str, Any]:
        """Return SQLAlchemy's settings for a pool that never grows."""
        return {
            "pool_size": connections,
            "max_overflow": 0,
            "pool_timeout": self.pool_wait.total_seconds(),
            # Statements are quoted in errors without their values.
            "hide_parameters": True,
        }


@dataclass(frozen=True, slots=True)
class Engines:
    """Connections for transactions, that may only read or may write; and the same for questions."""

    reader: AsyncEngine = field(repr=False)
    writer: AsyncEngine = field(repr=False)
    questioner: Questioner = field(repr=False)
    commander: Questioner = field(repr=False)

    async def dispose(self) -> None:
        await self.questioner.dispose()
        await self.commander.dispose()
        await self.reader.dispose()
        await self.writer.dispose()
