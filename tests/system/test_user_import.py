"""`realmgate user import`: files that are longer than memory should be, and how it ends."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.forked_gateway import run_command

REALM = {"realm": "acme", "enabled": True, "defaultSignatureAlgorithm": "ES256"}
MANY = 5_200
MEGABYTE = 1024
"""`ru_maxrss` counts kilobytes."""
HASHED = {
    "type": "password",
    "credentialData": json.dumps({"hashIterations": 5, "algorithm": "argon2"}),
    "secretData": json.dumps({"value": "A" * 43 + "=", "salt": "c2FsdHNhbHQ="}),
}


def person(number: int) -> dict[str, Any]:
    return {
        "username": f"user{number}",
        "enabled": True,
        "email": f"user{number}@acme.test",
        "attributes": {"about": [f"{number} {part} " + "x" * 3000 for part in range(4)]},
        "credentials": [HASHED],
        "realmRoles": ["default-roles-acme"],
    }


@dataclass(frozen=True, slots=True)
class Shell:
    """The command as a process, in a state folder of its own."""

    folder: Path

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run it; return exit code, output and errors."""
        done = run_command(arguments, cwd=self.folder, env=self._environment)
        return done.returncode, done.stdout, done.stderr

    def measure(self, *arguments: str) -> tuple[int, str, str, int]:
        """Run it as a program of its own; return also the most memory that it took."""
        # A process that only waits: its own peak must not be counted as the command's.
        report = (
            "import resource, subprocess, sys;"
            "code = subprocess.run(sys.argv[1:]).returncode;"
            "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss;"
            "print(f'\\npeak {peak}'); sys.exit(code)"
        )
        command = [sys.executable, "-m", "gateway", *arguments]
        done = subprocess.run(
            [sys.executable, "-c", report, *command],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        output, _, peak = done.stdout.rpartition("\npeak ")
        return done.returncode, output, done.stderr, int(peak)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "REALMGATE_STATE_DIR": str(self.folder / "state"),
        }

    def file(self, parts: Iterable[str]) -> str:
        """Write a file."""
        path = self.folder / "users.json"
        with path.open("w") as file:
            file.writelines(parts)
        return str(path)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Make a state folder with the realm `acme`."""
    (tmp_path / "realm.json").write_text(json.dumps(REALM))
    found = Shell(tmp_path)
    assert found.run("realm", "import", "realm.json")[0] == 0
    return found


def test_an_export_of_any_length_is_imported_in_little_memory(shell: Shell) -> None:
    small = shell.file(['{"users": [', json.dumps(person(MANY)), "]}"])
    code, output, errors, base = shell.measure("user", "import", "--realm", "acme", small)
    assert (code, output) == (0, "realm acme: 1 user added, 0 known before\n"), errors
    users = (f"{json.dumps(person(number))}," for number in range(MANY))
    large = shell.file(
        [json.dumps(REALM)[:-1], ', "users": [', *users, json.dumps(person(MANY)), '], "x": 1}']
    )
    assert Path(large).stat().st_size > 60 * MEGABYTE * 1024
    code, output, errors, peak = shell.measure("user", "import", "--realm", "acme", large)
    assert (code, output) == (0, f"realm acme: {MANY} users added, 1 known before\n"), errors
    assert peak - base < 40 * MEGABYTE
    assert "Importing" not in errors


def test_a_refused_user_ends_the_import_or_is_left_out(shell: Shell) -> None:
    users = [person(1), {**person(2), "email": "a b"}, person(3)]
    file = shell.file(json.dumps(user) + "\n" for user in users)
    code, output, errors = shell.run("user", "import", "--realm", "acme", file)
    assert (code, output) == (2, "")
    assert errors.startswith('Error: users[2].email: "a b" given,')
    arguments = ("--realm", "acme", "--continue", "--output", "json", file)
    code, output, errors = shell.run("user", "import", *arguments)
    assert code == 1
    assert json.loads(output) == {"realm": "acme", "added": 2, "known": 0, "refused": 1}
    assert errors.splitlines()[0].startswith('refused: users[2].email: "a b" given,')


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--realm", "nowhere"), "there is no realm 'nowhere'"),
        (("--realm", "acme", "missing.json"), "'missing.json' does not exist"),
        ((), "Missing option '--realm'"),
    ],
)
def test_bad_input_ends_with_2(shell: Shell, arguments: tuple[str, ...], told: str) -> None:
    file = () if arguments and arguments[-1].endswith("json") else (shell.file("[]"),)
    code, _, errors = shell.run("user", "import", *arguments, *file)
    assert code == 2
    assert told in errors
