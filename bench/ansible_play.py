"""A play of 50 tasks by Ansible: each a process that signs in by password and makes a role."""

import json
import time
from pathlib import Path

from bench.processes import LOAD_CORES, BenchError, output_of
from bench.stack import Stack
from bench.workspace import ROOT, Workspace

TASKS = 50
_ANSIBLE = ROOT / ".venv-clients/bin/ansible-playbook"


def require_ansible() -> None:
    """Raise BenchError where Ansible is not installed."""
    if not _ANSIBLE.exists():
        raise BenchError("Ansible is not installed: scripts/test installs it")


def play(
    workspace: Workspace, target: Stack, password: str, *, changed: int
) -> tuple[float, float]:
    """Return the seconds that the play took, and the gateway's processor seconds.

    `password` is that of the user `admin`; `changed` is 1 for the first play, which makes the
    roles, and 0 for the next one.
    """
    home = workspace.new_folder(f"ansible-{target.https_port}-{changed}")
    playbook = home / "play.yml"
    playbook.write_text(json.dumps(_playbook(target.https_port, password)))
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
    return taken, target.gateway_seconds() - before


def _playbook(port: int, password: str) -> list[dict[str, object]]:
    role = {
        "auth_keycloak_url": f"https://localhost:{port}",
        "auth_realm": "master",
        "auth_client_id": "admin-cli",
        "auth_username": "admin",
        "auth_password": password,
        "realm": "master",
        "name": "role-{{ item }}",
    }
    task = {
        "name": "roles",
        "community.general.keycloak_role": role,
        "loop": list(range(TASKS)),
    }
    return [{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]


def _environment(home: Path, target: Stack) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "SSL_CERT_FILE": str(target.site.certificates / "ca.crt"),
    }
