"""The language of a user counts on every page after the user has proven anything.

Before that, a page reveals nothing about the account of the name. Keycloak: 12.12 login pages
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pyotp
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.one_time_devices import base32
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInRealm, web_client
from tests.support.wire import DEVICE, DEVICE_KEY

_BY_NAME: Final = {
    "id": "by-name",
    "alias": "by-name",
    "providerId": "basic-flow",
    "topLevel": True,
    "authenticationExecutions": [
        {"priority": 0, "authenticator": "auth-username-form", "requirement": "REQUIRED"},
        {"priority": 1, "authenticator": "auth-password-form", "requirement": "REQUIRED"},
    ],
}


@pytest.fixture(scope="module")
def speaking(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with a user who reads French, in a browser that asks for German."""
    password = {"type": "password", "value": PASSWORD}
    french = {"locale": ["fr"]}
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "internationalizationEnabled": True,
        "supportedLocales": ["en", "de", "fr", "ja"],
        "otpPolicyCodeReusable": True,
        "clients": [
            web_client("app"),
            web_client("asks", consentRequired=True),
            web_client("named", authenticationFlowBindingOverrides={"browser": "by-name"}),
        ],
        "authenticationFlows": [_BY_NAME],
        "users": [
            person("coded", credentials=[password, DEVICE], attributes=french),
            person("plain", attributes=french),
            person("none"),
            person("due", attributes=french, requiredActions=["UPDATE_PASSWORD"]),
        ],
    }
    with administered_realm(administration, "speaking", {}, **settings) as realm:
        yield SignInRealm(realm)


def _language(page: Page) -> str:
    found = re.search(r'<html lang="([^"]*)"', page.html)
    return found.group(1) if found else ""


def _code() -> str:
    return pyotp.TOTP(base32(DEVICE_KEY)).now()


def test_the_second_page_has_the_language_of_the_user(speaking: SignInRealm) -> None:
    browser = speaking.browser(**{"Accept-Language": "de"})
    first = browser.open("asks")
    wrong = browser.submit(first, username="coded", password="wrong")
    code = browser.submit(wrong, username="coded", password=PASSWORD)
    again = browser.submit(code, otp="000000")
    consent = browser.submit(again, otp=_code())
    shown = [(page.id, _language(page)) for page in (first, wrong, code, again, consent)]
    assert shown == [
        ("login", "de"),
        ("login", "de"),
        ("login-otp", "fr"),
        ("login-otp", "fr"),
        ("consent", "fr"),
    ]
    browser.post(consent.form.action, {"code": consent.form.fields["code"], "accept": "on"})
    sign_out = browser.get(browser.protocol("logout"))
    assert (sign_out.id, _language(sign_out)) == ("logout-confirm", "fr")
    assert _language(browser.get(sign_out.link("kc-cancel"))) == "fr"
    out = browser.submit(sign_out, confirmLogout="on")
    assert (out.id, _language(out)) == ("logged-out", "fr")


@pytest.mark.parametrize(("username", "language"), [("due", "fr"), ("none", None)])
def test_a_required_action_has_the_language_of_the_user(
    speaking: SignInRealm, username: str, language: str | None
) -> None:
    page = speaking.browser(**{"Accept-Language": "de"}).sign_in(username)
    assert (_language(page) or None) == language


def test_a_language_that_the_user_chose_on_a_page_comes_first(speaking: SignInRealm) -> None:
    browser = speaking.browser()
    first = browser.open(kc_locale="ja")
    page = browser.submit(first, username="coded", password=PASSWORD)
    assert (page.id, _language(page)) == ("login-otp", "ja")


def test_a_name_alone_reveals_no_language(speaking: SignInRealm) -> None:
    """Else the page of the password would say that there is such a user."""
    pages = []
    for username in ("plain", "none", "unknown"):
        browser = speaking.browser(**{"Accept-Language": "de"})
        pages.append(browser.submit(browser.open("named"), username=username))
    assert [(page.id, _language(page)) for page in pages] == [("login-password", "de")] * 3
