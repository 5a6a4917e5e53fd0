"""A gateway whose realms have administrators of every kind, asked as the proxy asks it.

`<role>` in the realm `acme`, or in `master`, is a client whose service account has that one role
over `acme`; `nobody` has none, `root` is the administrator of all realms, later ones included.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result

from gateway.admin.access.rights import REALM_MANAGEMENT, AdminRole
from gateway.cli import main
from tests.support.gateway_process import Gateway, start_gateway

SECRET = "a-clients-secret"
ADMIN_PASSWORD = "the administrator's word"
NAMES = (*AdminRole, "nobody")
PASSWORD = "a user's password"
ELLIPTIC = {"enabled": True, "sslRequired": "none", "defaultSignatureAlgorithm": "ES256"}

_THEMED_MAIL = (
    '{% extends "builtin/mail.html" %}{% block header %}<h1 class="acme">{{ title }}</h1>'
    "{% endblock %}"
)
"""The mails of the theme `acme`."""

_PEOPLE: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("anna", "Anna", "Arendt", {"email": "anna@acme.test", "emailVerified": True}),
    ("bob", "Bob", "Berg", {"email": "bob@acme.test", "attributes": {"team": ["red"]}}),
    ("carl", "Carl", "Anders", {"attributes": {"team": ["blue"], "desk": ["1 a"]}}),
    ("dora", "Dora", "Dunn", {"enabled": False, "requiredActions": ["UPDATE_PASSWORD"]}),
    ("annabel", "Belle", "Zorn", {"email": "belle@other.test"}),
)
USERNAMES = tuple(sorted(person[0] for person in _PEOPLE))


def _user(username: str, first: str, last: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    names = {"username": username, "firstName": first, "lastName": last}
    return {"id": f"id-of-{username}", "enabled": True, **names, **fields}


_LIGHTWEIGHT = {"attributes": {"client.use.lightweight.access.token.enabled": "true"}}
_LIMITED: dict[str, dict[str, Any]] = {
    "unlimited": {},
    "scopeless": {"fullScopeAllowed": False},
    "light": _LIGHTWEIGHT,
    "light-scopeless": {**_LIGHTWEIGHT, "fullScopeAllowed": False},
}
"""Clients whose service accounts may manage users; not all of their tokens say so."""


def _account(client_id: str, roles: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    client = {
        "clientId": client_id,
        "secret": SECRET,
        "serviceAccountsEnabled": True,
        "enabled": True,
    }
    account = {
        "username": f"service-account-{client_id}",
        "serviceAccountClientId": client_id,
        "clientRoles": {REALM_MANAGEMENT: roles},
    }
    return client, account


def _clients(holder: str) -> dict[str, list[dict[str, Any]]]:
    """Return a client for each role of the client `holder`, and its service account."""
    return {
        "clients": [
            {"clientId": name, "secret": SECRET, "serviceAccountsEnabled": True, "enabled": True}
            for name in NAMES
        ],
        "users": [
            {
                "username": f"service-account-{name}",
                "serviceAccountClientId": name,
                "clientRoles": {holder: [name]} if name != "nobody" else {},
            }
            for name in NAMES
        ],
    }


_FREE: dict[str, Any] = {"attributes": {"userProfileEnabled": "false"}}


def _guarded(realm: str) -> dict[str, Any]:
    """Return a realm that locks out for a minute after two wrong passwords, and its users."""
    names = ("mallory", "trudy", "peggy") if realm != "master" else ()
    return {
        **ELLIPTIC,
        "bruteForceProtected": True,
        "failureFactor": 2,
        "waitIncrementSeconds": 60,
        "quickLoginCheckMilliSeconds": 0,
        "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
        **_FREE,
        "users": [
            {
                "id": f"{realm}-{name}",
                "username": name,
                "enabled": True,
                "credentials": [{"type": "password", "value": PASSWORD}],
            }
            for name in names
        ],
    }


def master() -> dict[str, Any]:
    """Return the realm `master` with `root`."""
    client, account = _account("root", [])
    return {
        "realm": "master",
        **_guarded("master"),
        "accessTokenLifespan": 1800,
        "clients": [client | _LIGHTWEIGHT],
        "users": [
            {name: account[name] for name in ("username", "serviceAccountClientId")}
            | {"realmRoles": ["admin"]}
        ],
    }


def _realms() -> list[dict[str, Any]]:
    acme, of_acme, root = _clients(REALM_MANAGEMENT), _clients("acme-realm"), master()
    acme["users"] += [_user(*person) for person in _PEOPLE]
    for client_id, fields in _LIMITED.items():
        client, account = _account(client_id, ["manage-users"])
        acme["clients"].append(client | fields)
        acme["users"].append(account)
    root |= {part: [*of_acme[part], *root[part]] for part in ("clients", "users")}
    other = [_user("zoe", "Zoe", "Zander", {})]
    return [
        {"realm": "guarded", **_guarded("guarded")},
        {"realm": "strict", **_guarded("strict"), "permanentLockout": True},
        {"realm": "acme", **ELLIPTIC, "accessTokenLifespan": 1800, **_FREE, **acme},
        {"realm": "other", **ELLIPTIC, **_clients(REALM_MANAGEMENT), "users": other},
        root,
    ]


@dataclass(frozen=True, slots=True)
class Administration:
    """The admin API as a caller sees it."""

    gateway: Gateway
    http: httpx2.Client
    tokens: dict[tuple[str, str], str] = field(default_factory=dict)

    def token(self, client_id: str = "root", realm: str = "master") -> str:
        """Return a token of a service account, the same one each time."""
        key = (client_id, realm)
        if key not in self.tokens:
            self.tokens[key] = self.fresh_token(client_id, realm)
        return self.tokens[key]

    def fresh_token(self, client_id: str = "root", realm: str = "master") -> str:
        """Return a new token of a service account."""
        form = {
            "grant_type": "client_credentials",
            "client_id": client_id,
            "client_secret": SECRET,
        }
        return self._ask_for_token(realm, form)

    def password_token(self, username: str, password: str, realm: str = "master") -> str:
        """Return a token of a user who signed in with admin-cli."""
        form = {"grant_type": "password", "client_id": "admin-cli"}
        return self._ask_for_token(realm, form | {"username": username, "password": password})

    def _ask_for_token(self, realm: str, form: dict[str, str]) -> str:
        response = self.http.post(_token_url(realm), data=form)
        assert response.status_code == httpx2.codes.OK, response.text
        return str(response.json()["access_token"])

    def signed_in(self, username: str, realm: str = "guarded") -> dict[str, Any]:
        """Return what a user gets who signs in with admin-cli."""
        form = {"grant_type": "password", "client_id": "admin-cli"}
        credentials = {"username": username, "password": PASSWORD}
        response = self.http.post(_token_url(realm), data=form | credentials)
        assert response.status_code == httpx2.codes.OK, response.text
        found: dict[str, Any] = response.json()
        return found

    def refreshes(self, tokens: Mapping[str, Any], realm: str = "guarded") -> bool:
        """Tell whether the refresh token still brings another."""
        form = {"grant_type": "refresh_token", "client_id": "admin-cli"}
        sent = form | {"refresh_token": str(tokens["refresh_token"])}
        return self.http.post(_token_url(realm), data=sent).status_code == httpx2.codes.OK

    def sign_in(self, username: str, password: str = PASSWORD, realm: str = "guarded") -> int:
        """Try to sign in with admin-cli; return the status."""
        form = {"grant_type": "password", "client_id": "admin-cli"}
        credentials = {"username": username, "password": password}
        return self.http.post(_token_url(realm), data=form | credentials).status_code

    def lock_out(self, username: str, realm: str = "guarded") -> None:
        """Give wrong passwords until the account is locked out."""
        for _ in range(2):
            assert self.sign_in(username, "wrong", realm) != httpx2.codes.OK
        assert self.sign_in(username, realm=realm) != httpx2.codes.OK

    def command(
        self,
        *arguments: str,
        text: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Result:
        """Run `realmgate` beside the running gateway, with `variables` in its environment."""
        environment = {"REALMGATE_STATE_DIR": str(self.gateway.state_dir), **(variables or {})}
        return CliRunner(env=environment).invoke(main, arguments, input=text)

    def ask(
        self,
        method: str,
        path: str,
        token: str | None = None,
        *,
        document: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """Send a request below /admin/realms, as `root` unless another token is given."""
        sent = {"Authorization": f"Bearer {token or self.token()}", **(headers or {})}
        if document is not None:
            content = json.dumps(document).encode()
        if content is not None:
            sent = {"Content-Type": "application/json", **sent}
        url = f"/admin/realms/{path}" if path else "/admin/realms"
        return self.http.request(method, url, headers=sent, content=content)

    def get(self, path: str, **query: str) -> Any:
        """Return the document at a path below the realm `acme`."""
        response = self.http.get(
            f"/admin/realms/acme/{path}",
            params=query,
            headers={"Authorization": f"Bearer {self.token()}"},
        )
        assert response.status_code == httpx2.codes.OK, response.text
        return response.json()


def _token_url(realm: str) -> str:
    return f"/realms/{realm}/protocol/openid-connect/token"


@pytest.fixture(scope="session")
def administration(tmp_path_factory: pytest.TempPathFactory, pki: Path) -> Iterator[Administration]:
    """Run one gateway for all tests of the admin API."""
    folder = tmp_path_factory.mktemp("administration")
    realms = folder / "realms.json"
    realms.write_text(json.dumps(_realms()))
    themed = folder / "themes" / "acme" / "email" / "mail.html"
    themed.parent.mkdir(parents=True)
    themed.write_text(_THEMED_MAIL)
    with (
        start_gateway(
            folder,
            import_realm=realms,
            public_url="https://gateway.test",
            fetch_networks="127.0.0.0/8",
            mail_networks="127.0.0.0/8",
            mail_ca_file=pki / "ca.crt",
            fetch_http="true",
            events_file=folder / "events.jsonl",
            themes=folder / "themes",
            admin_password=ADMIN_PASSWORD,
            client_ca_file=pki / "ca.crt",
            client_crl_file=pki / "ca.crl",
        ) as gateway,
        gateway.client(**{"X-Forwarded-For": "203.0.113.9"}) as http,
    ):
        yield Administration(gateway, http)
