"""A realm whose users manage their own accounts, asked by the account API. Keycloak: 17."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from gateway.domain.events import ALL_NAMES
from tests.support.administered_realm import AdministeredRealm, person
from tests.support.administration import PASSWORD
from tests.support.wire import claims_of

ROLES: Final = (
    *("manage-account", "manage-account-links", "view-profile", "view-applications"),
    *("view-consent", "manage-consent", "view-groups", "delete-account"),
)
PAGE: Final = "https://page.example"
FOR_ACCOUNT: Final = {
    "name": "audience",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-audience-mapper",
    "config": {"included.client.audience": "account", "access.token.claim": "true"},
}


def _client(client_id: str, **fields: Any) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "enabled": True,
        "publicClient": True,
        "directAccessGrantsEnabled": True,
        "redirectUris": ["https://app.example/*"],
        **fields,
    }


def _attribute(name: str, view: list[str], edit: list[str], **fields: Any) -> dict[str, Any]:
    return {"name": name, "permissions": {"view": view, "edit": edit}, **fields}


_BOTH: Final = ["admin", "user"]
PROFILE: Final[Mapping[str, Any]] = {
    "attributes": [
        _attribute("username", _BOTH, _BOTH),
        _attribute("email", _BOTH, _BOTH, validations={"email": {}}, displayName="${email}"),
        _attribute("firstName", _BOTH, _BOTH, required={"roles": ["user"]}),
        _attribute("lastName", _BOTH, _BOTH, validations={"length": {"max": 255}}),
        _attribute("desk", _BOTH, _BOTH, multivalued=True),
        _attribute("badge", _BOTH, ["admin"]),
        _attribute("secret", ["admin"], ["admin"]),
    ]
}


def account_realm(**fields: Any) -> dict[str, Any]:
    """Return the fields of the realm: a client for each kind of token, a user for each role."""
    users = [person(role, firstName="F", clientRoles={"account": [role]}) for role in ROLES]
    return {
        "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
        "eventsEnabled": True,
        "enabledEventTypes": list(ALL_NAMES),
        "internationalizationEnabled": True,
        "supportedLocales": ["en", "de"],
        "clients": [
            _client(
                "page",
                name="The page",
                webOrigins=[PAGE],
                rootUrl="https://app.example",
                baseUrl="/home",
                protocolMappers=[FOR_ACCOUNT],
            ),
            _client("scopeless", fullScopeAllowed=False),
            _client(
                "light",
                protocolMappers=[FOR_ACCOUNT],
                attributes={"client.use.lightweight.access.token.enabled": "true"},
            ),
            _client("asking", name="Asks", consentRequired=True, directAccessGrantsEnabled=False),
            _client("listed", name="Listed", alwaysDisplayInConsole=True),
            _client("silent", name="Silent"),
        ],
        "groups": [{"name": "staff", "subGroups": [{"name": "desk", "attributes": {"a": ["1"]}}]}],
        "users": users,
        **fields,
    }


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """The account API of one realm, as users call it."""

    realm: AdministeredRealm

    @property
    def http(self) -> httpx2.Client:
        return self.realm.administration.http

    def add(self, username: str, *roles: str, **fields: Any) -> str:
        """Add a user with roles of the client `account`; return the id."""
        user_id = self.realm.change(
            "POST", "users", person(username, **{"firstName": "F", **fields})
        )
        if roles:
            self.grant(user_id, *roles)
        return user_id

    def grant(self, user_id: str, *roles: str) -> None:
        [client] = self.realm.get("clients?clientId=account")
        path = f"clients/{client['id']}/roles"
        given = [role for role in self.realm.get(path) if role["name"] in roles]
        self.realm.change("POST", f"users/{user_id}/role-mappings/clients/{client['id']}", given)

    def token(self, username: str, client_id: str = "page", **headers: str) -> str:
        """Return the access token of a new session."""
        form = {"grant_type": "password", "client_id": client_id, "scope": "openid"}
        url = f"/realms/{self.realm.name}/protocol/openid-connect/token"
        sent = form | {"username": username, "password": PASSWORD}
        answer = self.http.post(url, data=sent, headers=headers)
        assert answer.status_code == httpx2.codes.OK, answer.text
        return str(answer.json()["access_token"])

    def ask(
        self, method: str, path: str, token: str | None, *, realm: str = "", **how: Any
    ) -> httpx2.Response:
        headers = {"Accept": "application/json", **how.pop("headers", {})}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        url = f"/realms/{realm or self.realm.name}/account{path}"
        return self.http.request(method, url, headers=headers, **how)

    def get(self, path: str, token: str) -> Any:
        answer = self.ask("GET", path, token)
        assert answer.status_code == httpx2.codes.OK, answer.text
        return answer.json()

    def events(self) -> list[dict[str, Any]]:
        """Return the events of the account client, oldest first, and empty the log."""
        found = self.realm.get("events?direction=asc&client=account")
        self.realm.change("DELETE", "events")
        return [
            {name: event.get(name) for name in ("type", "userId", "sessionId", "error", "details")}
            for event in found
        ]


def session_of(token: str) -> str:
    """Return the id of the session that a token is of."""
    return str(claims_of(token)["sid"])
