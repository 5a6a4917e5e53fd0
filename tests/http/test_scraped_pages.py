"""Programs that read addresses from the pages and do not decode `&amp;` sign in as on Keycloak.

Scripts of tests and of monitoring do so: they cut `action="..."` out of the source of the page.
Keycloak: 12.12 login pages (26.7, measured)
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser, SignInRealm, web_client

_NAMES: Final = {"firstName": "F", "lastName": "L"}


@pytest.fixture(scope="module")
def scraped(administration: Administration) -> Iterator[SignInRealm]:
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "registrationAllowed": True,
        "resetPasswordAllowed": True,
        "clients": [web_client("app"), web_client("asks", consentRequired=True)],
        "users": [person("anna"), person("new", requiredActions=["UPDATE_PROFILE"])],
    }
    with administered_realm(administration, "scraped", {}, **settings) as realm:
        yield SignInRealm(realm)


def _source(page: Page, attribute: str, part: str) -> str:
    """Return an address as the source of the page has it."""
    found = [each for each in re.findall(rf'{attribute}="([^"]*)"', page.html) if part in each]
    assert found, page.text
    assert "&amp;" in found[0]
    return str(found[0])


def _send(browser: SignInBrowser, page: Page, **fields: str) -> Page:
    action = _source(page, "action", "login-actions")
    return browser.post(action, {**page.form.fields, **fields})


def _sign_in(browser: SignInBrowser, page: Page, username: str = "anna") -> Page:
    return _send(browser, page, username=username, password=PASSWORD)


def test_a_form_signs_in_by_the_address_in_the_source(scraped: SignInRealm) -> None:
    browser = scraped.browser()
    wrong = _send(browser, browser.open(), username="anna", password="wrong")
    assert wrong.message == "Invalid username or password."
    assert _sign_in(browser, wrong).answer["code"]


def test_each_tab_signs_in_for_itself(scraped: SignInRealm) -> None:
    browser = scraped.browser()
    first, second = browser.open(state="first"), browser.open(state="second")
    assert _sign_in(browser, second).answer["state"] == "second"
    other = scraped.browser()
    first, _ = other.open(state="first"), other.open(state="second")
    assert _sign_in(other, first).answer["state"] == "first"


def test_steps_after_the_password_take_it_too(scraped: SignInRealm) -> None:
    browser = scraped.browser()
    profile = _sign_in(browser, browser.open("asks"), "new")
    assert profile.id == "login-update-profile", profile.text
    consent = _send(browser, profile, email="new@example.test", **_NAMES)
    assert _send(browser, consent, accept="Yes").answer["code"]


def test_links_of_the_page_take_it_too(scraped: SignInRealm) -> None:
    browser = scraped.browser()
    register = browser.get(_source(browser.open(), "href", "registration"))
    names = {"username": "dora", "email": "dora@example.test", **_NAMES}
    done = _send(browser, register, **names, password=PASSWORD, **{"password-confirm": PASSWORD})
    assert done.answer["code"]
    browser = scraped.browser()
    reset = browser.get(_source(browser.open(), "href", "reset-credentials"))
    assert reset.id == "login-reset-password", reset.text
    assert _sign_in(browser, browser.get(_source(reset, "href", "login-actions"))).answer["code"]


def test_the_session_of_another_browser_is_not_taken(scraped: SignInRealm) -> None:
    page = scraped.browser().open()
    refused = _sign_in(scraped.browser(), page)
    assert (refused.status, "location" in refused.response.headers) == (400, False)


def test_requests_of_clients_are_read_as_they_are(scraped: SignInRealm) -> None:
    """A client's parameter with such a name is another one: nothing is guessed there."""
    browser = scraped.browser()
    sent = f"response_type=code&client_id=app&scope=openid&redirect_uri={CALLBACK}"
    page = browser.get(f"{browser.protocol('auth')}?{sent}&amp;prompt=none")
    assert page.status == 200, page.text
