"""Administrators who begin a session of a user: cookies, event, `act` in tokens, refusals.

Keycloak: POST users/{id}/impersonation (26.7, measured); Spec: RFC 8693 §4.1
"""

from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import SignInBrowser, SignInRealm, web_client
from tests.support.wire import claims_of

_MANAGEMENT: Final = "realm-management"
_PAGE: Final = {
    "clientId": "page",
    "enabled": True,
    "publicClient": True,
    "directAccessGrantsEnabled": True,
}
_FOR_APP: Final = {
    "name": "audience",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-audience-mapper",
    "config": {"included.client.audience": "app", "access.token.claim": "true"},
}
_FOR_ACCOUNT: Final = {
    **_FOR_APP,
    "name": "account",
    "config": {"included.client.audience": "account", "access.token.claim": "true"},
}


def _administrator(name: str, *roles: str) -> dict[str, Any]:
    return person(name, clientRoles={_MANAGEMENT: list(roles)})


@pytest.fixture(scope="module")
def acting(administration: Administration) -> Iterator[SignInRealm]:
    settings: dict[str, Any] = {
        **RECORDED,
        "clients": [
            web_client("app", protocolMappers=[_FOR_APP, _FOR_ACCOUNT]),
            {**_PAGE},
        ],
        "users": [
            *(person("anna"), person("off", enabled=False)),
            _administrator("helper", "impersonation", "view-users"),
            _administrator("chief", "realm-admin"),
            _administrator("manager", "manage-users"),
        ],
    }
    callers = {"robot": ["impersonation"], "viewer": ["view-users"]}
    with administered_realm(administration, "acting", callers, **settings) as realm:
        yield SignInRealm(realm)


def _tokens(acting: SignInRealm, username: str) -> dict[str, Any]:
    form = {"grant_type": "password", "client_id": "page", "username": username}
    url = f"/realms/{acting.realm.name}/protocol/openid-connect/token"
    answer = acting.realm.administration.http.post(url, data=form | {"password": PASSWORD})
    assert answer.status_code == httpx2.codes.OK, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _impersonate(acting: SignInRealm, username: str, token: str) -> httpx2.Response:
    path = f"acting/users/{acting.user_id(username)}/impersonation"
    return acting.realm.administration.ask("POST", path, token)


def _browser(acting: SignInRealm, answer: httpx2.Response) -> SignInBrowser:
    """Return a browser with the cookies of the answer."""
    assert answer.status_code == httpx2.codes.OK, answer.text
    browser = acting.browser()
    for header in answer.headers.get_list("set-cookie"):
        name, _, rest = header.partition("=")
        browser.cookies[name] = rest.partition(";")[0]
    return browser


def _code(browser: SignInBrowser, **asked: str) -> str:
    return str(browser.open(**asked).answer["code"])


def test_the_browser_gets_a_session_of_the_user(acting: SignInRealm) -> None:
    acting.events()
    answer = _impersonate(acting, "anna", _tokens(acting, "helper")["access_token"])
    issuer = "https://gateway.test/realms/acting"
    assert answer.json() == {"redirect": f"{issuer}/account", "sameRealm": True}
    cookies = {each.partition("=")[0]: each for each in answer.headers.get_list("set-cookie")}
    assert set(cookies) == {"KEYCLOAK_IDENTITY", "KEYCLOAK_SESSION"}
    assert all("Path=/realms/acting/" in each and "Secure" in each for each in cookies.values())
    assert "HttpOnly" in cookies["KEYCLOAK_IDENTITY"]
    [event] = [each for each in acting.events() if each["type"] == "IMPERSONATE"]
    assert event["userId"] == acting.user_id("anna")
    assert event["details"] == {"impersonator": "helper", "impersonator_realm": "acting"}
    sessions = acting.realm.get(f"users/{acting.user_id('anna')}/sessions")
    assert event["sessionId"] in {each["id"] for each in sessions}


def test_every_token_of_the_session_names_the_administrator(acting: SignInRealm) -> None:
    helper = acting.user_id("helper")
    browser = _browser(
        acting, _impersonate(acting, "anna", _tokens(acting, "helper")["access_token"])
    )
    tokens = browser.redeem(_code(browser, scope="openid offline_access")).json()
    refreshed = browser.http.post(
        browser.protocol("token"),
        data={
            "grant_type": "refresh_token",
            "refresh_token": tokens["refresh_token"],
            "client_id": "app",
            "client_secret": SECRET,
        },
    ).json()
    for found in (tokens, refreshed):
        for kind in ("access_token", "id_token"):
            claims = claims_of(found[kind])
            assert claims["act"] == {"sub": helper}, kind
            assert (claims["sub"], claims["acr"]) == (acting.user_id("anna"), "0")
            assert "auth_time" not in claims
    introspected = browser.http.post(
        browser.protocol("token/introspect"),
        data={"token": tokens["access_token"], "client_id": "app", "client_secret": SECRET},
    ).json()
    assert (introspected["active"], introspected["act"]) == (True, {"sub": helper})
    plain = claims_of(_tokens(acting, "anna")["access_token"])
    assert "act" not in plain


def test_an_administrator_of_master_is_named_with_the_issuer(
    administration: Administration, acting: SignInRealm
) -> None:
    answer = _impersonate(acting, "anna", administration.token())
    assert answer.json()["sameRealm"] is False
    browser = _browser(acting, answer)
    claims = claims_of(browser.redeem(_code(browser)).json()["access_token"])
    root = claims_of(administration.token())
    assert claims["act"] == {"sub": root["sub"], "iss": root["iss"]}


