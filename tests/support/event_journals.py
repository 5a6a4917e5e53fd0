"""The journal of events as tests begin it, and what has come of it in SQL."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.domain.events import EventPage, UserEvent, UserEventQuery
from gateway.storage.event_journal import EventJournal
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import store_realms

BeginJournal = Callable[..., EventJournal]


@pytest.fixture
async def begin(database: SqlDatabase, tmp_path: Path) -> BeginJournal:
    """Begin the journal of a worker; all of them have one directory."""
    await store_realms(database, "demo")

    def begun(of: SqlDatabase = database, **bounds: int) -> EventJournal:
        return EventJournal(journal_directory(tmp_path), of, None, **bounds)

    return begun


def journal_directory(tmp_path: Path) -> Path:
    """Return where the workers of a test keep events."""
    return tmp_path / "state" / "events"


def journal_files(tmp_path: Path) -> list[Path]:
    """Return the files in which events wait."""
    return sorted(journal_directory(tmp_path).glob("*.events"))


async def stored_events(database: SqlDatabase) -> list[UserEvent]:
    """Return the events in SQL, the oldest first."""
    async with database.read() as stores:
        page = EventPage(maximum=10_000, newest_first=False)
        return list(await stores.user_events.page("demo-id", UserEventQuery(), page))


async def stored_ids(database: SqlDatabase) -> list[str]:
    """Return the ids of the events in SQL, the oldest first."""
    return [event.id for event in await stored_events(database)]
