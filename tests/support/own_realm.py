"""A realm that one module of tests changes as it likes, behind the gateway that all share."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.support.administration import ELLIPTIC, PASSWORD, SECRET, Administration
from tests.support.tokens import header_of

CLIENT = "service"
CHEAP_PASSWORDS = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)"


@dataclass(frozen=True, slots=True)
class OwnRealm:
    """The realm as administrators, clients and users meet it."""

    administration: Administration
    name: str

    def ask(
        self,
        method: str,
        path: str,
        document: object = None,
        *,
        token: str | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """Send a request below the realm, as the administrator of all realms or by `token`."""
        bearer = f"Bearer {token or self.administration.token()}"
        sent = {"Authorization": bearer, **(headers or {})}
        url = path if path.startswith("/") else f"/admin/realms/{self.name}/{path}"
        if document is not None:
            content = json.dumps(document).encode()
        if content is not None:
            sent = {"Content-Type": "application/json", **sent}
        return self.administration.http.request(method, url, content=content, headers=sent)

    def get(self, path: str) -> Any:
        """Return the document at a path."""
        response = self.ask("GET", path)
        assert response.status_code == httpx2.codes.OK, response.text
        return response.json()

    def done(self, method: str, path: str, document: object = None) -> httpx2.Response:
        """Do what must succeed."""
        response = self.ask(method, path, document)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response

    def created(self, path: str, document: object) -> str:
        """Make something; return the last segment of its location."""
        response = self.done("POST", path, document)
        assert response.status_code == httpx2.codes.CREATED
        return str(response.headers["location"]).rsplit("/", 1)[1]

    def told(self, method: str, path: str, document: object = None) -> tuple[int, str]:
        """Return the status of a refusal and its text."""
        response = self.ask(method, path, document)
        answer = response.json()
        return response.status_code, str(answer.get("errorMessage", answer.get("error")))

    def client_token(self, client_id: str = CLIENT) -> httpx2.Response:
        """Ask for a token as a client."""
        form = {"client_id": client_id, "client_secret": SECRET}
        return self._ask_for_token(form | {"grant_type": "client_credentials"})

    def sign_in(self, username: str, client_id: str = "admin-cli", **form: str) -> httpx2.Response:
        """Sign a user in by password."""
        sent = {"username": username, "password": PASSWORD, "client_id": client_id, **form}
        return self._ask_for_token(sent | {"grant_type": "password"})

    def signing_kid(self) -> str:
        """Return the kid of the key that signs now."""
        return str(header_of(self.client_token().json()["access_token"])["kid"])

    def published(self) -> dict[str, dict[str, Any]]:
        """Return the key set by kid."""
        found = self.administration.http.get(f"/realms/{self.name}/protocol/openid-connect/certs")
        return {key["kid"]: key for key in found.json()["keys"]}

    def _ask_for_token(self, form: Mapping[str, str]) -> httpx2.Response:
        url = f"/realms/{self.name}/protocol/openid-connect/token"
        return self.administration.http.post(url, data=dict(form))


def own_realm(administration: Administration, folder: Path, name: str, **settings: Any) -> OwnRealm:
    """Make a realm with one confidential client, and what else `settings` say."""
    account = {
        "clientId": CLIENT,
        "secret": SECRET,
        "serviceAccountsEnabled": True,
        "directAccessGrantsEnabled": True,
        "enabled": True,
    }
    realm = {
        "realm": name,
        **ELLIPTIC,
        "passwordPolicy": CHEAP_PASSWORDS,
        "attributes": {"userProfileEnabled": "false"},
        **settings,
    }
    realm["clients"] = [account, *settings.get("clients", ())]
    file = folder / f"{name}.json"
    file.write_text(json.dumps(realm))
    done = administration.command("realm", "import", str(file))
    assert done.exit_code == 0, done.output
    # A token of before carries no role over the new realm.
    administration.tokens.pop(("root", "master"), None)
    return OwnRealm(administration, name)
