"""What is recorded of clients that register themselves.

Keycloak: CLIENT_REGISTER, CLIENT_INFO, CLIENT_UPDATE, CLIENT_DELETE; each expectation was compared
with an answer of Keycloak 26.7
"""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.support.administered_realm import administered_realm
from tests.support.administration import SECRET, Administration
from tests.support.recorded_realm import RECORDED, Recorded
from tests.support.registration import Registration

ADMINISTRATORS = {"viewer": ["view-clients"], "maker": ["create-client"]}
UNKNOWN = "Not authorized to view client. Not valid token or client credentials provided."
UNCHANGED = "Not authorized to update client. Maybe missing token or bad token type."


@pytest.fixture(scope="module")
def recorded(administration: Administration) -> Iterator[Recorded]:
    """Make a realm that records everything."""
    with administered_realm(administration, "heard", ADMINISTRATORS, **RECORDED) as realm:
        yield Recorded(realm)


@pytest.fixture(scope="module")
def service(recorded: Recorded) -> Registration:
    """Return the registration service of the realm."""
    return Registration(recorded.realm)


@pytest.fixture(autouse=True)
def nothing_yet(recorded: Recorded) -> None:
    recorded.events()


def told(recorded: Recorded) -> dict[str, Any]:
    """Return the one event that was recorded, without where it came from."""
    event = recorded.one()
    assert event.pop("ipAddress") == "203.0.113.9"
    if not event["details"]:
        del event["details"]
    return event


def untold(recorded: Recorded, reason: str, kind: str, **fields: str) -> None:
    """Hold that a token was not believed."""
    why = {"error": "invalid_token", "details": {"reason": reason}}
    assert told(recorded) == {"type": kind, **fields, **why}


@pytest.mark.parametrize("provider", ["default", "openid-connect"])
def test_what_a_client_does_by_its_token_is_recorded(
    recorded: Recorded, service: Registration, provider: str
) -> None:
    whole = {"default": {"clientId": "own"}, "openid-connect": {"client_name": "own"}}[provider]
    made = service.given("POST", provider, whole, token=service.initial())
    client = made.get("client_id") or made["clientId"]
    assert told(recorded) == {"type": "CLIENT_REGISTER", "clientId": client}
    old = made.get("registration_access_token") or made["registrationAccessToken"]
    path = f"{provider}/{client}"
    service.given("GET", path, token=old)
    assert told(recorded) == {"type": "CLIENT_INFO", "clientId": client}
    made = service.given("PUT", path, made, token=old)
    assert told(recorded) == {"type": "CLIENT_UPDATE", "clientId": client}
    service.refused("PUT", path, made, token=old)
    untold(recorded, UNCHANGED, "CLIENT_UPDATE_ERROR", clientId=client)
    service.refused("DELETE", path, token=old)
    untold(recorded, UNCHANGED, "CLIENT_DELETE_ERROR", clientId=client)
    token = made.get("registration_access_token") or made["registrationAccessToken"]
    service.given("DELETE", path, token=token)
    assert told(recorded) == {"type": "CLIENT_DELETE", "clientId": client}


def test_who_is_not_believed_is_recorded(recorded: Recorded, service: Registration) -> None:
    path = "default/other"
    service.refused("GET", path, token="junk")
    untold(recorded, "Failed decode token", "CLIENT_INFO_ERROR")
    service.refused("POST", "default", {"clientId": "new"}, token="junk")
    untold(recorded, "Failed decode token", "CLIENT_REGISTER_ERROR")
    service.refused("GET", path)
    untold(recorded, UNKNOWN, "CLIENT_INFO_ERROR")
    service.refused("GET", path, token=service.initial())
    untold(recorded, "Not initial access token allowed", "CLIENT_INFO_ERROR")


@pytest.mark.parametrize(
    ("document", "policy"),
    [
        ({"clientId": "new"}, "Trusted Hosts"),
        ({"clientId": "new", "defaultClientScopes": ["mine"]}, "Allowed Client Scopes"),
        (
            {
                "clientId": "new",
                "protocolMappers": [
                    {
                        "name": "me",
                        "protocol": "openid-connect",
                        "protocolMapper": "oidc-hardcoded-claim-mapper",
                        "config": {"claim.name": "me", "claim.value": "root"},
                    }
                ],
            },
            "Allowed Protocol Mapper Types",
        ),
    ],
)
def test_which_policy_refused_a_client_is_recorded(
    recorded: Recorded, service: Registration, document: dict[str, Any], policy: str
) -> None:
    token = None if policy == "Trusted Hosts" else service.initial()
    service.refused("POST", "default", document, token=token)
    assert told(recorded) == {
        "type": "CLIENT_REGISTER_ERROR",
        "error": "not_allowed",
        "details": {"client_registration_policy": policy},
    }


def test_changes_by_administrators_are_recorded_as_the_clients(
    recorded: Recorded, service: Registration
) -> None:
    viewer, maker = service.bearer("viewer"), service.bearer("maker")
    recorded.events()
    refused = {"error": "not_allowed"}
    service.refused("POST", "default", {"clientId": "made"}, token=viewer)
    assert told(recorded) == {"type": "CLIENT_REGISTER_ERROR", **refused}
    service.given("POST", "default", {"clientId": "made"}, token=maker)
    assert told(recorded) == {"type": "CLIENT_REGISTER", "clientId": "made"}
    service.given("GET", "default/made", token=viewer)
    assert told(recorded) == {"type": "CLIENT_INFO", "clientId": "made"}
    service.refused("GET", "default/made", token=maker)
    assert told(recorded) == {"type": "CLIENT_INFO_ERROR", **refused}
    service.refused("GET", "default/nobody", token=viewer)
    assert told(recorded) == {"type": "CLIENT_INFO_ERROR", "error": "client_not_found"}
    service.refused("DELETE", "default/made", token=maker)
    assert told(recorded) == {"type": "CLIENT_DELETE_ERROR", "clientId": "made", **refused}


def test_what_an_adapter_is_told_is_recorded(recorded: Recorded, service: Registration) -> None:
    url = f"/realms/{recorded.realm.name}/clients-registrations/install/other"
    http = recorded.realm.administration.http
    assert http.get(url, auth=httpx2.BasicAuth("other", SECRET)).status_code == 200
    event = told(recorded)
    assert (event["type"], event["clientId"]) == ("CLIENT_INFO", "other")
    assert http.get(url, auth=httpx2.BasicAuth("other", "wrong")).status_code == 401
    untold(recorded, "Failed to authenticate client", "CLIENT_INFO_ERROR", clientId="other")
    assert service.given("GET", "install/admin-cli", token=service.bearer("viewer"))
    recorded.events()
    assert service.ask("GET", "install/admin-cli").status_code == 200
    assert told(recorded) == {"type": "CLIENT_INFO", "clientId": "admin-cli"}
    service.refused("GET", "install/nobody")
    untold(recorded, UNKNOWN, "CLIENT_INFO_ERROR")


def test_what_is_wrong_with_a_client_is_no_event(recorded: Recorded, service: Registration) -> None:
    service.refused("POST", "default", {"clientId": "svc"}, token=service.initial())
    sent = {"redirect_uris": ["http:// b"]}
    service.refused("POST", "openid-connect", sent, token=service.initial())
    assert recorded.events() == []
