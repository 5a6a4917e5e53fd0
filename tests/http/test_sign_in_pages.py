"""Signing in on the gateway's pages: right, wrong and locked; what the pages show of a client.

Keycloak: 12.12, 4.2, 10.2, 13; attacks: D3, D4, D10
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import (
    CALLBACK,
    Page,
    SignInRealm,
    query_of,
    web_client,
)
from tests.support.wire import claims_of

_INVALID: Final = "Invalid username or password."
_DISABLED: Final = "Account is disabled, contact your administrator."
_FACTOR: Final = 5
_SHOWN: Final = web_client(
    "shown",
    name="The <b>Portal</b>",
    rootUrl="https://app.example.test",
    baseUrl="/home",
    attributes={
        "logoUri": "https://app.example.test/logo.png",
        "policyUri": "https://app.example.test/policy",
        "tosUri": "https://app.example.test/terms",
    },
)
_UNSAFE: Final = web_client(
    "unsafe",
    baseUrl="javascript:alert(1)",
    attributes={"policyUri": "javascript:alert(1)", "tosUri": "data:text/html,x"},
)


@pytest.fixture(scope="module")
def pages(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose users may be remembered."""
    settings: dict[str, Any] = {
        **RECORDED,
        "failureFactor": _FACTOR,
        "rememberMe": True,
        "ssoSessionMaxLifespan": 36_000,
        "ssoSessionMaxLifespanRememberMe": 72_000,
        "clients": [web_client("app"), _SHOWN, _UNSAFE],
        "users": [person(name) for name in ("anna", "bert", "locked")]
        + [person("off", enabled=False), person("halfway", requiredActions=["idp_link"])],
    }
    with administered_realm(administration, "pages", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(pages: SignInRealm) -> None:
    pages.events()


def _try(pages: SignInRealm, username: str, password: str) -> Page:
    browser = pages.browser()
    return browser.submit(browser.open(), username=username, password=password)


def _comparable(page: Page) -> str:
    """Return the page without what differs each time, and without the name that was typed."""
    html = re.sub(r'(action|href)="[^"]*"', "", page.html)
    return re.sub(r'(id="username"[^>]*) value="[^"]*"', r"\1", html)


def test_the_right_password_brings_a_code_and_a_session(pages: SignInRealm) -> None:
    browser = pages.browser()
    page = browser.open()
    assert (page.status, page.id, page.message) == (200, "login", None)
    assert {"username", "password", "rememberMe", "credentialId", "login"} <= page.form.names
    assert list(query_of(page.form.action)) == [
        *("session_code", "execution", "client_id", "tab_id", "client_data"),
    ]
    answer = browser.submit(page, username="anna", password=PASSWORD).answer
    assert list(answer) == ["state", "session_state", "iss", "code"]
    assert (answer["state"], answer["iss"]) == ("a-state", "https://gateway.test/realms/pages")
    tokens = browser.redeem(answer["code"]).json()
    assert claims_of(tokens["id_token"])["sid"] == answer["session_state"]


def test_cookies_have_keycloaks_attributes(pages: SignInRealm) -> None:
    browser = pages.browser()
    page = browser.open()
    common = "Path=/realms/pages/; HttpOnly; Secure; SameSite=None"
    assert set(page.set_cookies) == {"AUTH_SESSION_ID", "KC_RESTART"}
    assert all(header.endswith(f"; {common}") for header in page.set_cookies.values())
    done = browser.submit(page, username="anna", password=PASSWORD)
    set_by = {name: value.partition("; ")[2] for name, value in done.set_cookies.items()}
    assert set_by["KEYCLOAK_IDENTITY"] == common
    assert set_by["KEYCLOAK_SESSION"] == (
        "Path=/realms/pages/; Max-Age=36000; Secure; SameSite=None"
    )
    assert set_by["KC_RESTART"] == f"Path=/realms/pages/; Max-Age=0; {common.partition('; ')[2]}"


def test_wrong_passwords_and_unknown_users_are_told_the_same(pages: SignInRealm) -> None:
    """Of a locked and a disabled account a wrong password tells nothing either."""
    for _ in range(_FACTOR):
        _try(pages, "locked", "wrong")
    tried = [
        _try(pages, "anna", "wrong"),
        _try(pages, "nobody", "wrong"),
        _try(pages, "off", "wrong"),
        _try(pages, "locked", "wrong"),
        _try(pages, "locked", PASSWORD),
        _try(pages, "", PASSWORD),
        _try(pages, "bert", ""),
    ]
    assert {page.message for page in tried} == {_INVALID}
    assert {page.status for page in tried} == {200}
    same = {_comparable(page) for page in tried[:5]}
    assert len(same) == 1


def test_a_disabled_user_with_the_right_password_is_told_so(pages: SignInRealm) -> None:
    page = _try(pages, "off", PASSWORD)
    assert _DISABLED in page.text
    assert "KEYCLOAK_IDENTITY" not in page.set_cookies
    [event] = pages.events()
    assert (event["type"], event["error"]) == ("LOGIN_ERROR", "user_disabled")


def test_a_wrong_password_keeps_the_name_and_changes_the_code(pages: SignInRealm) -> None:
    browser = pages.browser()
    first = browser.open()
    again = browser.submit(first, username="anna", password="wrong")
    assert again.form.fields["username"] == "anna"
    assert "wrong" not in again.html
    before, after = query_of(first.form.action), query_of(again.form.action)
    assert before["session_code"] != after["session_code"]
    assert before["tab_id"] == after["tab_id"]
    assert browser.submit(again, password=PASSWORD).answer["code"]


def test_a_sign_in_is_recorded(pages: SignInRealm) -> None:
    done = pages.browser().sign_in()
    [event] = pages.events()
    assert (event["type"], event["clientId"]) == ("LOGIN", "app")
    assert event["userId"] == pages.user_id("anna")
    assert event["sessionId"] == done.answer["session_state"]
    assert event["details"] == {
        "auth_method": "openid-connect",
        "auth_type": "code",
        "response_type": "code",
        "response_mode": "query",
        "redirect_uri": CALLBACK,
        "consent": "no_consent_required",
        "code_id": done.answer["session_state"],
        "username": "anna",
    }


@pytest.mark.parametrize(
    ("username", "error", "has_user"),
    [
        ("bert", "invalid_user_credentials", True),
        ("off", "invalid_user_credentials", True),
        ("nobody", "user_not_found", False),
    ],
)
def test_a_failed_sign_in_is_recorded(
    pages: SignInRealm, username: str, error: str, *, has_user: bool
) -> None:
    _try(pages, username, "wrong")
    [event] = pages.events()
    assert (event["type"], event["error"]) == ("LOGIN_ERROR", error)
    assert ("userId" in event) is has_user
    assert event["details"].pop("code_id")
    assert event["details"] == {
        "auth_method": "openid-connect",
        "auth_type": "code",
        "redirect_uri": CALLBACK,
        "username": username,
    }


def test_the_event_of_a_refused_request_has_the_reason(pages: SignInRealm) -> None:
    """Keycloak: 12.10."""
    page = pages.browser().open(response_mode="telepathy")
    assert page.answer["error_description"] == "Invalid parameter: response_mode"
    [event] = pages.events()
    assert (event["type"], event["error"]) == ("LOGIN_ERROR", "invalid_request")
    assert event["details"]["reason"] == "Invalid parameter: response_mode"


def test_a_remembered_user_has_lasting_cookies(pages: SignInRealm) -> None:
    """Keycloak: 3.1: the longer of both lifetimes."""
    browser = pages.browser()
    page = browser.submit(browser.open(), username="anna", password=PASSWORD, rememberMe="on")
    for name in ("KEYCLOAK_IDENTITY", "KEYCLOAK_SESSION"):
        assert "; Max-Age=72000;" in page.set_cookies[name]
    assert page.set_cookies["KEYCLOAK_REMEMBER_ME"].startswith(
        "KEYCLOAK_REMEMBER_ME=username:anna; Path=/realms/pages/; Max-Age=31536000;"
    )
    assert pages.events()[-1]["details"]["remember_me"] == "true"
    del browser.cookies["KEYCLOAK_IDENTITY"]
    back = browser.open()
    assert (back.form.fields["username"], back.form.fields["rememberMe"]) == ("anna", "on")
    fields = {name: text for name, text in back.form.fields.items() if name != "rememberMe"}
    forgotten = browser.post(back.form.action, {**fields, "password": PASSWORD})
    assert "Max-Age=0" in forgotten.set_cookies["KEYCLOAK_REMEMBER_ME"]
    assert "Max-Age" not in forgotten.set_cookies["KEYCLOAK_IDENTITY"]


def test_nobody_is_remembered_where_the_realm_does_not_offer_it(pages: SignInRealm) -> None:
    with pages.changed(rememberMe=False):
        browser = pages.browser()
        page = browser.open()
        assert "rememberMe" not in page.form.names
        done = browser.submit(page, username="anna", password=PASSWORD, rememberMe="on")
        assert "Max-Age" not in done.set_cookies["KEYCLOAK_IDENTITY"]
        assert "KEYCLOAK_REMEMBER_ME" not in done.set_cookies


def test_the_name_of_the_client_and_its_links_are_on_the_page(pages: SignInRealm) -> None:
    page = pages.browser().open("shown")
    assert "to continue to The <b>Portal</b>" in page.text
    assert "<b>" not in page.html
    assert 'src="https://app.example.test/logo.png"' in page.html
    assert "https://app.example.test" in page.response.headers["content-security-policy"]
    assert page.link("kc-policy") == "https://app.example.test/policy"
    assert page.link("kc-terms") == "https://app.example.test/terms"


def test_a_page_that_ends_the_sign_in_leads_back_to_the_client(pages: SignInRealm) -> None:
    browser = pages.browser()
    page = browser.submit(browser.open("shown"), username="halfway", password=PASSWORD)
    assert (page.status, page.id) == (400, "required-action")
    assert page.link("backToApplication") == "https://app.example.test/home"


def test_the_page_for_a_wrong_request_leads_back_to_the_client(pages: SignInRealm) -> None:
    """No redirect to the address that was sent, but a link to the one that is registered."""
    page = pages.browser().open("shown", redirect_uri="https://evil.example/")
    assert (page.status, page.id) == (400, "error")
    assert "Invalid parameter: redirect_uri" in page.text
    assert page.link("backToApplication") == "https://app.example.test/home"
    assert "evil.example" not in page.html


def test_no_link_of_a_client_runs_a_script(pages: SignInRealm) -> None:
    """attacks: C2."""
    browser = pages.browser()
    page = browser.open("unsafe")
    failed = browser.submit(page, username="halfway", password=PASSWORD)
    refused = browser.open("unsafe", redirect_uri="https://evil.example/")
    for shown in (page, failed, refused):
        assert "javascript:" not in shown.html
        assert "data:text" not in shown.html


def test_pages_are_uncached_and_send_no_referrer(pages: SignInRealm) -> None:
    browser = pages.browser()
    page = browser.open()
    done = browser.submit(page, username="anna", password=PASSWORD)
    error = browser.open("unknown")
    for shown in (page, done, error):
        assert shown.response.headers["cache-control"] == "no-store, must-revalidate, max-age=0"
        assert shown.response.headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'self'" in page.response.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("settings", "headers", "said"),
    [
        ({"enabled": False}, {}, "Realm not enabled"),
        ({"sslRequired": "all"}, {"X-Forwarded-Proto": "http"}, "HTTPS required"),
    ],
    ids=["disabled", "in clear"],
)
def test_a_realm_that_may_not_be_used_says_so_on_a_page(
    pages: SignInRealm, settings: dict[str, Any], headers: dict[str, str], said: str
) -> None:
    """Keycloak: 13: 400 where clients are told 403."""
    page = pages.browser().open()
    with pages.changed(**settings):
        browser = pages.browser(**headers)
        for shown in (browser.open(), browser.get(page.form.action)):
            assert (shown.status, shown.id) == (400, "error")
            assert said in shown.text


def test_a_realm_that_does_not_exist_has_no_page(pages: SignInRealm) -> None:
    browser = pages.browser()
    browser.realm = "nowhere"
    page = browser.open()
    assert (page.status, page.response.json()["error"]) == (404, "Realm does not exist")
