"""Clients that register themselves, as tests ask for them."""

from dataclasses import dataclass
from typing import Any

import httpx2

from tests.support.administered_realm import AdministeredRealm


@dataclass(frozen=True, slots=True)
class Registration:
    """The client registration service of one realm."""

    realm: AdministeredRealm

    def ask(
        self,
        method: str,
        path: str,
        document: object = None,
        *,
        token: str | None = None,
        content: bytes | None = None,
        **headers: str,
    ) -> httpx2.Response:
        """Send a request with a token, or without any."""
        if token is not None:
            headers = {"Authorization": f"Bearer {token}", **headers}
        url = f"/realms/{self.realm.name}/clients-registrations/{path}"
        http = self.realm.administration.http
        if content is not None:
            headers = {"Content-Type": "application/json", **headers}
            return http.request(method, url, content=content, headers=headers)
        if document is None:
            return http.request(method, url, headers=headers)
        return http.request(method, url, json=document, headers=headers)

    def given(self, method: str, path: str, document: object = None, *, token: str) -> Any:
        """Return what a request that succeeds brings."""
        response = self.ask(method, path, document, token=token)
        assert response.is_success, f"{response.status_code} {response.text}"
        return response.json() if response.content else None

    def refused(
        self, method: str, path: str, document: object = None, *, token: str | None = None
    ) -> tuple[int, Any]:
        """Return status and document of an answer that is no success."""
        response = self.ask(method, path, document, token=token)
        assert not response.is_success, response.text
        return response.status_code, response.json()

    def bearer(self, client_id: str) -> str:
        """Return an access token of a service account of the realm."""
        return self.realm.administration.token(client_id, self.realm.name)

    def initial(self, count: int = 1, **fields: Any) -> str:
        """Return a new initial access token."""
        document = {"count": count, **fields}
        made = self.realm.ask("POST", "clients-initial-access", document)
        assert made.status_code == httpx2.codes.CREATED, made.text
        return str(made.json()["token"])

    def own(self, client: str) -> str:
        """Return a new registration access token of the client with that internal id."""
        made = self.realm.ask("POST", f"clients/{client}/registration-access-token")
        assert made.status_code == httpx2.codes.OK, made.text
        return str(made.json()["registrationAccessToken"])
