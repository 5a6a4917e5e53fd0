"""The admin API keeps to its own description: schemathesis asks every operation of it.

Malformed JSON, wrong types, unknown fields, odd texts and odd pages among what it sends: the answer
has a documented status, and none is a failure of the server. Spec: OpenAPI 3.1.1
(https://spec.openapis.org/oas/v3.1.1.html)
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.support.gateway_process import start_gateway
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/openapi.json"
SECRET = "a-clients-secret"
SECRET_FORM = {"grant_type": "client_credentials", "client_id": "root", "client_secret": SECRET}
MASTER = {
    "realm": "master",
    "enabled": True,
    "sslRequired": "none",
    "accessTokenLifespan": 3600,
    "clients": [{"clientId": "root", "secret": SECRET, "serviceAccountsEnabled": True}],
    "users": [
        {
            "username": "service-account-root",
            "serviceAccountClientId": "root",
            "realmRoles": ["admin"],
        }
    ],
}
FUZZED = {
    "realm": "fuzzed",
    "enabled": True,
    "sslRequired": "none",
    "users": [{"id": "some-user", "username": "somebody", "enabled": True}],
    "clients": [{"id": "some-client", "clientId": "some-client", "serviceAccountsEnabled": True}],
    "roles": {"realm": [{"name": "some-role"}]},
    "groups": [{"id": "some-group", "name": "some-group"}],
}
EXISTING = {
    "realm": "fuzzed",
    "user_id": "some-user",
    "client": "some-client",
    "role_name": "some-role",
    "group_id": "some-group",
}
"""Values of placeholders: of the others schemathesis makes some up, which name nothing."""
_EXPECTED = ("[checks.not_a_server_error]", 'expected-statuses = ["2xx", "3xx", "4xx", "501"]')
"""What is left out of an operation says so; whether it may, the other check tells."""
_WITHOUT_COVERAGE = (
    "[[operations]]",
    (
        'include-operation-id = ["postRealms", "putRealmsByRealm",'
        ' "putRealmsByRealmClientsByClientId", "putRealmsByRealmGuardSitesBySite",'
        ' "putRealmsByRealmUsersByUserId"]'
    ),
    "phases.coverage.enabled = false",
    "phases.fuzzing.generation.max-examples = 16",
)
"""The largest bodies; POST takes those of clients, sites and users too, with coverage.

The coverage phase sends a realm 1,535 times and each is refused for the same members; with PUT it
sends If-Match with nearly each of its 2,500 requests: 412, the body not read. Sixteen examples are
valid and invalid ones, with If-Match and without.
"""
_ONE_CALLER = (
    "[phases.coverage]",
    "unexpected-methods = []",
    "[generation]",
    "with-security-parameters = false",
)
"""Other methods and callers without a right token are refused before an operation is reached.

test_admin_access.py asks about them.
"""
_MAIL_FAILS = (
    "[[operations]]",
    'include-operation-id = ["postRealmsByRealmTestSMTPConnection"]',
    'checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "500", "501"]',
)
"""Keycloak's 500 where the mail server that the caller names takes no mail."""
ONLY_ONCE = "deleteRealmsByRealm"
"""What would leave nothing to ask about."""


@dataclass(frozen=True, slots=True)
class FuzzedGateway:
    """A gateway on TCP, and a token that may do everything."""

    url: str
    token: str


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FuzzedGateway]:
    folder = tmp_path_factory.mktemp("fuzzed")
    realms = folder / "realms.json"
    realms.write_text(json.dumps([FUZZED, MASTER]))
    address = f"127.0.0.1:{free_port()}"
    url = f"http://{address}"
    with start_gateway(folder, import_realm=realms, listen=address, public_url=url):
        token = f"{url}/realms/master/protocol/openid-connect/token"
        answer = httpx2.post(token, data=SECRET_FORM)
        assert answer.status_code == 200, answer.text
        yield FuzzedGateway(url, answer.json()["access_token"])


def schemathesis(
    fuzzed: FuzzedGateway, folder: Path, parameters: Mapping[str, str], *options: str
) -> "subprocess.CompletedProcess[str]":
    configuration = folder / "schemathesis.toml"
    lines = [f'"path.{name}" = "{value}"' for name, value in parameters.items()]
    written = [*_EXPECTED, "[parameters]", *lines, *_WITHOUT_COVERAGE, *_MAIL_FAILS, *_ONE_CALLER]
    configuration.write_text("\n".join(written) + "\n")
    return subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            "--config-file",
            str(configuration),
            "run",
            str(DOCUMENT),
            f"--url={fuzzed.url}",
            f"--header=Authorization: Bearer {fuzzed.token}",
            "--checks=not_a_server_error,status_code_conformance",
            "--exclude-by=/x-state == not supported",
            f"--exclude-operation-id={ONLY_ONCE}",
            "--warnings=off",
            "--no-color",
            "--seed=20261120",
            *options,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_operations_answer_as_documented_for_existing_objects(
    fuzzed: FuzzedGateway, tmp_path: Path
) -> None:
    done = schemathesis(fuzzed, tmp_path, EXISTING, "--phases=coverage,fuzzing", "--max-examples=1")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_operations_answer_as_documented_for_missing_objects(
    fuzzed: FuzzedGateway, tmp_path: Path
) -> None:
    done = schemathesis(fuzzed, tmp_path, {}, "--phases=fuzzing", "--max-examples=1")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
