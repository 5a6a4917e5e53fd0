"""Realms that tests make over the admin API, and what they look like there."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import pytest

from tests.support.administration import ELLIPTIC, Administration

CHEAP = {
    "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
    "attributes": {"userProfileEnabled": "false"},
}
OK, CREATED, DONE = 200, 201, 204


def make(administration: Administration, name: str, **fields: Any) -> dict[str, Any]:
    """Make a realm; return it as GET shows it."""
    document = {"realm": name, **ELLIPTIC, **CHEAP, **fields}
    response = administration.ask("POST", "", document=document)
    assert response.status_code == CREATED, response.text
    return shown(administration, name)


def shown(administration: Administration, name: str) -> dict[str, Any]:
    """Return a realm as GET shows it."""
    response = administration.ask("GET", name)
    assert response.status_code == OK, response.text
    found: dict[str, Any] = response.json()
    return found


def put(
    administration: Administration,
    name: str,
    document: object,
    headers: Mapping[str, str] | None = None,
) -> int:
    """Update a realm; return the status."""
    return administration.ask("PUT", name, document=document, headers=headers).status_code


def told(response: httpx2.Response) -> tuple[int, str]:
    """Return the status of a refusal and its text."""
    answer = response.json()
    return response.status_code, str(answer.get("errorMessage", answer.get("error")))


def exported(administration: Administration, realm: str) -> dict[str, Any]:
    """Return all of a realm, as the command exports it."""
    done = administration.command("realm", "export", realm)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def clients_of(administration: Administration, realm: str) -> set[str]:
    """Return the public names of a realm's clients."""
    return {client["clientId"] for client in exported(administration, realm)["clients"]}


def import_realm(administration: Administration, document: Mapping[str, Any]) -> None:
    """Import a realm as a file."""
    file = administration.gateway.state_dir / "more.json"
    file.write_text(json.dumps(document))
    done = administration.command("realm", "import", str(file))
    assert done.exit_code == 0, done.output


@pytest.fixture
def made_realm(administration: Administration, request: pytest.FixtureRequest) -> Iterator[str]:
    """Make a realm of the test's own, and remove what is left of it."""
    name = f"made-{abs(hash(request.node.nodeid)) % 10**8}"
    make(administration, name)
    yield name
    for left in (name, f"{name}-new"):
        administration.ask("DELETE", left)
