"""No test waits for ever in C, nor does its teardown where it has failed."""

import subprocess
import sys
from pathlib import Path

import pytest

_PASSES = """
def test_that_passes():
    pass
"""
_WAITS = """
import os
import pytest

@pytest.fixture
def waits():
    yield
    os.read(os.pipe()[0], 1)

def test_that_fails(waits):
    raise AssertionError
"""

_WAITS_IN_C = """
import ctypes
import os

def test_that_waits():
    byte = ctypes.create_string_buffer(1)
    while True:  # as C libraries do after a signal
        ctypes.CDLL(None).read(os.pipe()[0], byte, 1)
"""


@pytest.mark.parametrize(
    ("code", "waiting"), [(_WAITS, "in waits"), (_WAITS_IN_C, "in test_that_waits")]
)
def test_what_has_no_end_is_ended_and_shown(tmp_path: Path, code: str, waiting: str) -> None:
    (tmp_path / "test_it.py").write_text(_PASSES + code)
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.time_limit"]
    options = [
        "-p",
        "no:cacheprovider",
        "-o",
        "process_timeout=1",
        "-o",
        "timeout=99",
        "--rootdir",
        str(tmp_path),
    ]
    ended = subprocess.run(
        [*command, *options, str(tmp_path / "test_it.py")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 1
    assert "Timeout" in ended.stderr
    assert waiting in ended.stderr
