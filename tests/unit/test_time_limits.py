"""No teardown waits for ever, not even that of a test that has failed."""

import subprocess
import sys
from pathlib import Path

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


def test_a_teardown_without_an_end_is_ended_and_shown(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_WAITS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.time_limit"]
    options = [
        "-p",
        "no:cacheprovider",
        "-o",
        "teardown_timeout=1",
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
    assert "in waits" in ended.stderr
