"""The user's own sessions, applications and consents over the account API. Keycloak: 17 (26.7)."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administered_realm import administered_realm
from tests.support.administration import Administration
from tests.support.own_account import OwnAccount, account_realm, session_of

FIREFOX = "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like"
    " Gecko) Version/17.1 Mobile/15E148 Safari/604.1"
)
NAMES = {"firstName": "F", "lastName": "L"}


@pytest.fixture(scope="module")
def account(administration: Administration) -> Iterator[OwnAccount]:
    fields = account_realm()
    with administered_realm(administration, "own-sessions", {}, **fields) as realm:
        yield OwnAccount(realm)


@pytest.fixture
def ann(account: OwnAccount) -> Iterator[str]:
    """Return the id of a user who manages the own account."""
    user_id = account.add("ann", email="ann@own.example", **NAMES)
    yield user_id
    account.realm.change("DELETE", f"users/{user_id}")


def session_ids(account: OwnAccount, token: str) -> list[str]:
    return [one["id"] for one in account.get("/sessions", token)]


@pytest.mark.usefixtures("ann")
def test_sessions_are_listed_with_their_clients_and_devices(account: OwnAccount) -> None:
    token = account.token("ann", **{"User-Agent": FIREFOX})
    phone = account.token("ann", "silent", **{"User-Agent": IPHONE})
    first, second = account.get("/sessions", token)
    names = {"userConsentRequired": False, "inUse": False, "offlineAccess": False}
    assert first == {
        "id": session_of(token),
        "ipAddress": "203.0.113.9",
        "started": first["started"],
        "lastAccess": first["started"],
        "expires": first["started"] + 36000,
        "clients": [{"clientId": "page", "clientName": "The page", **names}],
        "browser": "Firefox/121.0",
        "current": True,
    }
    assert (second["id"], "current" in second) == (session_of(phone), False)
    devices = {one.pop("os"): one for one in account.get("/sessions/devices", token)}
    assert set(devices) == {"Ubuntu", "iOS"}
    ios = devices["iOS"]
    assert (ios["osVersion"], ios["device"], ios["mobile"]) == ("17.1", "iPhone", True)
    assert ios["sessions"] == [second]
    assert devices["Ubuntu"]["current"] is True


def test_users_end_their_own_sessions_alone(account: OwnAccount, ann: str) -> None:
    """attacks: E1."""
    token, other = account.token("ann"), account.token("ann")
    beside = account.add("beside", email="beside@own.example", **NAMES)
    foreign = account.token("beside")
    account.events()
    for ended in (session_of(foreign), "none"):
        assert account.ask("DELETE", f"/sessions/{ended}", token).status_code == 204
    assert session_ids(account, foreign) == [session_of(foreign)]
    assert account.events() == []
    assert account.ask("DELETE", f"/sessions/{session_of(other)}", token).status_code == 204
    assert account.ask("GET", "", other).status_code == 401
    ended_one = {"type": "LOGOUT", "userId": ann, "error": None, "details": None}
    assert account.events() == [ended_one | {"sessionId": session_of(other)}]
    others = [account.token("ann") for _ in range(2)]
    assert account.ask("DELETE", "/sessions", token).status_code == 204
    assert session_ids(account, token) == [session_of(token)]
    assert [one["sessionId"] for one in account.events()] == [session_of(one) for one in others]
    assert account.ask("DELETE", "/sessions?current=true", token).status_code == 204
    assert account.ask("GET", "", token).status_code == 401
    assert account.events() == [ended_one | {"sessionId": session_of(token)}]
    assert session_ids(account, foreign) == [session_of(foreign)]
    account.realm.change("DELETE", f"users/{beside}")


@pytest.mark.usefixtures("ann")
def test_applications_are_those_in_use_and_always_listed(
    account: OwnAccount,
) -> None:
    token = account.token("ann")
    flags = {"userConsentRequired": False, "inUse": False, "offlineAccess": False}
    page = {
        "clientId": "page",
        "clientName": "The page",
        **flags,
        "inUse": True,
        "rootUrl": "https://app.example",
        "baseUrl": "/home",
        "effectiveUrl": "https://app.example/home",
    }
    listed = {"clientId": "listed", "clientName": "Listed", **flags}
    assert account.get("/applications", token) == [listed, page]
    assert account.get("/applications?name=PAGE", token) == [page]


def scope_ids(account: OwnAccount) -> dict[str, str]:
    return {one["name"]: one["id"] for one in account.realm.get("client-scopes")}


def test_consents_are_given_replaced_and_withdrawn(account: OwnAccount, ann: str) -> None:
    token, ids = account.token("ann"), scope_ids(account)
    path = "/applications/asking/consent"
    assert account.ask("GET", path, token).status_code == 204
    account.events()
    sent = {"grantedScopes": [{"id": ids["email"]}, {"id": ids["profile"]}]}
    given = account.ask("POST", path, token, json=sent, headers={"Accept-Language": "de"})
    assert given.status_code == 200, given.text
    email = {
        "id": ids["email"],
        "name": "${emailScopeConsentText}",
        "displayText": "E-Mail-Adresse",
        "displayTest": "E-Mail-Adresse",
    }
    assert email in given.json()["grantedScopes"]
    assert len(given.json()["grantedScopes"]) == 2
    replaced = account.ask("PUT", path, token, json={"grantedScopes": [{"id": ids["email"]}]})
    document = replaced.json()
    assert [one["id"] for one in document["grantedScopes"]] == [ids["email"]]
    assert document["createdDate"] == given.json()["createdDate"] < document["lastUpdatedDate"]
    [asking] = account.get("/applications?name=asks", token)
    assert asking["consent"] == document
    assert asking["userConsentRequired"] is True
    whole = account.get(f"{path}?briefRepresentation=false", token)["grantedScopes"][0]
    assert whole["protocol"] == "openid-connect"
    assert account.ask("DELETE", path, token).status_code == 204
    assert account.ask("GET", path, token).status_code == 204
    assert [(one["type"], one["userId"], one["details"]) for one in account.events()] == [
        ("GRANT_CONSENT", ann, {"granted_client": "asking", "scope": "email profile"}),
        ("UPDATE_CONSENT", ann, {"granted_client": "asking", "scope": "email"}),
        ("REVOKE_GRANT", ann, {"revoked_client": "asking"}),
    ]


@pytest.mark.usefixtures("ann")
def test_a_client_scope_without_a_text_is_shown_by_its_name(account: OwnAccount) -> None:
    token, acr = account.token("ann"), scope_ids(account)["acr"]
    path, sent = "/applications/asking/consent", {"grantedScopes": [{"id": acr}]}
    [shown] = account.ask("POST", path, token, json=sent).json()["grantedScopes"]
    names = dict.fromkeys(("name", "displayText", "displayTest"), "acr")
    assert shown == {"id": acr, **names}
    assert account.ask("PUT", path, token, json={"grantedScopes": [shown]}).status_code == 200
    assert account.ask("DELETE", path, token).status_code == 204


def test_a_withdrawn_consent_ends_the_tokens_of_the_client(account: OwnAccount, ann: str) -> None:
    token, offered = account.token("ann"), account.token("ann", "silent")
    sent = {"grantedScopes": [{"id": scope_ids(account)["email"]}]}
    path = "/applications/silent/consent"
    assert account.ask("POST", path, token, json=sent).status_code == 200
    userinfo = f"/realms/{account.realm.name}/protocol/openid-connect/userinfo"
    bearer = {"Authorization": f"Bearer {offered}"}
    assert account.http.get(userinfo, headers=bearer).status_code == 200
    assert account.ask("DELETE", path, token).status_code == 204
    assert account.http.get(userinfo, headers=bearer).status_code == 401
    assert account.realm.get(f"users/{ann}/consents") == []


@pytest.mark.usefixtures("ann")
def test_a_consent_names_scopes_of_the_client(account: OwnAccount) -> None:
    token = account.token("ann")
    account.realm.change(
        "POST", "client-scopes", {"name": "own-other", "protocol": "openid-connect"}
    )
    account.events()
    missing = {"errorMessage": "No client with clientId: none found."}
    for method in ("GET", "POST", "DELETE"):
        document: Any = {"grantedScopes": []} if method == "POST" else None
        found = account.ask(method, "/applications/none/consent", token, json=document)
        assert (found.status_code, found.json()) == (404, missing)
    refused: tuple[Any, ...] = (
        {"grantedScopes": [{"id": "none"}]},
        {"grantedScopes": [{"id": scope_ids(account)["own-other"]}]},
        {},
        {"grantedScopes": ["email"]},
        {"grantedScopes": [{"id": {}}]},
    )
    for sent in refused:
        assert (
            account.ask("POST", "/applications/page/consent", token, json=sent).status_code == 400
        )
    assert account.ask("GET", "/applications/page/consent", token).status_code == 204
    assert [(one["type"], one["error"]) for one in account.events()] == [
        ("GRANT_CONSENT_ERROR", "client_not_found"),
        ("REVOKE_GRANT_ERROR", "client_not_found"),
        ("GRANT_CONSENT_ERROR", "invalid_scope"),
        ("GRANT_CONSENT_ERROR", "invalid_scope"),
    ]
