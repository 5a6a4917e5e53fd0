"""A gateway that tests share ends when no later test uses it."""

import subprocess
import sys
from pathlib import Path

_FIXTURES = """
import pytest

RUNNING = []

@pytest.fixture(scope="session")
def wire():
    RUNNING.append("wire")
    yield
    RUNNING.remove("wire")

@pytest.fixture(scope="session")
def other():
    RUNNING.append("other")
    yield
    RUNNING.remove("other")

@pytest.fixture
def running():
    return RUNNING
"""
_FIRST = """
def test_that_uses_both(wire, other, running):
    assert running == ["wire", "other"]

def test_that_uses_none(running):
    assert running == ["wire", "other"]

def test_that_uses_it_last(wire, running):
    assert running == ["wire", "other"]
"""
_SECOND = """
def test_that_comes_later(running):
    assert running == ["other"]

def test_that_asks_again(request, running):
    request.getfixturevalue("wire")
    assert running == ["other", "wire"]

def test_that_comes_last(running):
    assert running == ["other", "wire"]
"""


def test_a_shared_gateway_ends_after_its_last_test(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(_FIXTURES)
    (tmp_path / "test_first.py").write_text(_FIRST)
    (tmp_path / "test_second.py").write_text(_SECOND)
    plugins = ["-p", "tests.support.finished_fixtures", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout
