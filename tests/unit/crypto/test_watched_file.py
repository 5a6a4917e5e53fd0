"""A watched file is read again when it may have changed, and only then."""

import os
import sys
import time
from pathlib import Path

import pytest

from gateway.crypto.x509.authorities import WatchedFile

HOUR = 3_600 * 10**9
opened: list[str] = []


def note_opened(event: str, arguments: tuple[object, ...]) -> None:
    """Note each file of a test that is opened: a hook cannot be removed."""
    if event == "open" and str(arguments[0]).endswith("watched.crl"):
        opened.append(str(arguments[0]))


sys.addaudithook(note_opened)


@pytest.mark.parametrize("file_ahead", [0, HOUR], ids=["now", "copied from the future"])
@pytest.mark.parametrize("clock", [HOUR, -HOUR], ids=["an hour later", "clock set back"])
def test_a_settled_file_is_not_read_for_each_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_ahead: int, clock: int
) -> None:
    path = tmp_path / "watched.crl"
    path.write_bytes(b"list")
    written = path.stat().st_mtime_ns + 2 * file_ahead
    os.utime(path, ns=(written, written))
    now = time.time_ns() + clock
    monkeypatch.setattr(time, "time_ns", lambda: now)
    watched = WatchedFile(path)
    assert watched.read_content() == b"list"
    opened.clear()
    assert [watched.read_if_changed() for _ in range(3)] == [None] * 3
    assert opened == []
    path.write_bytes(b"next")
    assert watched.read_if_changed() == b"next"


@pytest.mark.parametrize("file_ahead", [0, HOUR], ids=["now", "copied from the future"])
def test_a_file_that_was_just_written_is_compared_by_its_content(
    tmp_path: Path, file_ahead: int
) -> None:
    path = tmp_path / "watched.crl"
    path.write_bytes(b"list")
    written = path.stat().st_mtime_ns + file_ahead
    os.utime(path, ns=(written, written))
    watched = WatchedFile(path)
    watched.read_content()
    opened.clear()
    assert watched.read_if_changed() is None
    assert opened == [str(path)]
