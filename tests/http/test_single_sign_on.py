"""One sign-in for all clients of a realm, and when the user has to sign in again.

Keycloak: 12.10; OpenID Connect Core §3.1.2.1; attacks: C23
"""

import time
from collections.abc import Iterator
from typing import Any, Final

import pyotp
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.one_time_devices import base32
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client
from tests.support.wire import DEVICE, DEVICE_KEY, claims_of

_SECOND: Final = "98765432109876543210"
_SECOND_DEVICE: Final = {
    **DEVICE,
    "id": "tablet-of-two",
    "secretData": DEVICE["secretData"].replace(DEVICE_KEY, _SECOND),
    "userLabel": "tablet",
}


def _execution(requirement: str, priority: int, **what: Any) -> dict[str, Any]:
    return {"requirement": requirement, "priority": priority, **what}


def _flow(alias: str, *executions: dict[str, Any], top: bool = False) -> dict[str, Any]:
    return {
        "id": f"id-of-{alias}",
        "alias": alias,
        "providerId": "basic-flow",
        "topLevel": top,
        "builtIn": False,
        "authenticationExecutions": list(executions),
    }


def _level(level: int, authenticator: str) -> dict[str, Any]:
    condition = _execution(
        "REQUIRED",
        1,
        authenticator="conditional-level-of-authentication",
        authenticatorConfig=f"level-{level}",
    )
    return _flow(f"at-{level}", condition, _execution("REQUIRED", 2, authenticator=authenticator))


def _sub(alias: str, requirement: str, priority: int) -> dict[str, Any]:
    return _execution(requirement, priority, flowAlias=alias, authenticatorFlow=True)


_COOKIE: Final = _execution("ALTERNATIVE", 1, authenticator="auth-cookie")
_FLOWS: Final = [
    _flow("levels", _COOKIE, _sub("all-levels", "ALTERNATIVE", 2), top=True),
    _flow("all-levels", _sub("at-1", "CONDITIONAL", 1), _sub("at-2", "CONDITIONAL", 2)),
    _level(1, "auth-username-password-form"),
    _level(2, "auth-otp-form"),
    _flow(
        "names-first",
        _execution("REQUIRED", 1, authenticator="auth-username-form"),
        _execution("REQUIRED", 2, authenticator="auth-password-form"),
        top=True,
    ),
]
_CONFIGS: Final = [
    {
        "alias": f"level-{level}",
        "config": {"loa-condition-level": str(level), "loa-max-age": "36000"},
    }
    for level in (1, 2)
]


