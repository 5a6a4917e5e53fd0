"""A pushed request is answered once: until then a user may reload its page.

FAPI 2.0 Security Profile, section 5.3.2.2, note 3; RFC 9126 §4, §7.3
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser, SignInRealm, web_client


@pytest.fixture(scope="module")
def pages(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with a client that pushes."""
    settings: dict[str, Any] = {
        **RECORDED,
        "clients": [web_client("app"), web_client("asking", consentRequired=True)],
        "users": [person("anna")],
    }
    with administered_realm(administration, "pushed-again", {}, **settings) as realm:
        yield SignInRealm(realm)


_REFUSED: Final = {
    "error": "invalid_request_uri",
    "error_description": "PAR not found, not issued or used multiple times.",
    "state": "pushed",
}


def _push(browser: SignInBrowser, client_id: str = "app") -> str:
    form = {
        "client_id": client_id,
        "client_secret": SECRET,
        "redirect_uri": CALLBACK,
        "response_type": "code",
        "scope": "openid",
        "state": "pushed",
    }
    response = browser.http.post(browser.protocol("ext/par/request"), data=form)
    return str(response.json()["request_uri"])


def _visit(browser: SignInBrowser, reference: str, client_id: str = "app") -> Page:
    only = dict.fromkeys(("response_type", "redirect_uri", "scope", "state"))
    return browser.open(client_id, request_uri=reference, **only)


def _enter(browser: SignInBrowser, page: Page) -> Page:
    return browser.submit(page, username="anna", password=PASSWORD)


def test_a_page_that_is_reloaded_signs_in(pages: SignInRealm) -> None:
    browser = pages.browser()
    reference = _push(browser)
    assert _visit(browser, reference).id == "login"
    answer = _enter(browser, _visit(browser, reference)).answer
    assert browser.redeem(answer["code"]).status_code == 200


def test_a_request_that_was_answered_is_refused(pages: SignInRealm) -> None:
    browser = pages.browser()
    reference = _push(browser)
    _enter(browser, _visit(browser, reference))
    again = _visit(browser, reference)
    assert (again.status, again.id) == (400, "error")
    assert "Invalid request" in again.text


def test_of_two_sign_ins_with_one_request_the_first_is_answered(pages: SignInRealm) -> None:
    first, second = pages.browser(), pages.browser()
    reference = _push(first)
    page = _visit(second, reference)
    assert "code" in _enter(first, _visit(first, reference)).answer
    late = _enter(second, page)
    assert _REFUSED.items() <= late.answer.items()
    assert "KEYCLOAK_IDENTITY" not in late.set_cookies


def test_a_consent_page_keeps_the_reference(pages: SignInRealm) -> None:
    first, second = pages.browser(), pages.browser()
    reference = _push(first, "asking")
    consents = [_enter(each, _visit(each, reference, "asking")) for each in (first, second)]
    assert [page.id for page in consents] == ["consent", "consent"]
    answers = [
        each.submit(page, accept="on").answer
        for each, page in zip((first, second), consents, strict=True)
    ]
    assert ["code" in answer for answer in answers] == [True, False]
    assert _REFUSED.items() <= answers[1].items()
