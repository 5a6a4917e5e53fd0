"""Sign-ins that go on after what they rely on has ended. Attacks: C3, D8, session fixation."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.browser_sign_ins import fill_sign_ins
from tests.support.gateway_process import until
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


def test_a_consent_page_ends_with_its_session(
    pages: SignInRealm,
) -> None:
    browser = pages.browser()
    session = browser.sign_in().answer["session_state"]
    consent = browser.open("asking", prompt="consent")
    assert consent.id == "consent"
    pages.realm.change("DELETE", f"sessions/{session}")
    answer = browser.submit(consent, accept="on")
    assert (answer.id, "KEYCLOAK_IDENTITY" in answer.set_cookies) == ("page-expired", False)


def _sign_out_user(pages: SignInRealm) -> None:
    found = pages.realm.get("users?username=bert&exact=true")
    pages.realm.change("POST", f"users/{found[0]['id']}/logout")


@pytest.mark.parametrize(
    "change", [_sign_out_user, lambda pages: pages.realm.change("POST", "logout-all")]
)
def test_a_sign_in_does_not_go_on_after_its_user_was_signed_out(
    pages: SignInRealm, change: Callable[[SignInRealm], object]
) -> None:
    """The password was typed in an earlier second: notBefore counts whole seconds."""
    browser = pages.browser()
    asking = browser.open("asking", prompt="consent")
    consent = browser.submit(asking, username="bert", password=PASSWORD)
    typed_at = int(time.time())
    until(lambda: time.time() >= typed_at + 1, "the clock stands still")
    change(pages)
    again = browser.submit(consent, accept="on")
    assert again.id == "login", again.text
    consent = browser.submit(again, username="bert", password=PASSWORD)
    assert "code" in browser.submit(consent, accept="on").answer


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


def test_a_flood_of_sign_ins_ends_the_oldest_and_shows_the_form(
    pages: SignInRealm,
) -> None:
    """Attacks: C24. The server evicts nothing, so what everyone may store is bounded."""
    early, proven = pages.browser(), pages.browser()
    page = early.open(state="of the first")
    consent = proven.submit(
        proven.open("asking", prompt="consent"), username="bert", password=PASSWORD
    )
    assert consent.id == "consent"
    fill_sign_ins(pages.realm.administration.gateway, pages.realm.get("")["id"], "203.0.113.9")
    last = pages.browser()
    last_page = last.open()
    again = early.submit(page, username="anna", password=PASSWORD)
    assert (again.id, again.message) == (
        "login",
        "Your sign-in timed out. It starts from the beginning.",
    )
    answer = early.submit(again, username="anna", password=PASSWORD).answer
    assert ("code" in answer, answer["state"]) == (True, "of the first")
    assert "code" in proven.submit(consent, accept="on").answer
    assert "code" in last.submit(last_page, username="anna", password=PASSWORD).answer


def test_a_flood_from_another_network_ends_no_sign_in(pages: SignInRealm) -> None:
    """attacks: C24."""
    early = pages.browser()
    page = early.open(state="of the first")
    fill_sign_ins(pages.realm.administration.gateway, pages.realm.get("")["id"], "192.0.2.66")
    pages.browser().open()
    assert "code" in early.submit(page, username="anna", password=PASSWORD).answer


_TIMED_OUT: Final = "Your sign-in timed out. It starts from the beginning."


@pytest.fixture
def own_flow(pages: SignInRealm) -> Iterator[str]:
    """Return the id of a copy of the browser flow, `own`."""
    pages.realm.change("POST", "authentication/flows/browser/copy", {"newName": "own"})
    flows = {flow["alias"]: flow["id"] for flow in pages.realm.get("authentication/flows")}
    yield flows["own"]
    pages.realm.change("PUT", "", {"browserFlow": "browser"})
    pages.realm.change("DELETE", f"authentication/flows/{flows['own']}")


def _step(pages: SignInRealm, authenticator: str) -> dict[str, Any]:
    steps = pages.realm.get("authentication/flows/own/executions")
    found: dict[str, Any] = next(one for one in steps if one.get("providerId") == authenticator)
    return found


def _rebind_realm(pages: SignInRealm, flow: str) -> None:
    del flow
    pages.realm.change("PUT", "", {"browserFlow": "own"})


def _override(pages: SignInRealm, flow: str) -> None:
    for client_id in ("app", "asking"):
        _change(pages, client_id, authenticationFlowBindingOverrides={"browser": flow})


def _disable_cookie(pages: SignInRealm, flow: str) -> None:
    del flow
    disabled = {**_step(pages, "auth-cookie"), "requirement": "DISABLED"}
    pages.realm.change("PUT", "authentication/flows/own/executions", disabled)


@pytest.mark.parametrize("change", [_rebind_realm, _override, _disable_cookie])
def test_a_sign_in_does_not_finish_with_a_flow_that_has_changed(
    pages: SignInRealm, own_flow: str, change: Callable[[SignInRealm, str], None]
) -> None:
    if change is _disable_cookie:
        _rebind_realm(pages, own_flow)
    typing, consenting = pages.browser(), pages.browser()
    login = typing.open()
    asking = consenting.open("asking", prompt="consent")
    consent = consenting.submit(asking, username="bert", password=PASSWORD)
    assert (login.id, consent.id) == ("login", "consent")
    change(pages, own_flow)
    try:
        for browser, page, fields in (
            (typing, login, {"username": "anna", "password": PASSWORD}),
            (consenting, consent, {"accept": "on"}),
        ):
            again = browser.submit(page, **fields)
            assert (again.status, again.id, again.message) == (200, "login", _TIMED_OUT)
        assert "code" in typing.submit(typing.open(), username="anna", password=PASSWORD).answer
    finally:
        _override(pages, "")


def test_a_flow_whose_waiting_step_was_removed_ends_in_a_page(
    pages: SignInRealm, own_flow: str
) -> None:
    _rebind_realm(pages, own_flow)
    browser = pages.browser()
    login = browser.open()
    step = _step(pages, "auth-username-password-form")
    pages.realm.change("DELETE", f"authentication/executions/{step['id']}")
    for _ in range(2):
        page = browser.submit(login, username="anna", password=PASSWORD)
        assert (page.status, page.id) == (400, "error")


def test_a_sign_in_of_a_removed_flow_continues_with_another(
    pages: SignInRealm,
) -> None:
    pages.realm.change("POST", "authentication/flows/browser/copy", {"newName": "gone"})
    flows = {flow["alias"]: flow["id"] for flow in pages.realm.get("authentication/flows")}
    pages.realm.change("PUT", "", {"browserFlow": "gone"})
    browser = pages.browser()
    login = browser.open()
    pages.realm.change("PUT", "", {"browserFlow": "browser"})
    pages.realm.change("DELETE", f"authentication/flows/{flows['gone']}")
    again = browser.submit(login, username="anna", password=PASSWORD)
    assert (again.status, again.id, again.message) == (200, "login", _TIMED_OUT)
    assert "code" in browser.submit(again, username="anna", password=PASSWORD).answer


@pytest.mark.parametrize(
    ("path", "event"),
    [
        ("protocol/openid-connect/auth?client_id=app", "LOGIN_ERROR"),
        ("login-actions/authenticate", "LOGIN_ERROR"),
        ("device", "OAUTH2_DEVICE_VERIFY_USER_CODE_ERROR"),
    ],
)
def test_a_page_of_a_disabled_realm_or_without_tls_is_recorded(
    pages: SignInRealm, path: str, event: str
) -> None:
    """Keycloak: 10.3, 13."""
    pages.events()
    url = f"/realms/stale-sign-ins/{path}"
    with pages.changed(enabled=False):
        assert pages.browser().get(url).status == 400
    with pages.changed(sslRequired="all"):
        assert pages.browser(**{"X-Forwarded-Proto": "http"}).get(url).status == 400
    found = [(one["type"], one["error"]) for one in pages.events()]
    assert found == [(event, "realm_disabled"), (event, "ssl_required")]


@pytest.mark.parametrize("max_age", ["", "x", "1.5", "2147483648", "-", " 5"])
def test_a_max_age_that_is_no_number_is_an_invalid_request(
    pages: SignInRealm, max_age: str
) -> None:
    """Keycloak: 12.10."""
    page = pages.browser().open(max_age=max_age)
    assert (page.status, page.id) == (400, "error")
    assert "Invalid request" in page.text


def test_no_sign_in_is_newer_than_a_negative_max_age(pages: SignInRealm) -> None:
    """As in Keycloak."""
    browser = pages.browser()
    browser.sign_in()
    assert browser.open(max_age="-1").id == "login-password"
    assert browser.open(max_age="-1", prompt="none").answer["error"] == "login_required"
