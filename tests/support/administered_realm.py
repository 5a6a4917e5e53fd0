"""A realm that a test module makes for itself over the admin API, and asks as anybody."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from gateway.admin.access.rights import REALM_MANAGEMENT
from tests.support.administration import ELLIPTIC, PASSWORD, SECRET, Administration
from tests.support.wire import claims_of


@dataclass(frozen=True, slots=True)
class AdministeredRealm:
    """The admin API of one realm. `by` is a client of the realm whose service account asks."""

    administration: Administration
    name: str

    def ask(
        self, method: str, path: str, document: object = None, *, by: str = "", **headers: str
    ) -> httpx2.Response:
        """Send a request below the realm, as `root` unless somebody else is named."""
        return self.administration.ask(
            method,
            f"{self.name}/{path}",
            self.administration.token(by, self.name) if by else None,
            document=document,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )

    def get(self, path: str, *, by: str = "") -> Any:
        """Return the document at a path."""
        response = self.ask("GET", path, by=by)
        assert response.status_code == httpx2.codes.OK, response.text
        return response.json()

    def change(self, method: str, path: str, document: object = None, *, by: str = "") -> str:
        """Change something; return the last segment of Location, as it is sent."""
        response = self.ask(method, path, document, by=by)
        assert response.is_success, f"{response.status_code} {response.text}"
        return str(response.headers.get("location", "")).rpartition("/")[2]

    def refused(
        self, method: str, path: str, document: object = None, *, by: str = ""
    ) -> tuple[int, Any]:
        """Return status and document of an answer that is no success."""
        response = self.ask(method, path, document, by=by)
        assert not response.is_success, response.text
        return response.status_code, response.json()

    def claims(self, client_id: str) -> Mapping[str, Any]:
        """Return the claims that a new token of a client's service account carries."""
        return claims_of(self.administration.fresh_token(client_id, self.name))

    def sign_in(self, username: str) -> Mapping[str, Any]:
        """Return the tokens of one who signs in at the client `page`."""
        form = {"grant_type": "password", "client_id": "page", "password": PASSWORD}
        token = f"/realms/{self.name}/protocol/openid-connect/token"
        answer = self.administration.http.post(token, data=form | {"username": username})
        assert answer.status_code == httpx2.codes.OK, answer.text
        found: Mapping[str, Any] = answer.json()
        return found

    def claims_of_user(self, username: str) -> Mapping[str, Any]:
        """Return the claims of a new access token of one who signs in."""
        return claims_of(str(self.sign_in(username)["access_token"]))

    def account(self, client_id: str) -> str:
        """Return the id of a client's service account."""
        return str(claims_of(self.administration.token(client_id, self.name))["sub"])

    def admin_roles(self, administrator: str) -> Mapping[str, Any]:
        """Return the client of administrative roles, as the mappings of who has some tell it."""
        mapped = self.get(f"users/{self.account(administrator)}/role-mappings")
        found: Mapping[str, Any] = mapped["clientMappings"][REALM_MANAGEMENT]
        return found

    def events(self) -> list[tuple[str, str, str | None, Any]]:
        """Return what was recorded: operation, resource, path and representation, oldest first."""
        database = self.administration.gateway.state_dir / "realmgate.db"
        with closing(sqlite3.connect(database)) as connection:
            rows = connection.execute(
                "SELECT operation_type, resource_type, resource_path, representation"
                " FROM admin_events JOIN realms ON realms.id = realm_id"
                " WHERE realms.name = ? ORDER BY time",
                (self.name,),
            ).fetchall()
        return [(*row[:3], row[3] and json.loads(row[3])) for row in rows]


def client_in_sql(administration: Administration, realm: str, client_id: str) -> str:
    """Return the internal id of a client."""
    database = administration.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(database)) as connection:
        (found,) = connection.execute(
            "SELECT clients.id FROM clients JOIN realms ON realms.id = realm_id"
            " WHERE realms.name = ? AND client_id = ?",
            (realm, client_id),
        ).fetchone()
    return str(found)


SIGN_IN: Mapping[str, Any] = {
    "clients": [
        {
            "clientId": "page",
            "publicClient": True,
            "directAccessGrantsEnabled": True,
            "enabled": True,
        }
    ],
    "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
    "attributes": {"userProfileEnabled": "false"},
}
"""What a realm has where its users sign in cheaply."""


@contextmanager
def with_every_role_over_master(master: AdministeredRealm, client_id: str) -> Iterator[None]:
    """Give a service account of `master` every role over `master`, and not the role `admin`."""
    holder = client_in_sql(master.administration, "master", "master-realm")
    mappings = f"users/{master.account(client_id)}/role-mappings/clients/{holder}"
    roles = master.get(f"clients/{holder}/roles?first=0&max=99")
    master.change("POST", mappings, roles)
    try:
        yield
    finally:
        master.change("DELETE", mappings, roles)


def person(username: str, **fields: Any) -> dict[str, Any]:
    """Return a user who may sign in."""
    credentials = [{"type": "password", "value": PASSWORD}]
    return {"username": username, "enabled": True, "credentials": credentials, **fields}


@contextmanager
def administered_realm(
    administration: Administration,
    name: str,
    administrators: Mapping[str, Sequence[str]],
    **document: Any,
) -> Iterator[AdministeredRealm]:
    """Make a realm with an administrator for each name, who has these roles over the realm.

    The id of its client is `client-of-<name>`.
    """
    clients = [
        {
            "id": f"client-of-{one}",
            "clientId": one,
            "secret": SECRET,
            "serviceAccountsEnabled": True,
            "enabled": True,
        }
        for one in administrators
    ]
    accounts = [
        {
            "username": f"service-account-{one}",
            "serviceAccountClientId": one,
            "clientRoles": {REALM_MANAGEMENT: roles},
        }
        for one, roles in administrators.items()
    ]
    sent = {
        "realm": name,
        **ELLIPTIC,
        "accessTokenLifespan": 1800,
        "adminEventsEnabled": True,
        "adminEventsDetailsEnabled": True,
        **document,
        "clients": [*document.get("clients", []), *clients],
        "users": [*document.get("users", []), *accounts],
    }
    made = administration.ask("POST", "", document=sent)
    assert made.status_code == httpx2.codes.CREATED, made.text
    yield AdministeredRealm(administration, name)
    gone = administration.ask("DELETE", name)
    assert gone.status_code in {httpx2.codes.NO_CONTENT, httpx2.codes.NOT_FOUND}, gone.text
