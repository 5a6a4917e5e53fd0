"""A server for the programs of others to administer, and realms on it.

It is a gateway behind nginx, over TLS. The tests in tests/clients run against any other server too:
CLIENTS_SERVER_URL is its URL, CLIENTS_SERVER_PASSWORD the word of its administrator `admin`.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.spec_stack import ADMIN_PASSWORD, start_stack
from tests.support.wire import BOUND, CHEAP, DEVICE_SUBJECT, app, audience, client, device, user

ROOT = Path(__file__).parents[2]
ADMINISTRATOR = "admin"
OTHER_SERVER = os.environ.get("CLIENTS_SERVER_URL", "").rstrip("/")
_PATIENCE = 60.0
_MASTER = {
    "realm": "master",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "bruteForceProtected": True,
    "accessTokenLifespan": 60,
}

_EVERYBODY = {"view": ["admin", "user"], "edit": ["admin", "user"]}
_PROFILE = {
    "unmanagedAttributePolicy": "ENABLED",
    "attributes": [
        {"name": name, "permissions": _EVERYBODY}
        for name in ("username", "email", "firstName", "lastName")
    ],
}
PREPARED: dict[str, Any] = {
    "enabled": True,
    "sslRequired": "none",
    "passwordPolicy": CHEAP,
    "accessTokenLifespan": 300,
    "roles": {
        "realm": [{"name": "reader"}, {"name": "writer"}],
        "client": {"shop": [{"name": "buy"}, {"name": "sell"}, {"name": "lend"}]},
    },
    "groups": [{"name": "staff", "subGroups": [{"name": "juniors"}]}],
    "clients": [
        {"clientId": "shop", "enabled": True, "bearerOnly": True},
        app("app", fullScopeAllowed=False),
        client("service", directAccessGrantsEnabled=True, protocolMappers=[audience("service")]),
        client("operator"),
        device("device-1", DEVICE_SUBJECT, **BOUND),
    ],
    "users": [
        user("ada", lastName="Lovelace"),
        {
            "username": "service-account-operator",
            "enabled": True,
            "serviceAccountClientId": "operator",
            "clientRoles": {"realm-management": ["realm-admin"]},
        },
    ],
    "components": {
        "org.keycloak.userprofile.UserProfileProvider": [
            {
                "providerId": "declarative-user-profile",
                "config": {"kc.user.profile.config": [json.dumps(_PROFILE)]},
            }
        ]
    },
}
"""A realm as somebody has left it; `operator` administers it, `ada` has all of a user."""


@dataclass(frozen=True, slots=True)
class AdministeredServer:
    """Where the API is, and who may administer it."""

    url: str
    password: str
    http: httpx2.Client
    authority: Path | None = None
    certificates: EdgeCertificates | None = None
    mtls_url: str = ""
    self_signed_url: str = ""
    """Its listener with `optional_no_ca`."""

    @property
    def verify(self) -> str | bool:
        """Return what python-requests checks the server's certificate with."""
        return str(self.authority) if self.authority else True

    def environment(self) -> dict[str, str]:
        """Return the variables by which Ansible and node trust the server."""
        names = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
        return dict.fromkeys(names, str(self.authority)) if self.authority else {}

    def token(self) -> str:
        """Return a token of the administrator."""
        form = {"grant_type": "password", "client_id": "admin-cli", "username": ADMINISTRATOR}
        path = "/realms/master/protocol/openid-connect/token"
        response = self.http.post(self.url + path, data=form | {"password": self.password})
        assert response.status_code == httpx2.codes.OK, response.text
        return str(response.json()["access_token"])

    def ask(self, method: str, path: str, document: Any = None) -> httpx2.Response:
        """Send a request below /admin/realms as the administrator."""
        return self.http.request(
            method,
            f"{self.url}/admin/realms{path}",
            headers={"Authorization": f"Bearer {self.token()}"},
            json=document,
        )

    def get(self, path: str) -> Any:
        """Return the document at a path below /admin/realms."""
        response = self.ask("GET", path)
        assert response.status_code == httpx2.codes.OK, response.text
        return response.json()

    @contextmanager
    def realm(self, name: str, fields: Mapping[str, Any]) -> Iterator[str]:
        """Make a realm, and remove it at last."""
        self.ask("DELETE", f"/{name}")
        made = self.ask("POST", "", {"realm": name, **fields})
        assert made.status_code == httpx2.codes.CREATED, made.text
        yield name
        self.ask("DELETE", f"/{name}")


@pytest.fixture(scope="session")
def administered(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[AdministeredServer]:
    """Run a gateway behind nginx for all programs, unless another server is named."""
    if OTHER_SERVER:
        password = os.environ.get("CLIENTS_SERVER_PASSWORD", "admin")
        with httpx2.Client(timeout=_PATIENCE) as http:
            yield AdministeredServer(OTHER_SERVER, password, http)
        return
    folder = tmp_path_factory.mktemp("administered")
    with start_stack(folder, edge_certificates, realms=[_MASTER]) as stack:
        yield AdministeredServer(
            stack.nginx.https,
            ADMIN_PASSWORD,
            stack.http,
            edge_certificates.folder / "ca.crt",
            edge_certificates,
            stack.nginx.mtls,
            stack.nginx.self_signed,
        )


@pytest.fixture(scope="module")
def realm(request: pytest.FixtureRequest, administered: AdministeredServer) -> Iterator[str]:
    """Make the prepared realm for the tests of one module."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_").replace("_", "-")
    with administered.realm(name, PREPARED) as made:
        yield made


@pytest.fixture
def own_realm(request: pytest.FixtureRequest, administered: AdministeredServer) -> Iterator[str]:
    """Make the prepared realm for one test alone."""
    name = request.node.name.removeprefix("test_").replace("_", "-")[:36]
    with administered.realm(name, PREPARED) as made:
        yield made
