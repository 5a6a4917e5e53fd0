"""Sign-ins that go on after what they rely on has ended. Attacks: C3, D8, session fixation."""

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import CALLBACK, SignInRealm, web_client, with_query

_CLIENTS: Final = (
    web_client("app", implicitFlowEnabled=True),
    web_client("asking", consentRequired=True),
)


@pytest.fixture(scope="module")
def pages(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with a client that asks for consent."""
    settings: dict[str, Any] = {
        **RECORDED,
        "clients": list(_CLIENTS),
        "users": [person("anna"), person("bert")],
    }
    with administered_realm(administration, "stale-sign-ins", {}, **settings) as realm:
        yield SignInRealm(realm)


def _change(pages: SignInRealm, client_id: str, **fields: Any) -> None:
    found = pages.realm.get(f"clients?clientId={client_id}")[0]
    pages.realm.change("PUT", f"clients/{found['id']}", {**found, **fields})


def test_a_consent_page_does_not_outlive_the_session_that_it_was_shown_in(
    pages: SignInRealm,
) -> None:
    browser = pages.browser()
    session = browser.sign_in().answer["session_state"]
    consent = browser.open("asking", prompt="consent")
    assert consent.id == "consent"
    pages.realm.change("DELETE", f"sessions/{session}")
    answer = browser.submit(consent, accept="on")
    assert (answer.id, "KEYCLOAK_IDENTITY" in answer.set_cookies) == ("page-expired", False)


def test_who_planted_the_sign_in_does_not_go_on_with_it(pages: SignInRealm) -> None:
    attacker, victim = pages.browser(), pages.browser()
    planted = attacker.open("asking", prompt="consent")
    victim.cookies = dict(attacker.cookies)
    consent = victim.submit(victim.get(planted.form.action), username="bert", password=PASSWORD)
    assert consent.id == "consent"
    del attacker.cookies["KC_RESTART"]
    for action in ("authenticate", "consent"):
        url = planted.form.action.replace("authenticate", action)
        assert attacker.get(url).id == "error"
    assert attacker.submit(consent, accept="on").id == "error"
    assert "code" in victim.submit(consent, accept="on").answer


def test_other_tabs_go_on_after_a_sign_in(pages: SignInRealm) -> None:
    browser = pages.browser()
    first, second = browser.open(), browser.open()
    assert "code" in browser.submit(first, username="anna", password=PASSWORD).answer
    assert "code" in browser.submit(second, username="anna", password=PASSWORD).answer


def test_a_kept_request_does_not_outlive_the_flow_of_its_client(pages: SignInRealm) -> None:
    browser = pages.browser()
    waiting = browser.open(response_type="id_token token", nonce="a-nonce")
    _change(pages, "app", implicitFlowEnabled=False)
    try:
        del browser.cookies["AUTH_SESSION_ID"]  # the sign-in begins again with the kept request
        for page in (waiting, waiting):
            refused = browser.submit(page, username="anna", password=PASSWORD)
            assert refused.answer["error"] == "unauthorized_client"
            assert "access_token" not in refused.answer
    finally:
        _change(pages, "app", implicitFlowEnabled=True)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"ru": "https://evil.test/", "rt": "code", "rm": "query"}, 400),
        ({"ru": "javascript:alert(1)", "rt": "code", "rm": "query"}, 400),
        ({"ru": CALLBACK, "rt": "code", "rm": "unknown"}, 302),
        ({"ru": CALLBACK, "rt": "unknown", "rm": "query"}, 302),
        ({"ru": CALLBACK}, 302),
    ],
)
def test_an_altered_link_leads_to_the_client_alone(
    pages: SignInRealm, data: dict[str, str], status: int
) -> None:
    browser = pages.browser()
    browser.sign_in()
    text = base64.urlsafe_b64encode(json.dumps(data).encode()).decode()
    url = "/realms/stale-sign-ins/login-actions/authenticate"
    page = browser.get(with_query(url, client_id="app", tab_id="none", client_data=text))
    assert page.status == status
    if status == 302:
        assert page.location.startswith(f"{CALLBACK}?error=")
