"""Steps of a sign-in out of order: back, twice, in two tabs, too late, after a change.

Keycloak: 12.12; attacks: D14
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pyotp
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.one_time_devices import base32
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInRealm, query_of, web_client, with_query
from tests.support.wire import DEVICE, DEVICE_KEY

_TIMED_OUT: Final = "Your sign-in timed out. It starts from the beginning."
_CHOICE: Final = "choice-flow"


def _flow(alias: str, *steps: dict[str, Any], top_level: bool = True) -> dict[str, Any]:
    executions = [{"priority": place, **step} for place, step in enumerate(steps)]
    return {
        "id": f"{alias}-flow",
        "alias": alias,
        "providerId": "basic-flow",
        "topLevel": top_level,
        "authenticationExecutions": executions,
    }


_FLOWS: Final = [
    _flow(
        "choice",
        {"authenticator": "auth-username-form", "requirement": "REQUIRED"},
        {"authenticatorFlow": True, "flowAlias": "ways", "requirement": "REQUIRED"},
    ),
    _flow(
        "ways",
        {"authenticator": "auth-password-form", "requirement": "ALTERNATIVE"},
        {"authenticator": "auth-otp-form", "requirement": "ALTERNATIVE"},
        top_level=False,
    ),
]
_NO_COOKIE: Final = "The cookie of this sign-in was not found."


@pytest.fixture(scope="module")
def steps(administration: Administration) -> Iterator[SignInRealm]:
    password = {"type": "password", "value": PASSWORD}
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "internationalizationEnabled": True,
        "supportedLocales": ["en", "ar"],
        "otpPolicyCodeReusable": True,
        "clients": [
            web_client("app"),
            web_client("other"),
            web_client("asks", consentRequired=True),
            web_client("choosing", authenticationFlowBindingOverrides={"browser": _CHOICE}),
        ],
        "authenticationFlows": _FLOWS,
        "users": [person("anna"), person("coded", credentials=[password, DEVICE])],
    }
    with administered_realm(administration, "steps", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(steps: SignInRealm) -> None:
    steps.events()


def _code() -> str:
    return pyotp.TOTP(base32(DEVICE_KEY)).now()


def _sessions(steps: SignInRealm) -> list[Any]:
    found: list[Any] = steps.realm.get(f"users/{steps.user_id('anna')}/sessions")
    return found


def test_the_form_of_an_earlier_step_is_expired(steps: SignInRealm) -> None:
    """The back button: the user continues, or starts over."""
    browser = steps.browser()
    login = browser.open()
    browser.submit(login, username="coded", password=PASSWORD)
    expired = browser.submit(login, username="coded", password=PASSWORD)
    assert (expired.status, expired.id) == (200, "page-expired")
    assert steps.events() == []
    code = browser.get(expired.link("loginContinueLink"))
    assert code.id == "login-otp"
    again = browser.get(expired.link("loginRestartLink"))
    assert again.id == "login"
    stale = browser.submit(code, otp=_code())
    assert stale.id == "page-expired"
    code = browser.submit(again, username="coded", password=PASSWORD)
    assert browser.submit(code, otp=_code()).answer["code"]


def test_a_form_that_is_sent_again_runs_once(steps: SignInRealm) -> None:
    """A stale session_code."""
    browser = steps.browser()
    first = browser.open()
    shown = browser.submit(first, username="anna", password="wrong")
    again = browser.submit(first, username="anna", password="wrong")
    assert (again.status, again.id) == (200, "page-expired")
    assert len(steps.events()) == 1
    stale = browser.submit(shown, username="anna", password=PASSWORD)
    assert stale.answer["code"]


def test_of_a_double_submit_one_runs(steps: SignInRealm) -> None:
    """One code and one session for each sign-in."""
    browser = steps.browser()
    page = browser.open()
    before = len(_sessions(steps))
    fields = {"username": "anna", "password": PASSWORD}
    copies = [steps.browser() for _ in range(8)]
    for copy in copies:
        copy.cookies = dict(browser.cookies)
    with ThreadPoolExecutor(len(copies)) as pool:
        found = list(pool.map(lambda copy: copy.submit(page, **fields), copies))
    codes = [one for one in found if one.status == 302 and "code" in one.answer]
    assert len(codes) == 1
    assert {one.status for one in found} <= {200, 302, 400}
    assert len(_sessions(steps)) == before + 1
    logins = [event for event in steps.events() if event["type"] == "LOGIN"]
    assert len(logins) == 1


def test_two_tabs_of_a_browser_sign_in_beside_each_other(steps: SignInRealm) -> None:
    browser = steps.browser()
    one, two = browser.open(state="one"), browser.open("other", state="two")
    assert query_of(one.form.action)["tab_id"] != query_of(two.form.action)["tab_id"]
    first = browser.submit(one, username="anna", password=PASSWORD)
    assert first.answer["state"] == "one"
    second = browser.submit(two, username="anna", password=PASSWORD)
    assert second.answer["state"] == "two"
    assert first.answer["session_state"] == second.answer["session_state"]


def test_a_page_is_shown_again_by_its_address(steps: SignInRealm) -> None:
    """Reload: without the code, as in the link to another language."""
    browser = steps.browser()
    page = browser.open()
    shown = browser.get(with_query(page.form.action, session_code=None))
    assert (shown.status, shown.id) == (200, "login")
    arabic = browser.get(with_query(page.form.action, session_code=None, kc_locale="ar"))
    assert 'dir="rtl"' in arabic.html
    assert browser.submit(arabic, username="anna", password=PASSWORD).answer["code"]


def test_the_language_that_the_user_chose_is_kept_in_the_browser(steps: SignInRealm) -> None:
    """Until it ends, for later sign-ins; a language that the realm does not have is not."""
    browser = steps.browser()
    page = browser.open()
    assert "KEYCLOAK_LOCALE" not in page.set_cookies
    again = with_query(page.form.action, session_code=None)
    arabic = browser.get(with_query(again, kc_locale="ar"))
    common = f"Path=/realms/{browser.realm}/; HttpOnly; Secure; SameSite=None"
    assert arabic.set_cookies["KEYCLOAK_LOCALE"] == f"KEYCLOAK_LOCALE=ar; {common}"
    assert 'lang="ar"' in browser.open().html
    for unknown in ("zh", "ar;x=1", "ar\r\nX: y"):
        shown = browser.get(with_query(again, kc_locale=unknown))
        assert "KEYCLOAK_LOCALE" not in shown.set_cookies


def test_a_sign_in_that_ended_begins_again(steps: SignInRealm) -> None:
    """KC_RESTART has the request; the page says why."""
    browser = steps.browser()
    page = browser.open(state="kept")
    del browser.cookies["AUTH_SESSION_ID"]
    again = browser.submit(page, username="anna", password=PASSWORD)
    assert (again.status, again.id, again.message) == (200, "login", _TIMED_OUT)
    done = browser.submit(again, username="anna", password=PASSWORD)
    assert done.answer["state"] == "kept"


def test_the_request_of_another_client_is_not_restarted(steps: SignInRealm) -> None:
    browser = steps.browser()
    page = browser.open()
    browser.open("other")
    del browser.cookies["AUTH_SESSION_ID"]
    stopped = browser.submit(page, username="anna", password=PASSWORD)
    assert (stopped.status, stopped.id) == (400, "error")


def test_without_any_cookie_a_page_says_so(steps: SignInRealm) -> None:
    browser = steps.browser()
    page = browser.open()
    browser.cookies.clear()
    stopped = browser.submit(page, username="anna", password=PASSWORD)
    assert (stopped.status, stopped.id) == (400, "error")
    assert _NO_COOKIE in stopped.text
    [event] = steps.events()
    assert (event["type"], event["error"]) == ("LOGIN_ERROR", "cookie_not_found")


def test_a_signed_in_user_with_an_old_form_returns_to_the_client(steps: SignInRealm) -> None:
    browser = steps.browser()
    page = browser.open(state="first")
    browser.submit(page, username="anna", password=PASSWORD)
    old = browser.submit(page, username="anna", password=PASSWORD)
    assert old.answer == {
        "error": "temporarily_unavailable",
        "error_description": "authentication_expired",
        "state": "first",
        "iss": "https://gateway.test/realms/steps",
    }
    without = browser.get(with_query(page.form.action, client_data=None))
    assert (without.status, without.id) == (200, "already-signed-in")
    assert steps.events()[-1]["error"] == "expired_code"


def test_a_client_that_has_gone_meanwhile_gets_nothing(steps: SignInRealm) -> None:
    """Before the answer, client and redirect URI are checked again."""
    [client] = steps.realm.get("clients?clientId=other")
    path = f"clients/{client['id']}"
    for change, said in (
        ({"enabled": False}, "Client disabled."),
        ({"redirectUris": ["https://elsewhere.example.test/"]}, "redirect_uri"),
    ):
        browser = steps.browser()
        page = browser.open("other")
        steps.realm.change("PUT", path, {**client, **change})
        stopped = browser.submit(page, username="anna", password=PASSWORD)
        steps.realm.change("PUT", path, client)
        assert (stopped.status, stopped.id) == (400, "error")
        assert said in stopped.text
        assert "KEYCLOAK_IDENTITY" not in browser.cookies


def test_a_user_disabled_between_two_pages_does_not_sign_in(steps: SignInRealm) -> None:
    browser = steps.browser()
    page = browser.sign_in("coded")
    path = f"users/{steps.user_id('coded')}"
    steps.realm.change("PUT", path, {"enabled": False})
    stopped = browser.submit(page, otp=_code())
    steps.realm.change("PUT", path, {"enabled": True})
    assert "KEYCLOAK_IDENTITY" not in browser.cookies
    assert stopped.status in {200, 400}
    assert "Account is disabled" in stopped.text


@pytest.mark.parametrize(
    "lifespan", ["accessCodeLifespan", "accessCodeLifespanLogin", "accessCodeLifespanUserAction"]
)
def test_lifespans_of_nothing_end_in_no_failure(steps: SignInRealm, lifespan: str) -> None:
    """Realms may store 0: what lasts no time has ended."""
    with steps.changed(**{lifespan: 0}):
        browser = steps.browser()
        page = browser.open()
        assert page.status == 200
        done = browser.submit(page, username="anna", password=PASSWORD)
        if lifespan == "accessCodeLifespanLogin":
            assert (done.status, done.message) == (200, _TIMED_OUT)
            return
        response = browser.redeem(done.answer["code"])
        if lifespan == "accessCodeLifespan":
            assert response.status_code == 400
            assert response.json()["error_description"] == "Code not valid"
        else:
            assert response.status_code == 200


def test_consent_is_not_given_by_the_form_of_another_step(steps: SignInRealm) -> None:
    browser = steps.browser()
    page = browser.open("asks")
    early = page.form.action.replace("/authenticate?", "/consent?")
    stopped = browser.post(early, {"accept": "on"})
    assert stopped.id == "page-expired"
    asked = browser.submit(page, username="anna", password=PASSWORD)
    assert asked.id == "consent"
    late = asked.form.action.replace("/consent?", "/authenticate?")
    assert browser.post(late, {"username": "anna", "password": PASSWORD}).id == "page-expired"
    stale = browser.post(with_query(asked.form.action, session_code="x" * 43), {"accept": "on"})
    assert stale.id == "page-expired"
    assert "KEYCLOAK_IDENTITY" not in browser.cookies


def _choose(page: Page, name: str) -> dict[str, str]:
    """Return the field that the button with a name sends."""
    found = re.search(
        rf'name="authenticationExecution" value="([^"]*)"><span class="way-name">{name}<', page.html
    )
    assert found is not None, page.html
    return {"authenticationExecution": found.group(1)}


def test_the_user_goes_on_by_another_way(steps: SignInRealm) -> None:
    """Keycloak: 12.12 (`tryAnotherWay`, `authenticationExecution`)."""
    browser = steps.browser()
    code = browser.submit(browser.open("choosing"), username="coded")
    another = code.form_with_id("kc-select-try-another-way-form")
    assert (code.id, another.fields) == ("login-otp", {"tryAnotherWay": "on"})
    assert '<button id="try-another-way"' in code.html
    selection = browser.post(another.action, another.fields)
    assert (selection.status, selection.id) == (200, "select-authenticator")
    assert selection.form.names == {"authenticationExecution"}
    assert steps.events() == []
    back = browser.post(selection.form.action, _choose(selection, "Authenticator application"))
    assert (back.id, back.message) == ("login-otp", None)
    another = back.form_with_id("kc-select-try-another-way-form")
    selection = browser.post(another.action, another.fields)
    password = browser.post(selection.form.action, _choose(selection, "Password"))
    assert password.id == "login-password"
    assert browser.submit(password, password=PASSWORD).answer["code"]


def test_no_way_is_offered_to_a_user_without_it(steps: SignInRealm) -> None:
    browser = steps.browser()
    password = browser.submit(browser.open("choosing"), username="anna")
    assert "try-another-way" not in password.html
    again = browser.post(password.form.action, {"tryAnotherWay": "on"})
    assert again.id == "login-password"
    forged = browser.post(again.form.action, {"authenticationExecution": "ways-flow"})
    assert forged.id == "page-expired"
