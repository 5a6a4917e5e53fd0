"""Consent in a browser: asked once, kept, refused, withdrawn. Keycloak: 1.4 (row 12), 12.12."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser, SignInRealm, web_client


@pytest.fixture(scope="module")
def asking(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with a client that asks for consent."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "clients": [
            web_client("asks", name="The App", consentRequired=True),
            web_client(
                "bare",
                name="The Bare App",
                consentRequired=True,
                defaultClientScopes=["basic"],
                optionalClientScopes=["email"],
            ),
        ],
        "users": [person(name) for name in ("anna", "bert", "carl", "dora", "emma", "fred")],
    }
    with administered_realm(administration, "asking", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(asking: SignInRealm) -> None:
    asking.events()


def _answer(browser: SignInBrowser, page: Page, button: str) -> Page:
    return browser.post(page.form.action, {"code": page.form.fields["code"], button: "on"})


def test_the_page_names_the_client_and_what_it_asks_for(asking: SignInRealm) -> None:
    page = asking.browser().sign_in("anna", "asks", scope="openid email")
    assert page.status == 200
    assert "Grant access to The App" in page.text
    assert "You are signed in as anna." in page.text
    assert {"accept", "cancel"} <= page.form.names
    assert "Email address" in page.text
    assert "KEYCLOAK_IDENTITY" not in page.set_cookies
    assert asking.events() == []


def test_a_consent_is_recorded_and_kept(asking: SignInRealm) -> None:
    """Keycloak 26.7 records a LOGIN with `consent_granted`, and no event of the consent alone."""
    browser = asking.browser()
    done = _answer(browser, browser.sign_in("anna", "asks", scope="openid email"), "accept")
    assert "email" in browser.redeem(done.answer["code"], "asks").json()["scope"]
    [login] = [event for event in asking.events() if event["type"] != "CODE_TO_TOKEN"]
    assert (login["type"], login["details"]["consent"]) == ("LOGIN", "consent_granted")
    assert browser.open("asks", scope="openid email", prompt="none").answer["code"]
    other = asking.browser()
    assert other.sign_in("anna", "asks", scope="openid email").answer["code"]
    assert asking.events()[-1]["details"]["consent"] == "persistent_consent"
    [kept] = asking.realm.get(f"users/{asking.user_id('anna')}/consents")
    assert (kept["clientId"], "email" in kept["grantedClientScopes"]) == ("asks", True)


def test_what_is_asked_for_beyond_the_consent_is_asked_for(asking: SignInRealm) -> None:
    browser = asking.browser()
    _answer(browser, browser.sign_in("bert", "asks", scope="openid"), "accept")
    page = browser.open("asks", scope="openid phone")
    assert "Phone number" in page.text
    assert "Email address" not in page.text
    assert browser.open("asks", scope="openid").answer["code"]


def test_prompt_consent_asks_again_and_prompt_none_never(asking: SignInRealm) -> None:
    browser = asking.browser()
    _answer(browser, browser.sign_in("carl", "asks"), "accept")
    assert "accept" in browser.open("asks", prompt="consent").form.names
    silent = browser.open("asks", scope="openid phone", prompt="none")
    assert silent.answer["error"] == "interaction_required"


def test_who_refuses_is_not_signed_in(asking: SignInRealm) -> None:
    browser = asking.browser()
    page = browser.sign_in("dora", "asks")
    refused = _answer(browser, page, "cancel")
    assert refused.answer == {
        "error": "access_denied",
        "state": "a-state",
        "iss": "https://gateway.test/realms/asking",
    }
    assert "KEYCLOAK_IDENTITY" not in browser.cookies
    [event] = asking.events()
    assert (event["type"], event["error"]) == ("LOGIN_ERROR", "rejected_by_user")
    assert event["details"].pop("code_id")
    assert event["details"] == {
        "auth_method": "openid-connect",
        "redirect_uri": CALLBACK,
        "response_mode": "query",
        "response_type": "code",
        "username": "dora",
    }
    user = f"users/{asking.user_id('dora')}"
    assert asking.realm.get(f"{user}/sessions") == []
    assert asking.realm.get(f"{user}/consents") == []
    assert "code" not in _answer(browser, page, "accept").response.headers.get("location", "")


def test_nothing_is_granted_without_the_button(asking: SignInRealm) -> None:
    browser = asking.browser()
    page = browser.sign_in("dora", "asks")
    both = browser.post(page.form.action, {"accept": "on", "cancel": "on"})
    assert both.answer["error"] == "access_denied"
    page = browser.sign_in("dora", "asks")
    assert browser.post(page.form.action, {}).answer["error"] == "access_denied"


def test_a_withdrawn_consent_is_asked_for_again(asking: SignInRealm) -> None:
    browser = asking.browser()
    done = _answer(browser, browser.sign_in("emma", "asks"), "accept")
    user = f"users/{asking.user_id('emma')}"
    asking.realm.change("DELETE", f"{user}/consents/asks")
    late = browser.redeem(done.answer["code"], "asks")
    assert late.status_code == 400
    again = asking.browser()
    assert "accept" in again.sign_in("emma", "asks").form.names


def test_the_answer_of_a_consent_goes_where_the_client_said(asking: SignInRealm) -> None:
    browser = asking.browser()
    page = browser.sign_in("anna", "asks", response_mode="form_post", prompt="consent")
    posted = _answer(browser, page, "accept")
    assert posted.form.action == CALLBACK
    assert list(posted.form.fields) == ["state", "session_state", "iss", "code"]
    assert PASSWORD not in posted.html


def test_a_client_without_displayed_scopes_asks_for_itself(asking: SignInRealm) -> None:
    """Its own mappers and scopes that are not displayed tell it about the user."""
    browser = asking.browser()
    page = browser.sign_in("fred", "bare", scope="openid")
    assert {"accept", "cancel"} <= page.form.names
    assert "The Bare App" in page.text
    assert browser.open("bare", prompt="none").answer["error"] == "login_required"
    assert _answer(browser, page, "accept").answer["code"]
    assert browser.open("bare", scope="openid").answer["code"]
    assert "Email address" in browser.open("bare", scope="openid email").text
    path = f"users/{asking.user_id('fred')}/consents"
    [kept] = asking.realm.get(path)
    assert (kept["clientId"], kept["grantedClientScopes"]) == ("bare", [])
    asking.realm.change("DELETE", f"{path}/bare")
    again = asking.browser().sign_in("fred", "bare", scope="openid")
    assert {"accept", "cancel"} <= again.form.names
