"""Ansible with community.general, as pip installs it, on the playbooks of tests/clients/ansible."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.administered_server import ADMINISTRATOR, ROOT, AdministeredServer

PROGRAMS = ROOT / ".venv-clients/bin"
PLAYBOOKS = ROOT / "tests/clients/ansible"
PYTHON = PLAYBOOKS / "python"
_PATIENCE = 120
_CHECKS = ("check", "check afterwards")
_EXPECTED = {
    "check": True,
    "first run": True,
    "second run": False,
    "check afterwards": False,
    "removal": True,
    "second removal": False,
}


@dataclass(frozen=True, slots=True)
class Runs:
    """What each task of each play answered."""

    plays: Mapping[str, Mapping[str, Any]]

    def of(self, play: str, task: str = "") -> dict[str, Any]:
        """Return what a task of a play answered, the first one unless named."""
        answers = self.plays[play]
        found: dict[str, Any] = answers[task] if task else next(iter(answers.values()))
        return found

    @property
    def failures(self) -> dict[str, str]:
        """Return what the tasks complained of."""
        return {
            f"{play}: {task}": answer["msg"]
            for play, answers in self.plays.items()
            for task, answer in answers.items()
            if answer.get("failed")
        }

    def changed(self, play: str) -> dict[str, bool]:
        """Return which tasks of a play changed something."""
        return {task: answer["changed"] for task, answer in self.plays[play].items()}


@dataclass(frozen=True, slots=True)
class Playbook:
    """A playbook of tests/clients/ansible and its variables."""

    name: str
    realm: str
    file: str = ""
    """Without `.yml`; the name unless given."""
    variables: Mapping[str, Any] = field(default_factory=dict)

    @property
    def imported(self) -> dict[str, Any]:
        """Return the entry of another playbook that runs this one."""
        variables = {"realm": self.realm, **self.variables}
        return {"import_playbook": str(self._path), "vars": variables}

    @property
    def length(self) -> int:
        """Return the number of plays."""
        return len(yaml.safe_load(self._path.read_text()))

    @property
    def _path(self) -> Path:
        return PLAYBOOKS / f"{self.file or self.name}.yml"


def every_state(subject: str, realm: str, *, checks: bool = False, **variables: Any) -> Playbook:
    """Return a playbook that creates the objects of a file of tasks and removes them, twice each.

    With `checks`, also in check mode, in which most modules send the same requests and write
    nothing.
    """
    given = {"subject": str(PLAYBOOKS / f"{subject}.yml"), "checks": checks, **variables}
    return Playbook(subject, realm, "every_state", given)


@dataclass(frozen=True, slots=True)
class Ansible:
    """ansible-playbook, and the server it administers."""

    server: AdministeredServer
    home: Path
    environment: Mapping[str, str]

    def play(self, *playbooks: Playbook) -> dict[str, Runs]:
        """Run playbooks one after another; a task that fails ends them. Return them by name."""
        program = PROGRAMS / "ansible-playbook"
        assert program.exists(), "Ansible is not installed: scripts/test installs it"
        given = {
            "server": self.credentials,
            "ansible_python_interpreter": str(self.home / "interpreter"),
        }
        variables, all_of_them = self.home / "variables.json", self.home / "playbooks.yml"
        variables.write_text(json.dumps(given))
        all_of_them.write_text(json.dumps([playbook.imported for playbook in playbooks]))
        done = subprocess.run(
            [program, "--extra-vars", f"@{variables}", all_of_them],
            cwd=PLAYBOOKS,
            env={**self.environment, **self.server.environment()},
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
        assert done.stdout.startswith("{"), done.stdout + done.stderr
        plays = iter(_plays(done.stdout))
        return {
            playbook.name: Runs(
                {play["play"]["name"]: _answers(play) for play in islice(plays, playbook.length)}
            )
            for playbook in playbooks
        }

    @property
    def credentials(self) -> dict[str, str]:
        """Return what every module is told of the server."""
        return {
            "auth_keycloak_url": self.server.url,
            "auth_realm": "master",
            "auth_username": ADMINISTRATOR,
            "auth_password": self.server.password,
        }


WITH_CHECKS = tuple(_EXPECTED)
WITHOUT_CHECKS = tuple(play for play in _EXPECTED if play not in _CHECKS)


def converged(runs: Runs, plays: tuple[str, ...] = WITHOUT_CHECKS) -> None:
    """Fail unless each play changed what it should, and no task failed."""
    assert runs.failures == {}
    expected = {
        play: dict.fromkeys(runs.plays["first run"], changes)
        for play, changes in _EXPECTED.items()
        if play in plays
    }
    assert {play: runs.changed(play) for play in expected} == expected


def _plays(output: str) -> list[dict[str, Any]]:
    plays: list[dict[str, Any]] = json.loads(output)["plays"]
    return plays


def _answers(play: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of the modules, by the name of the task."""
    return {
        task["task"]["name"]: answer
        for task in play["tasks"]
        for answer in task["hosts"].values()
        if answer["action"] != "ansible.builtin.include_tasks" or answer.get("failed")
    }


def _environment(home: Path) -> dict[str, str]:
    byte_code = home / "byte-code"
    byte_code.mkdir()
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(PYTHON),
        "ANSIBLE_BYTE_CODE": str(byte_code),
        "ANSIBLE_TASK_SERVER": str(home / "tasks"),
    }


def _copy_target_package(target: Path) -> Path:
    """Copy the part of the package `ansible` that Ansible sends with a task."""
    (found,) = PROGRAMS.parent.glob("lib/python3*/site-packages/ansible/module_utils")
    shutil.copytree(found, target / "ansible/module_utils")
    (target / "ansible/__init__.py").touch()
    return target


@pytest.fixture(scope="session")
def ansible(
    tmp_path_factory: pytest.TempPathFactory, administered: AdministeredServer
) -> Iterator[Ansible]:
    """Return ansible-playbook with a home of its own, and a process to fork its tasks from."""
    home = tmp_path_factory.mktemp("ansible")
    environment = _environment(home)
    tasks = Path(environment["ANSIBLE_TASK_SERVER"])
    interpreter = home / "interpreter"
    interpreter.write_text(f"#!{PROGRAMS}/python -IS\n{(PYTHON / 'task_client.py').read_text()}")
    interpreter.chmod(0o700)
    libraries = _copy_target_package(home / "libraries")
    arguments = [PROGRAMS / "python", PYTHON / "task_server.py", libraries, tasks]
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"listening\n"
            yield Ansible(administered, home, environment)
        finally:
            server.kill()
