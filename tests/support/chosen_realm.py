"""A realm that a test module makes for itself behind nginx, with one user and its own clients."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import jwt

from tests.support.spec_stack import CHEAP, Stack, protocol
from tests.support.wire import PASSWORD, SECRET, client, user


@dataclass(frozen=True, slots=True)
class ChosenRealm:
    """The realm, asked through nginx."""

    stack: Stack
    name: str

    @property
    def issuer(self) -> str:
        """The issuer."""
        return f"{self.stack.nginx.https}/realms/{self.name}"

    def administer(self, method: str, path: str, document: object = None) -> httpx2.Response:
        """Ask the admin API below the realm, as the administrator."""
        token = self.stack.administrator()
        return self.stack.http.request(
            method,
            f"{self.stack.nginx.https}/admin/realms/{self.name}{path}",
            json=document,
            headers={"Authorization": f"Bearer {token}"},
        )

    def client(self, client_id: str) -> dict[str, Any]:
        """Return the representation of a client."""
        (found,) = self.administer("GET", f"/clients?clientId={client_id}").json()
        return dict(found)

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> httpx2.Response:
        """Send a form below the protocol path."""
        url = f"{self.stack.nginx.https}{protocol(self.name)}/{path}"
        return self.stack.http.post(url, data=dict(form), headers=headers)

    def token(self, client_id: str, secret: str = SECRET) -> httpx2.Response:
        """Ask for a token of the client's service account."""
        credentials = {"client_id": client_id, "client_secret": secret}
        return self.post("token", {"grant_type": "client_credentials", **credentials})

    def sign_in(self, client_id: str, scope: str = "openid") -> dict[str, Any]:
        """Return the tokens of the user who signs in at the client."""
        form = {"grant_type": "password", "username": "alice", "password": PASSWORD}
        credentials = {"client_id": client_id, "client_secret": SECRET, "scope": scope}
        response = self.post("token", form | credentials)
        assert response.status_code == httpx2.codes.OK, response.text
        return dict(response.json())

    def userinfo(self, token: str) -> httpx2.Response:
        """Ask for the claims of the user."""
        url = f"{self.stack.nginx.https}{protocol(self.name)}/userinfo"
        return self.stack.http.get(url, headers={"Authorization": f"Bearer {token}"})

    def introspect(
        self, client_id: str, token: str, accept: str = "*/*", **form: str
    ) -> httpx2.Response:
        """Introspect as a client."""
        sent = {"client_id": client_id, "client_secret": SECRET, "token": token, **form}
        return self.post("token/introspect", sent, Accept=accept)

    def certs(self) -> list[dict[str, Any]]:
        """Return the keys of the JWKS."""
        url = f"{self.stack.nginx.https}{protocol(self.name)}/certs"
        return list(self.stack.http.get(url).json()["keys"])

    def public_key(self, token: str) -> Any:
        """Return the published key that the token's header names."""
        (found,) = [
            key for key in self.certs() if key["kid"] == jwt.get_unverified_header(token)["kid"]
        ]
        return jwt.PyJWK(found).key

    def metadata(self) -> dict[str, Any]:
        """Return the discovery document."""
        url = f"{self.issuer}/.well-known/openid-configuration"
        return dict(self.stack.http.get(url).json())


@contextmanager
def chosen_realm(
    stack: Stack, name: str, clients: Sequence[Mapping[str, Any]], **fields: Any
) -> Iterator[ChosenRealm]:
    """Make the realm, and delete it in the end."""
    realm = ChosenRealm(stack, name)
    document = {
        "realm": name,
        "enabled": True,
        "sslRequired": "all",
        "defaultSignatureAlgorithm": "ES256",
        "passwordPolicy": CHEAP,
        "users": [user("alice")],
        "clients": list(clients),
        **fields,
    }
    url = f"{stack.nginx.https}/admin/realms"
    headers = {"Authorization": f"Bearer {stack.administrator()}"}
    made = stack.http.post(url, json=document, headers=headers)
    assert made.status_code == httpx2.codes.CREATED, made.text
    yield realm
    assert realm.administer("DELETE", "").is_success


def asking(client_id: str, *audiences: Mapping[str, Any], **attributes: str) -> dict[str, Any]:
    """Return a confidential client for both grants with these attributes."""
    return client(
        client_id,
        directAccessGrantsEnabled=True,
        protocolMappers=list(audiences),
        attributes={name.replace("__", "."): text for name, text in attributes.items()},
    )
