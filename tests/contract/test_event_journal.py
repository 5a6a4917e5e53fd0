"""Events on their way to SQL: each is stored once, whoever dies, and whatever stands around it."""

import asyncio
import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gateway.domain.errors import StoreUnavailable
from gateway.domain.event_queries import EventPage, UserEventQuery
from gateway.domain.events import UserEvent
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.secrets import Secret
from gateway.storage.event_journal import EventJournal
from gateway.storage.event_journal.draining import BATCH
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually, eventually_succeeds
from tests.support.stored_events import user_event
from tests.support.stored_values import NOW, store_realms

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

Begin = Callable[..., EventJournal]


@pytest.fixture
async def begin(database: SqlDatabase, tmp_path: Path) -> Begin:
    """Begin the journal of a worker; all of them have one directory."""
    await store_realms(database, "demo")

    def begun(of: SqlDatabase = database, **bounds: int) -> EventJournal:
        return EventJournal(_directory(tmp_path), of, **bounds)

    return begun


def _directory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "events"


def _files(tmp_path: Path) -> list[Path]:
    return sorted(_directory(tmp_path).glob("*.events"))


async def _stored(database: SqlDatabase) -> list[UserEvent]:
    async with database.read() as stores:
        page = EventPage(maximum=10_000, newest_first=False)
        return list(await stores.user_events.page("demo-id", UserEventQuery(), page))


async def _ids(database: SqlDatabase) -> list[str]:
    return [event.id for event in await _stored(database)]


async def test_an_event_is_stored_as_it_was_kept(begin: Begin, database: SqlDatabase) -> None:
    journal = begin()
    events = [
        user_event("1"),
        UserEvent("2", "demo-id", NOW.replace(minute=59), user_event("1").kind),
        user_event("3", error="invalid_user", details={"a": 'ü \n " \u2028', "b": "\0"}),
    ]
    assert all(journal.append(event) for event in events)
    await journal.settle()
    assert sorted(await _stored(database), key=lambda event: event.id) == events


async def test_nothing_is_kept_and_nothing_made_where_nothing_happens(
    begin: Begin, tmp_path: Path
) -> None:
    journal = begin()
    await journal.settle()
    await journal.close()
    assert not _directory(tmp_path).exists()


async def test_what_is_kept_is_for_the_eyes_of_the_gateway_alone(
    begin: Begin, tmp_path: Path
) -> None:
    begin().append(user_event("1"))
    assert stat.S_IMODE(_directory(tmp_path).stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in _files(tmp_path)] == [0o600]


async def test_whoever_asks_first_stores_what_every_worker_has_kept(
    begin: Begin, database: SqlDatabase
) -> None:
    one, other, asked = begin(), begin(), begin()
    one.append(user_event("1"))
    other.append(user_event("2"))
    await asked.settle()
    one.append(user_event("3"))
    await asked.settle()
    assert await _ids(database) == ["1", "2", "3"]


async def test_what_was_removed_from_the_database_does_not_come_back(
    begin: Begin, database: SqlDatabase
) -> None:
    one, other = begin(), begin()
    one.append(user_event("1"))
    await other.settle()
    async with database.write() as stores:
        await stores.user_events.remove("demo-id", NOW.replace(year=3000), 10)
    await one.settle()
    await one.close()
    await other.settle()
    assert await _ids(database) == []


async def test_a_segment_is_removed_once_it_is_stored_and_its_writer_has_ended(
    begin: Begin, tmp_path: Path
) -> None:
    one, other = begin(), begin()
    one.append(user_event("1"))
    await other.settle()
    assert len(_files(tmp_path)) == 1
    await one.close()
    assert _files(tmp_path) == []


