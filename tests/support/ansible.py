"""Ansible with community.general, as pip installs it, on the playbooks of tests/clients/ansible."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.administered_server import ADMINISTRATOR, ROOT, AdministeredServer

PROGRAMS = ROOT / ".venv-clients/bin"
PLAYBOOKS = ROOT / "tests/clients/ansible"
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
class Ansible:
    """ansible-playbook, and the server it administers."""

    server: AdministeredServer
    home: Path
    byte_code: Path

    def every_state(self, subject: str, realm: str, **variables: Any) -> Runs:
        """Run the tasks of a file for what is to be there, and then not, twice each.

        With `checks`, also in check mode, in which most modules ask for the same and write nothing.
        """
        return self.play("every_state", realm, **({"subject": f"{subject}.yml"} | variables))

    def play(self, playbook: str, realm: str, **variables: Any) -> Runs:
        """Run a playbook; `variables` are its own."""
        program = PROGRAMS / "ansible-playbook"
        assert program.exists(), "Ansible is not installed: scripts/test installs it"
        given = {"server": self.credentials, "realm": realm, "checks": False} | variables
        file = self.home / "variables.json"
        file.write_text(json.dumps(given))
        done = subprocess.run(
            [program, "--extra-vars", f"@{file}", PLAYBOOKS / f"{playbook}.yml"],
            cwd=PLAYBOOKS,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(self.home),
                "LC_ALL": "C.UTF-8",
                "PYTHONPATH": str(PLAYBOOKS / "python"),
                "ANSIBLE_BYTE_CODE": str(self.byte_code),
                **self.server.environment(),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
        assert done.stdout.startswith("{"), done.stdout + done.stderr
        return Runs({play["play"]["name"]: _answers(play) for play in _plays(done.stdout)})

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


@pytest.fixture(scope="session")
def ansible(tmp_path_factory: pytest.TempPathFactory, administered: AdministeredServer) -> Ansible:
    """Return ansible-playbook with a home of its own."""
    byte_code = tmp_path_factory.mktemp("ansible-byte-code")
    return Ansible(administered, tmp_path_factory.mktemp("ansible"), byte_code)
