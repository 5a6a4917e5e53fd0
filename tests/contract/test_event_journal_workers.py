"""Events on their way to SQL: workers share the work, and who dies loses none."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.domain.errors import StoreUnavailable
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually, eventually_succeeds
from tests.support.event_journals import (
    BeginJournal,
    journal_directory,
    journal_files,
    stored_ids,
)
from tests.support.stored_events import user_event

_WRITER = """
import sys
from pathlib import Path
from gateway.storage.event_journal import EventJournal
from tests.support.stored_events import user_event
journal = EventJournal(Path(sys.argv[1]), None)
kept = [journal.append(user_event(name)) for name in sys.argv[2:]]
print(*kept, flush=True)
sys.stdin.read()
"""


@pytest.fixture
async def nowhere(secrets_at_rest: SecretsAtRest, tmp_path: Path) -> AsyncIterator[SqlDatabase]:
    """Return a database that does not answer."""
    database = SqlDatabase(Secret(f"sqlite:///{tmp_path}/nowhere/missing.db"), secrets_at_rest)
    yield database
    await database.dispose()


async def test_without_a_database_events_wait_and_whoever_asks_is_told(
    begin: BeginJournal, database: SqlDatabase, nowhere: SqlDatabase
) -> None:
    journal = begin(nowhere)
    journal.append(user_event("1"))
    with pytest.raises(StoreUnavailable):
        await journal.settle()
    await journal.close()
    await begin().settle()
    assert await stored_ids(database) == ["1"]


async def test_a_worker_stores_its_own_and_orphaned_segments(
    begin: BeginJournal, database: SqlDatabase
) -> None:
    dead, journal = begin(), begin()
    dead.append(user_event("1"))
    keeping = asyncio.create_task(journal.run())
    try:
        await _eventually_stored(database, ["1"])
        journal.append(user_event("2"))
        await _eventually_stored(database, ["1", "2"])
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def test_a_worker_leaves_storing_to_another_and_looks_again(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    await journal.settle()
    journal.append(user_event("2"))
    with (journal_directory(tmp_path) / "storing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        keeping = asyncio.create_task(journal.run())
        await asyncio.wait({keeping}, timeout=0.1)
        assert await stored_ids(database) == ["1"]
    try:
        await _eventually_stored(database, ["1", "2"])
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def test_a_worker_without_events_ends_without_storing_others(
    begin: BeginJournal, database: SqlDatabase
) -> None:
    begin().append(user_event("1"))
    await begin().close()
    assert await stored_ids(database) == []


async def test_without_a_database_events_are_flushed_to_disk(
    begin: BeginJournal, nowhere: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    journal = begin(nowhere)
    journal.append(user_event("1"))
    keeping = asyncio.create_task(journal.run())
    try:
        await eventually(lambda: bool(synced))
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def _eventually_stored(database: SqlDatabase, names: list[str]) -> None:
    async def look() -> None:
        assert await stored_ids(database) == names

    await eventually_succeeds(look, AssertionError, within=10)


async def test_whoever_asks_waits_for_another_that_stores_already(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    await journal.settle()
    journal.append(user_event("2"))
    with (journal_directory(tmp_path) / "storing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        settling = asyncio.create_task(journal.settle())
        done, _ = await asyncio.wait({settling}, timeout=0.1)
        assert not done
        assert await stored_ids(database) == ["1"]
    await settling
    assert await stored_ids(database) == ["1", "2"]


async def test_whoever_ends_waits_for_another_that_stores_already(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    with (journal_directory(tmp_path) / "storing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        closing = asyncio.create_task(journal.close())
        done, _ = await asyncio.wait({closing}, timeout=0.1)
        assert not done
    await closing
    assert await stored_ids(database) == ["1"]


def _writer(tmp_path: Path, *names: str) -> subprocess.Popen[str]:
    """Run a process that keeps events, and goes on until it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(journal_directory(tmp_path)), *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().split() == ["True"] * len(names)
    return process


async def test_a_process_that_is_killed_loses_no_event(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    with _writer(tmp_path, "1", "2", "3") as process:
        process.send_signal(signal.SIGKILL)
    await begin().settle()
    assert await stored_ids(database) == ["1", "2", "3"]
    assert journal_files(tmp_path) == []


async def test_the_segment_of_a_process_that_lives_is_left_to_it(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    with _writer(tmp_path, "1") as process:
        await begin().settle()
        assert await stored_ids(database) == ["1"]
        assert len(journal_files(tmp_path)) == 1
        process.terminate()


_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from gateway.storage.event_journal import EventJournal
from tests.support.stored_events import user_event
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (700, resource.RLIM_INFINITY))
journal = EventJournal(Path(sys.argv[1]), None)
print(*(journal.append(user_event(str(number))) for number in range(8)))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(journal.append(user_event("9")))
"""


def _kept_on_a_full_disk(tmp_path: Path) -> list[bool]:
    process = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, str(journal_directory(tmp_path))],
        capture_output=True,
        text=True,
        check=True,
    )
    return [word == "True" for word in process.stdout.split() if word in {"True", "False"}]


async def test_on_a_full_disk_events_are_refused_and_the_next_is_whole(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    *kept, last = _kept_on_a_full_disk(tmp_path)
    assert kept == sorted(kept, reverse=True)
    assert last
    assert True in kept
    assert False in kept
    await begin().settle()
    assert await stored_ids(database) == [*map(str, range(kept.count(True))), "9"]
