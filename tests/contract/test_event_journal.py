"""Events on their way to SQL: each is stored once, and whatever stands around it."""

import json
import os
import stat
from itertools import product
from pathlib import Path

import pytest

from gateway.domain.events import UserEvent
from gateway.storage.event_journal import BATCH, read_record, write_record
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.event_journals import (
    BeginJournal,
    journal_directory,
    journal_files,
    stored_events,
    stored_ids,
)
from tests.support.stored_events import user_event
from tests.support.stored_values import NOW


async def test_an_event_is_stored_as_it_was_kept(
    begin: BeginJournal, database: SqlDatabase
) -> None:
    journal = begin()
    events = [
        user_event("1"),
        UserEvent("2", "demo-id", NOW.replace(minute=59), user_event("1").kind),
        user_event("3", error="invalid_user", details={"a": 'ü \n " \u2028', "b": "\0"}),
    ]
    assert all(journal.append(event) for event in events)
    await journal.settle()
    assert sorted(await stored_events(database), key=lambda event: event.id) == events


async def test_nothing_is_kept_and_nothing_made_where_nothing_happens(
    begin: BeginJournal, tmp_path: Path
) -> None:
    journal = begin()
    await journal.settle()
    await journal.close()
    assert not journal_directory(tmp_path).exists()


async def test_what_is_kept_is_for_the_eyes_of_the_gateway_alone(
    begin: BeginJournal, tmp_path: Path
) -> None:
    begin().append(user_event("1"))
    assert stat.S_IMODE(journal_directory(tmp_path).stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in journal_files(tmp_path)] == [0o600]


async def test_whoever_asks_first_stores_what_every_worker_has_kept(
    begin: BeginJournal, database: SqlDatabase
) -> None:
    one, other, asked = begin(), begin(), begin()
    one.append(user_event("1"))
    other.append(user_event("2"))
    await asked.settle()
    one.append(user_event("3"))
    await asked.settle()
    assert await stored_ids(database) == ["1", "2", "3"]


async def test_what_was_removed_from_the_database_does_not_come_back(
    begin: BeginJournal, database: SqlDatabase
) -> None:
    one, other = begin(), begin()
    one.append(user_event("1"))
    await other.settle()
    async with database.write() as stores:
        await stores.user_events.remove_oldest("demo-id", NOW.replace(year=3000), 10)
    await one.settle()
    await one.close()
    await other.settle()
    assert await stored_ids(database) == []


async def test_a_stored_segment_of_an_ended_writer_is_removed(
    begin: BeginJournal, tmp_path: Path
) -> None:
    one, other = begin(), begin()
    one.append(user_event("1"))
    await other.settle()
    assert len(journal_files(tmp_path)) == 1
    await one.close()
    assert journal_files(tmp_path) == []