async def test_an_event_that_was_stored_before_its_position_was_noted_is_not_stored_again(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    for number in range(3):
        journal.append(user_event(str(number)))
    [path] = _files(tmp_path)
    before = path.read_bytes()
    await journal.settle()
    path.write_bytes(before)
    await journal.close()
    assert await _ids(database) == ["0", "1", "2"]


async def test_more_than_a_batch_is_stored_whole_and_in_order(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    names = [str(number) for number in range(3000)]
    for name in names:
        journal.append(user_event(name))
    [path] = _files(tmp_path)
    assert path.stat().st_size > 4 * BATCH
    await journal.settle()
    assert await _ids(database) == names


@pytest.mark.parametrize("rest", [b'["half', b"\xff\x00", b"[" * 5000, b"{}", b"null", b"[1]"])
async def test_what_is_no_event_is_passed_over(
    begin: Begin, database: SqlDatabase, tmp_path: Path, rest: bytes
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    [path] = _files(tmp_path)
    with path.open("ab") as segment:
        segment.write(rest + b"\n")
    journal.append(user_event("2"))
    await journal.settle()
    assert await _ids(database) == ["1", "2"]


async def test_noise_longer_than_a_batch_is_passed_over(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    [path] = _files(tmp_path)
    with path.open("ab") as segment:
        segment.write(b"\0" * 3 * BATCH + b"\n")
    journal.append(user_event("2"))
    await journal.settle()
    assert await _ids(database) == ["1", "2"]


async def test_a_record_that_is_being_written_is_waited_for(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    journal.append(user_event("2"))
    [path] = _files(tmp_path)
    whole = path.read_bytes()
    os.truncate(path, len(whole) - 40)
    await journal.settle()
    assert await _ids(database) == ["1"]
    with path.open("r+b") as segment:
        segment.seek(len(whole) - 40)
        segment.write(whole[-40:])
    await journal.settle()
    assert await _ids(database) == ["1", "2"]


async def test_half_a_record_of_a_writer_that_died_is_left_out(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    journal.append(user_event("2"))
    [path] = _files(tmp_path)
    os.truncate(path, path.stat().st_size - 40)
    await journal.close()
    assert await _ids(database) == ["1"]
    assert _files(tmp_path) == []


@pytest.mark.parametrize("unfit", ["NUL \0", "long " * 100])
async def test_an_event_that_no_store_holds_keeps_no_other_from_being_stored(
    begin: Begin, database: SqlDatabase, unfit: str
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    journal.append(user_event("2", client_id=unfit))
    journal.append(user_event("3"))
    await journal.settle()
    assert await _ids(database) == ["1", "3"]


async def test_an_event_that_is_no_unicode_is_refused(begin: Begin, database: SqlDatabase) -> None:
    journal = begin()
    assert not journal.append(user_event("1", client_id="\ud800"))
    assert journal.append(user_event("2"))
    await journal.settle()
    assert await _ids(database) == ["2"]


async def test_events_of_a_realm_that_has_gone_are_dropped(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1", of="gone"))
    journal.append(user_event("2"))
    await journal.close()
    assert await _ids(database) == ["2"]
    assert _files(tmp_path) == []


async def test_segments_follow_each_other(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin(largest_segment=500)
    for number in range(9):
        journal.append(user_event(str(number)))
    assert len(_files(tmp_path)) > 1
    await journal.close()
    assert await _ids(database) == [str(number) for number in range(9)]
    assert _files(tmp_path) == []


async def test_events_beyond_the_bound_are_refused_until_there_is_room(
    begin: Begin, database: SqlDatabase
) -> None:
    journal = begin(largest_segment=1_000, largest_journal=3_000)
    kept = [journal.append(user_event(str(number))) for number in range(50)]
    oldest = kept.index(False)
    assert kept == [True] * oldest + [False] * (50 - oldest)
    assert 3_000 <= journal.size < 4_500
    await journal.settle()
    assert await _ids(database) == [str(number) for number in range(oldest)]
    await eventually(lambda: journal.append(user_event("99")))


@pytest.fixture
async def nowhere(secrets_at_rest: SecretsAtRest, tmp_path: Path) -> AsyncIterator[SqlDatabase]:
    """Return a database that does not answer."""
    database = SqlDatabase(Secret(f"sqlite:///{tmp_path}/nowhere/missing.db"), secrets_at_rest)
    yield database
    await database.dispose()


async def test_without_a_database_events_wait_and_whoever_asks_is_told(
    begin: Begin, database: SqlDatabase, nowhere: SqlDatabase
) -> None:
    journal = begin(nowhere)
    journal.append(user_event("1"))
    with pytest.raises(StoreUnavailable):
        await journal.settle()
    await journal.close()
    await begin().settle()
    assert await _ids(database) == ["1"]


async def test_a_worker_stores_by_itself_what_it_and_dead_ones_have_kept(
    begin: Begin, database: SqlDatabase
) -> None:
    dead, journal = begin(), begin()
    dead.append(user_event("1"))
    keeping = asyncio.create_task(journal.keep())
    try:
        await _eventually_stored(database, ["1"])
        journal.append(user_event("2"))
        await _eventually_stored(database, ["1", "2"])
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def test_a_worker_leaves_it_to_another_that_stores_already_and_looks_again(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    await journal.settle()
    journal.append(user_event("2"))
    with (_directory(tmp_path) / "storing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        keeping = asyncio.create_task(journal.keep())
        await asyncio.wait({keeping}, timeout=0.1)
        assert await _ids(database) == ["1"]
    try:
        await _eventually_stored(database, ["1", "2"])
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def test_who_has_kept_nothing_ends_without_storing_what_others_have(
    begin: Begin, database: SqlDatabase
) -> None:
    begin().append(user_event("1"))
    await begin().close()
    assert await _ids(database) == []


async def test_without_a_database_a_worker_brings_to_the_disk_what_it_has_kept(
    begin: Begin, nowhere: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    journal = begin(nowhere)
    journal.append(user_event("1"))
    keeping = asyncio.create_task(journal.keep())
    try:
        await eventually(lambda: bool(synced))
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def _eventually_stored(database: SqlDatabase, names: list[str]) -> None:
    async def look() -> None:
        assert await _ids(database) == names

    await eventually_succeeds(look, AssertionError, within=10)


async def test_whoever_asks_waits_for_another_that_stores_already(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    await journal.settle()
    journal.append(user_event("2"))
    with (_directory(tmp_path) / "storing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        settling = asyncio.create_task(journal.settle())
        done, _ = await asyncio.wait({settling}, timeout=0.1)
        assert not done
        assert await _ids(database) == ["1"]
    await settling
    assert await _ids(database) == ["1", "2"]


async def test_whoever_ends_waits_for_another_that_stores_already(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    with (_directory(tmp_path) / "storing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        closing = asyncio.create_task(journal.close())
        done, _ = await asyncio.wait({closing}, timeout=0.1)
        assert not done
    await closing
    assert await _ids(database) == ["1"]


def _writer(tmp_path: Path, *names: str) -> subprocess.Popen[str]:
    """Run a process that keeps events, and goes on until it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(_directory(tmp_path)), *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().split() == ["True"] * len(names)
    return process


async def test_a_process_that_is_killed_loses_no_event(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    with _writer(tmp_path, "1", "2", "3") as process:
        process.send_signal(signal.SIGKILL)
    await begin().settle()
    assert await _ids(database) == ["1", "2", "3"]
    assert _files(tmp_path) == []


async def test_the_segment_of_a_process_that_lives_is_left_to_it(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    with _writer(tmp_path, "1") as process:
        await begin().settle()
        assert await _ids(database) == ["1"]
        assert len(_files(tmp_path)) == 1
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
        [sys.executable, "-c", _FULL_DISK, str(_directory(tmp_path))],
        capture_output=True,
        text=True,
        check=True,
    )
    return [word == "True" for word in process.stdout.split() if word in {"True", "False"}]


async def test_on_a_full_disk_events_are_refused_and_the_next_one_is_whole(
    begin: Begin, database: SqlDatabase, tmp_path: Path
) -> None:
    *kept, last = _kept_on_a_full_disk(tmp_path)
    assert kept == sorted(kept, reverse=True)
    assert last
    assert True in kept
    assert False in kept
    await begin().settle()
    assert await _ids(database) == [*map(str, range(kept.count(True))), "9"]


async def test_an_event_longer_than_a_batch_is_refused(begin: Begin, database: SqlDatabase) -> None:
    journal = begin()
    assert not journal.append(user_event("1", details={"reason": "ä" * BATCH}))
    assert journal.append(user_event("2"))
    await journal.settle()
    assert await _ids(database) == ["2"]
