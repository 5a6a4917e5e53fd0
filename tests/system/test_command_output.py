"""What commands write to goes away, is full, or is no file: one line says so, and nothing is lost.

The exit code is 1, and no traceback is shown. Attacks F10.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.support.gateway_process import Gateway, start_gateway

FULL = Path("/dev/full")
REALM = {
    "realm": "r",
    "enabled": True,
    "users": [{"username": f"user-{number}"} for number in range(2000)],
}
EXPORT = ("realm", "export", "r")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Run a gateway whose database the commands share."""
    folder = tmp_path_factory.mktemp("output")
    (folder / "realms.json").write_text(json.dumps(REALM))
    with start_gateway(folder, import_realm=folder / "realms.json") as gateway:
        yield gateway


def run(gateway: Gateway, output: IO[bytes] | int, *arguments: str) -> tuple[int, str]:
    """Return the exit code of a command, and what it said beside its output."""
    done = subprocess.run(
        [sys.executable, "-m", "gateway", *arguments],
        env={"PATH": os.environ["PATH"], "REALMGATE_STATE_DIR": str(gateway.state_dir)},
        cwd=gateway.state_dir,
        stdout=output,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr.decode()


def test_a_reader_that_closes_early_ends_an_export_silently(gateway: Gateway) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert run(gateway, writing, *EXPORT) == (1, "")
    finally:
        os.close(writing)


@pytest.mark.parametrize("command", [EXPORT, ("realm", "list"), ("user", "list", "--realm", "r")])
def test_a_full_disk_is_told_in_one_line(gateway: Gateway, command: tuple[str, ...]) -> None:
    with FULL.open("wb") as output:
        assert run(gateway, output, *command) == (1, "Error: No space left on device\n")


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_an_export_takes_the_place_of_files_alone(
    gateway: Gateway, tmp_path: Path, kind: str
) -> None:
    """It is moved into place, and /dev/null is not to become a file where root says --output."""
    target, kept = tmp_path / "target", tmp_path / "kept"
    kept.write_text("kept")
    make: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(target),
        "link": lambda: target.symlink_to(kept),
        "folder": target.mkdir,
    }
    make[kind]()
    before = target.lstat()
    code, told = run(gateway, subprocess.DEVNULL, *EXPORT, "--output", str(target))
    assert code != 0
    assert str(target) in told
    assert "Traceback" not in told
    assert target.lstat().st_ino == before.st_ino
    assert kept.read_text() == "kept"
    assert len(list(tmp_path.iterdir())) == 2