def test_the_session_of_the_administrator_ends_in_the_same_realm(acting: SignInRealm) -> None:
    tokens = _tokens(acting, "helper")
    assert _impersonate(acting, "anna", tokens["access_token"]).status_code == httpx2.codes.OK
    assert _impersonate(acting, "anna", tokens["access_token"]).status_code == 401
    robot = acting.realm.administration.token("robot", "acting")
    answers = [_impersonate(acting, "anna", robot) for _ in range(2)]
    assert [each.json()["sameRealm"] for each in answers] == [False, False]


def test_no_account_with_more_rights_is_impersonated(acting: SignInRealm) -> None:
    for caller, target in (("helper", "chief"), ("helper", "manager")):
        answer = _impersonate(acting, target, _tokens(acting, caller)["access_token"])
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    answer = _impersonate(acting, "manager", _tokens(acting, "chief")["access_token"])
    assert answer.status_code == httpx2.codes.OK


def test_only_the_role_impersonation_permits_it(acting: SignInRealm) -> None:
    for caller in ("manager", "anna"):
        answer = _impersonate(acting, "anna", _tokens(acting, caller)["access_token"])
        assert answer.status_code == 403
    viewer = acting.realm.administration.token("viewer", "acting")
    assert _impersonate(acting, "anna", viewer).status_code == 403


def test_disabled_users_and_service_accounts_are_refused(acting: SignInRealm) -> None:
    root = acting.realm.administration.token()
    answer = _impersonate(acting, "off", root)
    assert (answer.status_code, answer.json()) == (400, {"errorMessage": "User is disabled"})
    path = f"acting/users/{acting.realm.account('viewer')}/impersonation"
    answer = acting.realm.administration.ask("POST", path, root)
    refused = {"errorMessage": "Service accounts cannot be impersonated"}
    assert (answer.status_code, answer.json()) == (400, refused)
    answer = acting.realm.administration.ask("POST", "acting/users/nobody/impersonation", root)
    assert (answer.status_code, answer.json()) == (404, {"error": "User not found"})


def test_an_impersonated_administrator_impersonates_nobody(acting: SignInRealm) -> None:
    """`act` names one administrator: a chain would hide the first."""
    browser = _browser(
        acting, _impersonate(acting, "helper", _tokens(acting, "chief")["access_token"])
    )
    token = browser.redeem(_code(browser)).json()["access_token"]
    assert "act" in claims_of(token)
    answer = _impersonate(acting, "anna", token)
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


@pytest.mark.parametrize(
    "asked", [{"max_age": "36000"}, {"prompt": "login"}, {"kc_action": "UPDATE_PASSWORD"}]
)
def test_nothing_that_needs_credentials_is_proven(
    acting: SignInRealm, asked: dict[str, str]
) -> None:
    """An administrator must not turn a session into a password of the user."""
    robot = acting.realm.administration.token("robot", "acting")
    browser = _browser(acting, _impersonate(acting, "anna", robot))
    page = browser.open(**asked)
    assert page.status == httpx2.codes.OK
    assert "password" in page.form.names
    assert "password-new" not in page.form.names


@pytest.mark.parametrize("action", ["UPDATE_PASSWORD", "UPDATE_PROFILE", "CONFIGURE_TOTP"])
def test_no_required_action_of_the_user_is_performed(acting: SignInRealm, action: str) -> None:
    """A page of it would give the administrator the account for good."""
    robot = acting.realm.administration.token("robot", "acting")
    browser = _browser(acting, _impersonate(acting, "anna", robot))
    user = f"users/{acting.user_id('anna')}"
    acting.realm.change("PUT", user, {"requiredActions": [action]})
    page = browser.open()
    assert page.status == 400, page.text
    assert browser.open(prompt="none").answer["error"] == "interaction_required"
    acting.realm.change("PUT", user, {"requiredActions": []})
    assert _code(browser)


def test_the_account_is_only_read(acting: SignInRealm) -> None:
    robot = acting.realm.administration.token("robot", "acting")
    browser = _browser(acting, _impersonate(acting, "anna", robot))
    token = browser.redeem(_code(browser)).json()["access_token"]
    url, headers = "/realms/acting/account/", {"Authorization": f"Bearer {token}"}
    headers["Accept"] = "application/json"
    read = browser.http.get(url, headers=headers)
    assert (read.status_code, read.json()["username"]) == (200, "anna")
    written = browser.http.post(url, headers=headers, json=read.json() | {"email": "a@b.example"})
    assert written.status_code == 403
    page = browser.get(url)
    assert page.status in {200, 302}, page.text


def test_mappers_do_not_forge_the_administrator(acting: SignInRealm) -> None:
    mapper = {
        "name": "forged",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-hardcoded-claim-mapper",
        "config": {
            "claim.name": "act",
            "claim.value": "root",
            "jsonType.label": "String",
            "access.token.claim": "true",
            "id.token.claim": "true",
        },
    }
    realm: AdministeredRealm = acting.realm
    page = realm.get("clients?clientId=page")[0]["id"]
    realm.ask("POST", f"clients/{page}/protocol-mappers/models", mapper)
    assert "act" not in claims_of(_tokens(acting, "anna")["access_token"])
