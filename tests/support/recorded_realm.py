"""A realm that records every user event, and what it has recorded of a request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from gateway.domain.events import ALL_NAMES
from tests.support.administered_realm import SIGN_IN, AdministeredRealm, person
from tests.support.administration import PASSWORD, SECRET

_VOLATILE: Final = frozenset(
    {
        *("token_id", "refresh_token_id", "updated_refresh_token_id", "not_before"),
        *("age_of_refresh_token",),
    }
)
"""Details that differ each time."""


def _client(client_id: str, **fields: Any) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "serviceAccountsEnabled": True,
        "directAccessGrantsEnabled": True,
        "protocolMappers": [
            {
                "name": "audience",
                "protocol": "openid-connect",
                "protocolMapper": "oidc-audience-mapper",
                "config": {"included.client.audience": client_id, "access.token.claim": "true"},
            }
        ],
    } | fields


RECORDED: Final[Mapping[str, Any]] = {
    **SIGN_IN,
    "eventsEnabled": True,
    "enabledEventTypes": list(ALL_NAMES),
    "bruteForceProtected": True,
    "failureFactor": 2,
    "quickLoginCheckMilliSeconds": 0,
    "clients": [
        *SIGN_IN["clients"],
        _client("svc"),
        _client("other"),
        _client("no-account", serviceAccountsEnabled=False, directAccessGrantsEnabled=False),
        _client("off", enabled=False),
        _client("bearer", bearerOnly=True),
        _client("saml", protocol="saml", publicClient=True),
        _client("consent", consentRequired=True),
        _client("bound", attributes={"tls.client.certificate.bound.access.tokens": "true"}),
    ],
    "users": [
        person("john", email="john@example.test"),
        person("jane"),
        person("disabled", enabled=False),
        person("unfinished", requiredActions=["UPDATE_PASSWORD"]),
    ],
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """The realm, asked as clients ask it, and its events."""

    realm: AdministeredRealm
    names: dict[str, str] = field(default_factory=dict)

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> httpx2.Response:
        """Ask an endpoint of the protocol as `svc`, the form changed by `form`."""
        sent = {"client_id": "svc", "client_secret": SECRET} | dict(form)
        kept = {name: value for name, value in sent.items() if value}
        return self.realm.administration.http.post(self._url(path), data=kept, headers=headers)

    def userinfo(self, token: str | None = None) -> httpx2.Response:
        """Ask for the user of a token."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.realm.administration.http.get(self._url("userinfo"), headers=headers)

    def sign_in(self, **form: str) -> dict[str, Any]:
        """Sign john in and forget the event."""
        asked = {"grant_type": "password", "username": "john", "password": PASSWORD}
        response = self.post("token", asked | form)
        assert response.status_code == httpx2.codes.OK, response.text
        self.events()
        tokens: dict[str, Any] = response.json()
        return tokens

    def events(self) -> list[dict[str, Any]]:
        """Return what was recorded, oldest first, and empty the log."""
        found = self.realm.get("events?direction=asc")
        self.realm.change("DELETE", "events")
        return [self._told(event) for event in found]

    def one(self) -> dict[str, Any]:
        """Return the one event that was recorded, and empty the log."""
        [event] = self.events()
        return event

    def user_id(self, username: str) -> str:
        """Return the id of a user."""
        if username not in self.names:
            account = username.removeprefix("service-account-")
            self.names[username] = (
                self.realm.account(account)
                if account != username
                else self.realm.get(f"users?username={username}&exact=true")[0]["id"]
            )
            self.events()
        return self.names[username]

    def _told(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an event without what differs each time."""
        told = {name: event[name] for name in event if name not in {"id", "time", "realmId"}}
        told["details"] = {
            name: "?" if name in _VOLATILE else value
            for name, value in told.get("details", {}).items()
        }
        return told

    def _url(self, path: str) -> str:
        return f"/realms/{self.realm.name}/protocol/openid-connect/{path}"
