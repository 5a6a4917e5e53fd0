"""The account console: who may see and change what. Keycloak: 12.12; attacks: D14."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.sign_in_browser import (
    PUBLIC_URL,
    Page,
    SignInBrowser,
    SignInRealm,
    web_client,
)

ACCOUNT: Final = "/realms/own-account/account/"


def _user(username: str, **fields: Any) -> dict[str, Any]:
    named = {"email": f"{username}@example.com", "firstName": username, "lastName": "Example"}
    return person(username, **named, **fields)


@pytest.fixture(scope="module")
def own(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose users manage their accounts."""
    settings: dict[str, Any] = {
        "bruteForceProtected": False,
        "clients": [web_client("app", name="<b>Portal</b>"), web_client("other", consentRequired=True)],
        "users": [_user("anna"), _user("ben")],
    }
    with administered_realm(administration, "own-account", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(own: SignInRealm) -> None:
    own.events()


def _enter(browser: SignInBrowser, path: str = "", username: str = "anna") -> Page:
    """Sign in to the console and follow to the page."""
    page = browser.get(f"{ACCOUNT}{path}")
    done = browser.submit(page, username=username, password=PASSWORD)
    return browser.get(done.location)


def test_it(own: SignInRealm) -> None:
    browser = own.browser()
    page = browser.get(ACCOUNT)
    assert page.id == "login", page.text
    done = browser.submit(page, username="anna", password=PASSWORD)
    assert done.location == f"{PUBLIC_URL}{ACCOUNT}"
    page = browser.get(done.location)
    assert page.id == "account-personal-info", page.text
    print(page.html)
    print(own.events())
    saved = browser.post(page.form_with_id("account-profile-form").action, {**page.form_with_id("account-profile-form").fields, "firstName":"Ann"})
    print(saved.status, saved.response.headers)
    page = browser.get(saved.response.headers["location"])
    print(page.message, own.events())
    out = browser.submit(page)
    print(out.status, out.text)
    assert 0