@pytest.fixture(scope="module")
def shared(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with clients of several flows."""
    password = {"type": "password", "value": PASSWORD}
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "otpPolicyCodeReusable": True,
        "attributes": {**RECORDED["attributes"], "acr.loa.map": '{"silver":1,"gold":2}'},
        "authenticationFlows": _FLOWS,
        "authenticatorConfig": _CONFIGS,
        "clients": [
            web_client("app"),
            web_client("second"),
            web_client("steps", authenticationFlowBindingOverrides={"browser": "id-of-levels"}),
            web_client(
                "names", authenticationFlowBindingOverrides={"browser": "id-of-names-first"}
            ),
        ],
        "users": [
            person("anna"),
            person("bert"),
            person("several", credentials=[password, DEVICE, {**_SECOND_DEVICE, "id": None}]),
            person("coded", credentials=[password, DEVICE]),
            person(
                "two", credentials=[password, {**DEVICE, "id": "telephone-of-two"}, _SECOND_DEVICE]
            ),
        ],
    }
    with administered_realm(administration, "shared", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture
def browser(shared: SignInRealm) -> SignInBrowser:
    """Return a browser where anna is signed in."""
    found = shared.browser()
    found.session = found.sign_in().answer["session_state"]
    shared.events()
    return found


def _code(key: str = DEVICE_KEY) -> str:
    return pyotp.TOTP(base32(key)).now()


def _claims(browser: SignInBrowser, page: Page, client_id: str = "app") -> dict[str, Any]:
    return claims_of(browser.redeem(page.answer["code"], client_id).json()["id_token"])


def test_a_second_client_gets_its_code_without_a_page(
    shared: SignInRealm, browser: SignInBrowser
) -> None:
    for prompt in (None, "none"):
        page = browser.open("second", prompt=prompt)
        assert page.answer["session_state"] == browser.session
        claims = _claims(browser, page, "second")
        assert (claims["aud"], claims["acr"]) == ("second", "0")
    [first, *_] = shared.events()
    assert (first["type"], first["clientId"]) == ("LOGIN", "second")


def test_nobody_is_signed_in_where_prompt_is_none(shared: SignInRealm) -> None:
    """attacks: C23."""
    browser = shared.browser()
    page = browser.open(prompt="none")
    assert page.answer == {
        "error": "login_required",
        "state": "a-state",
        "iss": "https://gateway.test/realms/shared",
    }
    assert browser.cookies == {}
    assert shared.events() == [], "an application may ask so for each of its pages"


@pytest.mark.parametrize("asked", [{"prompt": "login"}, {"max_age": "0"}])
def test_a_user_signs_in_again_where_the_client_asks_for_it(
    browser: SignInBrowser, asked: dict[str, str]
) -> None:
    """attacks: C23."""
    page = browser.open(**asked)
    assert (page.id, page.message) == ("login-password", "Please re-authenticate to continue")
    assert "anna" in page.html
    done = browser.submit(page, password=PASSWORD)
    assert done.answer["session_state"] == browser.session
    assert _claims(browser, done)["acr"] == "silver"


def test_max_age_lets_a_newer_sign_in_pass(browser: SignInBrowser) -> None:
    page = browser.open(max_age="3600")
    assert abs(_claims(browser, page)["auth_time"] - time.time()) < 60


@pytest.mark.parametrize("max_age", ["soon", "1.5"])
def test_a_max_age_that_is_no_number_is_a_page(browser: SignInBrowser, max_age: str) -> None:
    page = browser.open(max_age=max_age)
    assert (page.status, page.id) == (400, "error")


def test_prompt_none_stands_alone_and_max_age_counts_with_it(browser: SignInBrowser) -> None:
    """attacks: C23."""
    assert browser.open(prompt="none login").answer["error"] == "invalid_request"
    assert browser.open(prompt="none", max_age="0").answer["error"] == "login_required"


def test_login_hint_fills_in_the_name(shared: SignInRealm) -> None:
    page = shared.browser().open(login_hint='b"><i>ert')
    assert page.id == "login"
    assert page.form.fields["username"] == 'b"><i>ert'
    assert "<i>" not in page.html


def test_the_hint_of_another_user_is_refused(shared: SignInRealm, browser: SignInBrowser) -> None:
    """OpenID Connect Core §3.1.2.1: `login_required`. attacks: C23."""
    other = shared.browser()
    hint = other.redeem(other.sign_in("bert").answer["code"]).json()["id_token"]
    for prompt in (None, "none"):
        page = browser.open(id_token_hint=hint, prompt=prompt)
        assert page.answer["error"] == "login_required"
    events = [event.get("error") for event in shared.events()]
    assert "different_user_authenticated" in events


def test_another_user_does_not_sign_in_beside_the_first(shared: SignInRealm) -> None:
    """A tab that was opened before somebody signed in: nobody takes the other one's place."""
    browser = shared.browser()
    early = browser.open()
    session = browser.sign_in("anna").answer["session_state"]
    page = browser.submit(early, username="bert", password=PASSWORD)
    assert (page.status, page.id) == (400, "error")
    assert "already authenticated as different user" in page.text
    assert "KEYCLOAK_IDENTITY" not in page.set_cookies
    assert browser.open(prompt="none").answer["session_state"] == session


def test_an_ended_session_is_no_longer_one(shared: SignInRealm, browser: SignInBrowser) -> None:
    shared.realm.change("DELETE", f"sessions/{browser.session}")
    assert browser.open(prompt="none").answer["error"] == "login_required"
    assert browser.open().id == "login"


def test_a_client_has_a_browser_flow_of_its_own(shared: SignInRealm) -> None:
    browser = shared.browser()
    page = browser.open("names")
    assert page.id == "login-username"
    assert "password" not in page.form.names
    page = browser.submit(page, username="anna")
    assert (page.id, page.form.fields.get("username")) == ("login-password", None)
    assert browser.submit(page, password=PASSWORD).answer["code"]


def test_an_unknown_name_gets_as_far_as_a_known_one(shared: SignInRealm) -> None:
    """attacks: D10."""
    browser = shared.browser()
    page = browser.submit(browser.open("names"), username="nobody")
    assert page.id == "login-password"
    failed = browser.submit(page, password=PASSWORD)
    known = shared.browser()
    wrong = known.submit(known.submit(known.open("names"), username="anna"), password="x")
    assert (failed.id, failed.message) == (wrong.id, wrong.message)


def test_a_level_is_reached_by_its_steps_alone(shared: SignInRealm) -> None:
    """Step-up: the password is not asked for again. Keycloak: 12.10. attacks: C23."""
    browser = shared.browser()
    first = browser.sign_in("coded", "steps", acr_values="silver")
    assert _claims(browser, first, "steps")["acr"] == "silver"
    page = browser.open("steps", acr_values="gold")
    assert (page.id, page.message) == ("login-otp", "Strong authentication required to continue")
    done = browser.submit(page, otp=_code())
    assert _claims(browser, done, "steps")["acr"] == "gold"
    assert done.answer["session_state"] == first.answer["session_state"]
    assert browser.open("steps", acr_values="gold", prompt="none").answer["code"]


def test_a_level_is_not_reached_without_a_page(shared: SignInRealm) -> None:
    """attacks: C23."""
    browser = shared.browser()
    browser.sign_in("coded", "steps", acr_values="silver")
    page = browser.open("steps", acr_values="gold", prompt="none")
    assert page.answer["error"] == "login_required"


def test_a_one_time_code_is_asked_for_after_the_password(shared: SignInRealm) -> None:
    browser = shared.browser()
    page = browser.sign_in("coded")
    assert (page.id, page.message) == ("login-otp", None)
    assert "KEYCLOAK_IDENTITY" not in browser.cookies
    wrong = browser.submit(page, otp="000000")
    assert (wrong.status, wrong.message) == (200, "Invalid authenticator code.")
    assert browser.submit(wrong, otp=_code()).answer["code"]


def test_the_user_chooses_the_device_of_the_code(shared: SignInRealm) -> None:
    shared.events()
    browser = shared.browser()
    page = browser.sign_in("two")
    assert "tablet" in page.text
    assert page.form.fields["selectedCredentialId"] in {"telephone-of-two", "tablet-of-two"}
    code = _code(_SECOND)
    wrong = browser.submit(page, otp=code, selectedCredentialId="telephone-of-two")
    assert wrong.message == "Invalid authenticator code."
    done = browser.submit(wrong, otp=code, selectedCredentialId="tablet-of-two")
    assert done.answer["code"]
    assert [
        (event["type"], event["details"]["selected_credential_id"]) for event in shared.events()
    ] == [("LOGIN_ERROR", "telephone-of-two"), ("LOGIN", "tablet-of-two")]


def test_the_device_of_another_user_is_none(shared: SignInRealm) -> None:
    browser = shared.browser()
    page = browser.sign_in("two")
    [foreign] = [
        device["id"]
        for device in shared.realm.get(f"users/{shared.user_id('coded')}/credentials")
        if device["type"] == "otp"
    ]
    failed = browser.submit(page, otp="000000", selectedCredentialId=foreign)
    assert failed.status == 200
    assert failed.id == "login-otp"


def test_devices_of_a_file_without_ids_are_all_kept(shared: SignInRealm) -> None:
    found = shared.realm.get(f"users/{shared.user_id('several')}/credentials")
    assert sorted(credential["type"] for credential in found) == ["otp", "otp", "password"]
    assert len({credential["id"] for credential in found}) == 3
