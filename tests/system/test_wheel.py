"""The wheel has all that the commands need: installed alone, each of them works."""

import csv
import io
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from gateway.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as an installer does."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (
        "import sys; sys.path.insert(0, 'scripts'); import wheel_backend;"
        "print(wheel_backend.build_wheel(sys.argv[1]))"
    )
    built = subprocess.run(
        [sys.executable, "-c", build, folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return folder / built.stdout.strip()


class Installation:
    """An environment with the wheel and what it depends on, and nothing of this folder."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.folder = folder
        environment = folder / "environment"
        make = [sys.executable, "-m", "venv", "--without-pip", str(environment)]
        subprocess.run(make, check=True, timeout=60)
        (packages,) = environment.glob("lib/python*/site-packages")
        with zipfile.ZipFile(wheel) as content:
            content.extractall(packages)
        # The dependencies alone: path files of a folder that is named so are not read.
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.python = environment / "bin" / "python"
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()

    def __call__(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run the command in an empty folder."""
        return subprocess.run(
            [self.python, "-m", "gateway", *arguments],
            cwd=self.elsewhere,
            env={"PATH": os.environ["PATH"], "REALMGATE_STATE_DIR": str(self.folder / "state")},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Install the wheel."""
    return Installation(wheel, tmp_path_factory.mktemp("installed"))


def test_the_program_comes_from_the_wheel(installed: Installation) -> None:
    where = [str(installed.python), "-c", "import gateway; print(gateway.__file__)"]
    found = subprocess.run(where, cwd="/", capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.startswith(str(installed.folder))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_be_asked_for_help(installed: Installation, command: str) -> None:
    asked = installed(command, "--help")
    assert asked.returncode == 0, asked.stderr
    assert f"realmgate {command}" in asked.stdout or f"gateway {command}" in asked.stdout


def test_commands_work_from_an_installed_wheel(installed: Installation) -> None:
    """Migrations, the reference realms and nginx's files are data: they come along."""
    for line in (
        "migrate",
        "realm import --reference",
        "realm export demo --output demo.json",
        "keys list",
        "keys rotate --realm demo",
        "user list --realm master",
        "settings show",
        "certs init",
        "certs show certs/device-1.crt",
    ):
        done = installed(*line.split())
        assert done.returncode == 0, (line, done.stdout, done.stderr)
    rendered = installed(
        *("nginx", "render", "--output", "nginx", "--upstream", "127.0.0.1:8000"),
        *("--certificates", "certs"),
    )
    assert rendered.returncode == 0, rendered.stderr
    for folder in ("run", "logs"):
        (installed.elsewhere / folder).mkdir()
    configuration = installed.elsewhere / "nginx/realmgate.conf"
    tried = subprocess.run(
        ["nginx", "-p", installed.elsewhere, "-c", configuration, "-t", "-e", "stderr"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert tried.returncode == 0, tried.stderr


def test_every_table_is_in_the_wheel(wheel: Path) -> None:
    tables = {str(path.relative_to(ROOT)) for path in (ROOT / "gateway").rglob("*.toml")}
    with zipfile.ZipFile(wheel) as content:
        assert tables - set(content.namelist()) == set()


def test_every_file_of_the_wheel_is_in_its_record(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        (record,) = [name for name in names if name.endswith("/RECORD")]
        rows = list(csv.reader(io.StringIO(content.read(record).decode())))
        sizes = {entry.filename: entry.file_size for entry in content.infolist()}
    assert sorted(row[0] for row in rows) == sorted(names)
    assert len(set(names)) == len(names)
    assert all(int(size) == sizes[name] for name, _, size in rows if size)