async def test_an_event_is_not_stored_twice_after_a_crash(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    for number in range(3):
        journal.append(user_event(str(number)))
    [path] = journal_files(tmp_path)
    before = path.read_bytes()
    await journal.settle()
    path.write_bytes(before)
    await journal.close()
    assert await stored_ids(database) == ["0", "1", "2"]


@pytest.mark.parametrize("position", [b"9" * 20, b"0" * 19 + b"x", b"-" + b"1" * 19])
async def test_a_position_that_no_one_noted_loses_no_event(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path, position: bytes
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    [path] = journal_files(tmp_path)
    with path.open("r+b") as segment:
        segment.write(position)
    await journal.close()
    assert await stored_ids(database) == ["1"]


async def test_more_than_a_batch_is_stored_whole_and_in_order(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    names = [str(number) for number in range(3000)]
    for name in names:
        journal.append(user_event(name))
    [path] = journal_files(tmp_path)
    assert path.stat().st_size > 4 * BATCH
    await journal.settle()
    assert await stored_ids(database) == names


_NO_EVENTS = (
    *(b'["half', b"\xff\x00", b"[" * 5000, b"{}", b"null", b"[1]"),
    b'["x","demo-id",1,"LOGIN",["a"],null,null,null,null,{}]',
    b'["x","demo-id",1,"LOGIN",null,null,{"a":1},null,null,{}]',
    b'["x",7,1,"LOGIN",null,null,null,null,null,{}]',
    b'["x","demo-id",true,"LOGIN",null,null,null,null,null,{}]',
    b'["x","demo-id",1,"LOGIN",null,null,null,null,null,{"a":[1]}]',
    b'["x","demo-id",1,"LOGIN",null,null,null,null,null,["ab"]]',
)


@pytest.mark.parametrize("rest", _NO_EVENTS)
async def test_what_is_no_event_is_passed_over(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path, rest: bytes
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    [path] = journal_files(tmp_path)
    with path.open("ab") as segment:
        segment.write(rest + b"\n")
    journal.append(user_event("2"))
    await journal.settle()
    assert await stored_ids(database) == ["1", "2"]


_KINDS: tuple[object, ...] = (
    None,
    True,
    1,
    2**80,
    1.5,
    "LOGIN",
    [],
    ["a"],
    [["a"]],
    {},
    {"a": "b"},
    {"a": {}},
)
_MEMBERS: tuple[object, ...] = (
    "x",
    "demo-id",
    1,
    "LOGIN",
    None,
    None,
    None,
    None,
    None,
    {},
    [True, "webhook"],
)


def test_no_line_of_json_fails_the_reader() -> None:
    """Each kind of value in each place of a record, the record itself, and its length."""
    lines: list[object] = [*_KINDS, dict.fromkeys(map(str, range(12)))]
    for place, kind in product(range(len(_MEMBERS)), _KINDS):
        changed: list[object] = [*_MEMBERS]
        changed[place] = kind
        lines += (changed, changed[: place + 1])
    for line in lines:
        logged = read_record(json.dumps(line).encode())
        assert logged is None or isinstance(line, list)
        assert logged is None or read_record(write_record(logged)) == logged


async def test_noise_longer_than_a_batch_is_passed_over(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    [path] = journal_files(tmp_path)
    with path.open("ab") as segment:
        segment.write(b"\0" * 3 * BATCH + b"\n")
    journal.append(user_event("2"))
    await journal.settle()
    assert await stored_ids(database) == ["1", "2"]


async def test_a_record_that_is_being_written_is_waited_for(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    journal.append(user_event("2"))
    [path] = journal_files(tmp_path)
    whole = path.read_bytes()
    os.truncate(path, len(whole) - 40)
    await journal.settle()
    assert await stored_ids(database) == ["1"]
    with path.open("r+b") as segment:
        segment.seek(len(whole) - 40)
        segment.write(whole[-40:])
    await journal.settle()
    assert await stored_ids(database) == ["1", "2"]


async def test_half_a_record_of_a_writer_that_died_is_left_out(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    journal.append(user_event("2"))
    [path] = journal_files(tmp_path)
    os.truncate(path, path.stat().st_size - 40)
    await journal.close()
    assert await stored_ids(database) == ["1"]
    assert journal_files(tmp_path) == []


@pytest.mark.parametrize("unfit", ["NUL \0", "long " * 100])
async def test_an_unstorable_event_blocks_no_other(
    begin: BeginJournal, database: SqlDatabase, unfit: str
) -> None:
    journal = begin()
    journal.append(user_event("1"))
    journal.append(user_event("2", client_id=unfit))
    journal.append(user_event("3"))
    await journal.settle()
    assert await stored_ids(database) == ["1", "3"]


async def test_an_event_that_is_no_unicode_is_refused(
    begin: BeginJournal, database: SqlDatabase
) -> None:
    journal = begin()
    assert not journal.append(user_event("1", client_id="\ud800"))
    assert journal.append(user_event("2"))
    await journal.settle()
    assert await stored_ids(database) == ["2"]


async def test_events_of_a_realm_that_has_gone_are_dropped(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin()
    journal.append(user_event("1", of="gone"))
    journal.append(user_event("2"))
    await journal.close()
    assert await stored_ids(database) == ["2"]
    assert journal_files(tmp_path) == []


async def test_segments_follow_each_other(
    begin: BeginJournal, database: SqlDatabase, tmp_path: Path
) -> None:
    journal = begin(largest_segment=500)
    for number in range(9):
        journal.append(user_event(str(number)))
    assert len(journal_files(tmp_path)) > 1
    await journal.close()
    assert await stored_ids(database) == [str(number) for number in range(9)]
    assert journal_files(tmp_path) == []


async def test_events_beyond_the_bound_are_refused_until_there_is_room(
    begin: BeginJournal, database: SqlDatabase
) -> None:
    journal = begin(largest_segment=1_000, largest_journal=3_000)
    kept = [journal.append(user_event(str(number))) for number in range(50)]
    oldest = kept.index(False)
    assert kept == [True] * oldest + [False] * (50 - oldest)
    assert 3_000 <= journal.size < 4_500
    await journal.settle()
    assert await stored_ids(database) == [str(number) for number in range(oldest)]
    await eventually(lambda: journal.append(user_event("99")))


async def test_an_event_longer_than_a_batch_is_refused(
    begin: BeginJournal, database: SqlDatabase
) -> None:
    journal = begin()
    assert not journal.append(user_event("1", details={"reason": "ä" * BATCH}))
    assert journal.append(user_event("2"))
    await journal.settle()
    assert await stored_ids(database) == ["2"]
