"""A realm of the test's own where scopes, mappers and roles in scopes show in the next token."""

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from gateway.admin.access.rights import REALM_MANAGEMENT, AdminRole
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.made_realms import make

HARDCODED = "oidc-hardcoded-claim-mapper"
_OPEN = {"enabled": True, "directAccessGrantsEnabled": True, "publicClient": True}


def mapper(name: str, claim: str, value: str = "x", **config: str) -> dict[str, Any]:
    """Return a mapper that puts one claim into access tokens."""
    options = {"claim.name": claim, "claim.value": value, "access.token.claim": "true"}
    return {
        "name": name,
        "protocol": "openid-connect",
        "protocolMapper": HARDCODED,
        "config": {**options, **config},
    }


@dataclass(frozen=True, slots=True)
class ScopedRealm:
    """The realm and its users and clients, asked over HTTP."""

    administration: Administration
    name: str

    def ask(
        self, method: str, path: str, document: object = None, **options: Any
    ) -> httpx2.Response:
        """Ask the admin API below the realm."""
        return self.administration.ask(method, f"{self.name}/{path}", document=document, **options)

    def get(self, path: str) -> Any:
        """Return the document at a path below the realm."""
        response = self.ask("GET", path)
        assert response.status_code == httpx2.codes.OK, response.text
        return response.json()

    def do(self, method: str, path: str, document: object = None) -> str:
        """Change something; return the last segment of the address of what was made."""
        response = self.ask(method, path, document)
        assert response.is_success, response.text
        return str(response.headers.get("location", "")).rpartition("/")[2]

    def names(self, path: str) -> list[str]:
        """Return the names of what is listed at a path."""
        return [item["name"] for item in self.get(path)]

    def client(self, client_id: str) -> str:
        """Return the internal id of a client."""
        (found,) = self.get(f"clients?{urlencode({'clientId': client_id})}")
        return str(found["id"])

    def scope(self, name: str) -> str:
        """Return the id of a client scope."""
        scopes = self.get("client-scopes")
        return next(str(item["id"]) for item in scopes if item["name"] == name)

    def add_scope(self, name: str, *mappers: dict[str, Any], **fields: Any) -> str:
        """Add a client scope and return its id."""
        document = {"name": name, "protocol": "openid-connect", "protocolMappers": list(mappers)}
        return self.do("POST", "client-scopes", {**document, **fields})

    def role(self, name: str, client_id: str | None = None) -> dict[str, Any]:
        """Return a role as lists of roles name it."""
        path = "roles" if client_id is None else f"clients/{self.client(client_id)}/roles"
        found: dict[str, Any] = self.get(f"{path}/{name}")
        return found

    def tokens(self, scope: str = "", client_id: str = "app") -> dict[str, Any]:
        """Return what a user gets who signs in through a client."""
        form = {"grant_type": "password", "client_id": client_id, "username": "ann"}
        sent = form | {"password": PASSWORD} | ({"scope": scope} if scope else {})
        response = self.protocol("token", sent)
        assert response.status_code == httpx2.codes.OK, response.text
        found: dict[str, Any] = response.json()
        return found

    def claims(self, scope: str = "", client_id: str = "app") -> dict[str, Any]:
        """Return what the access token of such a user says."""
        return claims_of(self.tokens(scope, client_id)["access_token"])

    def account_claims(self, client_id: str = "service") -> dict[str, Any]:
        """Return what the access token of a service account says."""
        return claims_of(self.administration.fresh_token(client_id, self.name))

    def refused(self, scope: str) -> str:
        """Ask for a scope in vain; return the code of the refusal."""
        form = {"grant_type": "password", "client_id": "app", "username": "ann"}
        response = self.protocol("token", {**form, "password": PASSWORD, "scope": scope})
        assert not response.is_success
        return str(response.json()["error"])

    def administrator(self, *roles: AdminRole) -> str:
        """Return a token of an administrator with these roles; there are few of them."""
        return self.administration.fresh_token(_called(roles), self.name)

    def protocol(self, endpoint: str, form: dict[str, str], **headers: str) -> httpx2.Response:
        """Ask an endpoint of the protocol."""
        url = f"/realms/{self.name}/protocol/openid-connect/{endpoint}"
        return self.administration.http.post(url, data=form, headers=headers)

    def introspected(self, token: str, client_id: str = "service") -> dict[str, Any]:
        """Return what a client learns of a token."""
        form = {"token": token, "client_id": client_id, "client_secret": SECRET}
        found: dict[str, Any] = self.protocol("token/introspect", form).json()
        return found

    def userinfo(self, token: str) -> dict[str, Any]:
        """Return what userinfo says."""
        response = self.protocol("userinfo", {}, Authorization=f"Bearer {token}")
        assert response.status_code == httpx2.codes.OK, response.headers
        found: dict[str, Any] = response.json()
        return found


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a token, unverified."""
    payload = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return claims


_ADMINISTRATORS = (
    (AdminRole.MANAGE_CLIENTS,),
    (AdminRole.MANAGE_CLIENTS, AdminRole.MANAGE_REALM),
    (AdminRole.VIEW_CLIENTS,),
    (AdminRole.VIEW_USERS,),
    (AdminRole.VIEW_CLIENTS, AdminRole.VIEW_USERS),
)


def _called(roles: Iterable[AdminRole]) -> str:
    return "-".join(("may", *roles))


def _service(client_id: str) -> dict[str, Any]:
    secret = {"secret": SECRET, "serviceAccountsEnabled": True}
    return {"clientId": client_id, "enabled": True, **secret}


def _account(roles: Sequence[AdminRole]) -> dict[str, Any]:
    name = _called(roles)
    account = {"username": f"service-account-{name}", "serviceAccountClientId": name}
    return {**account, "clientRoles": {REALM_MANAGEMENT: list(roles)}}


def _parts() -> dict[str, Any]:
    credentials = [{"type": "password", "value": PASSWORD}]
    roles = [
        *({"name": name} for name in ("part-a", "part-b", "alone")),
        {"name": "whole", "composites": {"realm": ["part-a", "part-b"]}},
    ]
    return {
        "clients": [
            {"clientId": "app", **_OPEN},
            {"clientId": "narrow", **_OPEN, "fullScopeAllowed": False},
            {"clientId": "other", **_OPEN},
            _service("service"),
            *(_service(_called(held)) for held in _ADMINISTRATORS),
        ],
        "roles": {
            "realm": roles,
            "client": {"other": [{"name": "o1"}], "narrow": [{"name": "own"}]},
        },
        "groups": [{"name": "staff", "attributes": {"team": ["blue"]}}],
        "users": [
            {
                "username": "ann",
                "enabled": True,
                "firstName": "Ann",
                "attributes": {"desk": ["7"]},
                "credentials": credentials,
                "realmRoles": ["whole", "offline_access"],
                "clientRoles": {"other": ["o1"], "narrow": ["own"]},
                "groups": ["/staff"],
            },
            *map(_account, _ADMINISTRATORS),
        ],
    }


@pytest.fixture
def scoped(administration: Administration, request: pytest.FixtureRequest) -> Iterator[ScopedRealm]:
    """Make a realm for one test."""
    name = f"scoped-{abs(hash(request.node.nodeid)) % 10**8}"
    make(administration, name, **_parts())
    yield ScopedRealm(administration, name)
    administration.ask("DELETE", name)
