"""The engine under asyncio: what is left in the middle is undone, and its connection kept."""

import asyncio
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

import aiosqlite
import pytest
from sqlalchemy import text

from gateway.storage.sql.asynchronous import AsyncConnection, AsyncEngine, create_async_engine


class Interruption(Exception):
    """Something that goes wrong half way."""


class Connecting:
    """Opens connections to one file, and counts them."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.opened = 0

    async def __call__(self) -> aiosqlite.Connection:
        """Open one more."""
        self.opened += 1
        return await aiosqlite.connect(self._file)


@pytest.fixture
def connecting(tmp_path: Path) -> Connecting:
    """Return what opens connections to an empty database."""
    return Connecting(tmp_path / "database")


async def _engine(connecting: Connecting) -> AsyncEngine:
    engine = create_async_engine(
        "sqlite+aiosqlite:///file", connecting, pool_size=1, max_overflow=0, pool_timeout=1
    )
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE things (name TEXT)"))
    return engine


async def _things(engine: AsyncEngine) -> int:
    async with engine.connect() as connection:
        counted = await connection.execute(text("SELECT count(*) FROM things"))
        return int(counted.scalar_one())


async def _add(
    connected: AbstractAsyncContextManager[AsyncConnection], inside: asyncio.Event
) -> None:
    async with connected as connection:
        await connection.execute(text("INSERT INTO things VALUES ('one')"))
        inside.set()
        await asyncio.Event().wait()


async def test_a_transaction_commits_at_its_end_or_rolls_back(
    connecting: Connecting,
) -> None:
    engine = await _engine(connecting)
    async with engine.begin() as connection:
        await connection.execute(text("INSERT INTO things VALUES ('one')"))
    assert await _things(engine) == 1
    with suppress(Interruption):
        async with engine.begin() as connection:
            await connection.execute(text("INSERT INTO things VALUES ('two')"))
            raise Interruption
    assert await _things(engine) == 1
    await engine.dispose()


async def test_what_a_connection_did_outside_a_transaction_is_undone(
    connecting: Connecting,
) -> None:
    engine = await _engine(connecting)
    async with engine.connect() as connection:
        await connection.execute(text("INSERT INTO things VALUES ('one')"))
    assert await _things(engine) == 0
    await engine.dispose()


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.parametrize("way", ["begin", "connect"])
async def test_a_second_cancellation_keeps_the_connection_in_its_pool(
    connecting: Connecting, way: str, turns: int
) -> None:
    """The first ends the transaction, the second meets the rollback or the way back to the pool."""
    engine = await _engine(connecting)
    inside = asyncio.Event()
    adding = asyncio.create_task(_add(getattr(engine, way)(), inside))
    await inside.wait()
    adding.cancel()
    for _ in range(turns):
        await asyncio.sleep(0)
    adding.cancel()
    with suppress(asyncio.CancelledError):
        await adding
    assert await _things(engine) == 0
    assert connecting.opened == 1
    await engine.dispose()
