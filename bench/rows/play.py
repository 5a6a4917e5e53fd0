"""A play of 50 tasks by Ansible, end to end: 50 password logins, 50 changes."""

import json
import time
from pathlib import Path

from bench.context import Bench
from bench.figures import Figure, Result
from bench.processes import LOAD_CORES, BenchError, output_of
from bench.stack import Stack, Start, stack
from bench.workspace import ROOT

TITLE = "A play of 50 tasks by Ansible"
HOW = (
    "ansible-playbook with community.general, as tests install it, makes 50 roles by keycloak_role"
    " through nginx, and then finds that nothing is to do. Each is a process of its own that signs"
    " in by password as admin of the realm master, whose passwords cost what a new realm's do."
    " Nearly all of the time is Python starting, so the gateway's processor time is the figure."
)
_TASKS = 50
_PASSWORD = "The Administrator's word of 1 measurement!"  # noqa: S105 - of nobody
_ANSIBLE = ROOT / ".venv-clients/bin/ansible-playbook"
_PLAY = [
    {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [
            {
                "name": "roles",
                "community.general.keycloak_role": {
                    "auth_keycloak_url": "https://localhost:{port}",
                    "auth_realm": "master",
                    "auth_client_id": "admin-cli",
                    "auth_username": "admin",
                    "auth_password": _PASSWORD,
                    "realm": "master",
                    "name": "role-{{ item }}",
                },
                "loop": list(range(_TASKS)),
            }
        ],
    }
]


def measure(bench: Bench) -> Result:
    """Run the play twice."""
    if not _ANSIBLE.exists():
        raise BenchError("Ansible is not installed: scripts/test installs it")
    site = bench.copy("play")
    settings: dict[str, object] = {"admin_password": _PASSWORD}
    with stack(site, Start(settings=settings)) as target:
        first, first_cost = _play(bench, target, changed=1)
        again, again_cost = _play(bench, target, changed=0)
    return Result(
        (
            Figure(f"{_TASKS} tasks that change, the whole play", first, "s"),
            Figure("a task of these, gateway's processor time", first_cost * 1e3, "ms"),
            Figure(f"{_TASKS} tasks that change nothing, the whole play", again, "s"),
            Figure("a task of these, gateway's processor time", again_cost * 1e3, "ms"),
        ),
        HOW,
    )


def _play(bench: Bench, target: Stack, *, changed: int) -> tuple[float, float]:
    """Return how long the play took, and what a task of it cost the gateway."""
    home = bench.workspace.new_folder(f"ansible-{changed}")
    playbook = home / "play.yml"
    playbook.write_text(json.dumps(_PLAY).replace("{port}", str(target.https_port)))
    before, began = target.gateway_seconds(), time.perf_counter()
    text = output_of(
        [_ANSIBLE, playbook],
        cores=LOAD_CORES,
        seconds=300,
        environment=_environment(home, target),
        cwd=home,
    )
    taken = time.perf_counter() - began
    if f"changed={changed} " not in text or "failed=0 " not in text:
        raise BenchError(f"the play did not go as it should: {text[-800:]}")
    return taken, (target.gateway_seconds() - before) / _TASKS


def _environment(home: Path, target: Stack) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "SSL_CERT_FILE": str(target.site.certificates / "ca.crt"),
    }
