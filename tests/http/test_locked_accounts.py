"""Accounts that may not sign in: every way in refuses them, and no page tells which they are.

Keycloak: 4.2, 10.2; attacks: D3, D4, D8, D10
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyotp
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.one_time_devices import base32
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client
from tests.support.wire import DEVICE, DEVICE_KEY

_FACTOR: Final = 2
_STATES: Final = ("temporary", "permanent", "disabled")
_DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_CREDENTIALS: Final = [{"type": "password", "value": PASSWORD}, DEVICE]
_OWN_CLIENT: Final = {"client_id": "app", "client_secret": SECRET}


def _flow(alias: str, *authenticators: str) -> dict[str, Any]:
    return {
        "id": f"id-of-{alias}",
        "alias": alias,
        "providerId": "basic-flow",
        "topLevel": True,
        "builtIn": False,
        "authenticationExecutions": [
            {"requirement": "REQUIRED", "priority": place, "authenticator": each}
            for place, each in enumerate(authenticators)
        ],
    }


def _client(client_id: str, flow: str) -> dict[str, Any]:
    return web_client(client_id, authenticationFlowBindingOverrides={"browser": f"id-of-{flow}"})


@pytest.fixture(scope="module")
def states(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with pages of names, of passwords and of codes."""
    device = {
        "oauth2.device.authorization.grant.enabled": "true",
        "oauth2.device.polling.interval": "0",
    }
    settings: dict[str, Any] = {
        **RECORDED,
        "failureFactor": _FACTOR,
        "waitIncrementSeconds": 600,
        "authenticationFlows": [
            _flow("passwords", "auth-username-password-form"),
            _flow("names", "auth-username-form", "auth-password-form"),
            _flow("codes", "auth-username-form", "auth-otp-form"),
        ],
        "clients": [
            web_client("app", directAccessGrantsEnabled=True, attributes=device),
            _client("passwords", "passwords"),
            _client("names", "names"),
            _client("codes", "codes"),
        ],
        "users": [
            *(person(name) for name in _STATES),
            person("guessed", credentials=_CREDENTIALS),
            *(person(f"{name}-coded", credentials=_CREDENTIALS) for name in (*_STATES, "wrong")),
            {"username": "bare", "enabled": True},
        ],
    }
    with administered_realm(administration, "states", {}, **settings) as realm:
        yield SignInRealm(realm)


def _put_into(states: SignInRealm, state: str, username: str) -> None:
    """Lock the account out, or disable it."""
    if state == "disabled":
        states.realm.change("PUT", f"users/{states.user_id(username)}", {"enabled": False})
        return
    with states.changed(permanentLockout=state == "permanent"):
        for _ in range(_FACTOR):
            _token(states, grant_type="password", username=username, password="wrong")


def _token(states: SignInRealm, **form: str) -> int:
    browser = states.browser()
    return browser.http.post(browser.protocol("token"), data=_OWN_CLIENT | form).status_code


@dataclass(frozen=True, slots=True)
class _Before:
    """What a user has from the time before."""

    browser: SignInBrowser
    refresh_token: str
    access_token: str
    code: str
    device_code: str


def _before(states: SignInRealm, username: str) -> _Before:
    browser = states.browser()
    tokens = browser.redeem(browser.sign_in(username).answer["code"]).json()
    url = browser.protocol("auth/device")
    codes = browser.http.post(url, data=_OWN_CLIENT | {"scope": "openid"}).json()
    page = browser.get(f"/realms/{browser.realm}/device")
    consent = browser.submit(page, device_user_code=codes["user_code"])
    browser.post(consent.form.action, {"accept": "on"})
    code = browser.open().answer["code"]
    return _Before(
        browser, tokens["refresh_token"], tokens["access_token"], code, codes["device_code"]
    )


@pytest.mark.parametrize("state", _STATES)
def test_every_way_in_refuses_and_a_lockout_ends_no_session(
    states: SignInRealm, state: str
) -> None:
    """attacks: D3. Otherwise a guesser could sign users out."""
    early = states.browser()
    second_page = early.submit(early.open("names"), username=state)
    before = _before(states, state)
    _put_into(states, state, state)
    new = states.browser()
    signed_in = {
        "password": _token(states, grant_type="password", username=state, password=PASSWORD) == 200,
        "form": new.submit(new.open(), username=state, password=PASSWORD).status == 302,
        "page of the password": early.submit(second_page, password=PASSWORD).status == 302,
    }
    assert set(signed_in.values()) == {False}, signed_in
    assert not {"KEYCLOAK_IDENTITY"} & (new.cookies.keys() | early.cookies.keys())
    browser, bearer = before.browser, {"Authorization": f"Bearer {before.access_token}"}
    going_on = {
        "cookie": "code" in browser.open(prompt="none").answer,
        "refresh": _token(states, grant_type="refresh_token", refresh_token=before.refresh_token)
        == 200,
        "code": browser.redeem(before.code).status_code == 200,
        "userinfo": browser.http.get(browser.protocol("userinfo"), headers=bearer).status_code
        == 200,
    }
    assert set(going_on.values()) == {state == "temporary"}, going_on
    # What the device gets, its user did not have before. Keycloak: 26.7.5
    states.events()
    assert _token(states, grant_type=_DEVICE_GRANT, device_code=before.device_code) == 400
    (event,) = states.events()
    error = "user_temporarily_disabled" if state == "temporary" else "user_disabled"
    assert (event["type"], event["error"]) == ("OAUTH2_DEVICE_CODE_TO_TOKEN_ERROR", error)
    assert event["userId"] == states.user_id(state)


def _comparable(page: Page, name: str) -> tuple[int, str]:
    """Return the page without what differs each time, and without the name that was typed."""
    html = re.sub(r'(action|href)="[^"]*"', "", page.html)
    return page.status, html.replace(name, "the name")


def _guess(states: SignInRealm, username: str, client_id: str, **guessed: str) -> tuple[Any, ...]:
    """Return all pages of one guess, comparable."""
    browser = states.browser()
    page = browser.open(client_id)
    if client_id == "passwords":
        return (_comparable(browser.submit(page, username=username, **guessed), username),)
    second = browser.submit(page, username=username)
    third = browser.submit(second, **guessed)
    return _comparable(second, username), _comparable(third, username)


@pytest.mark.parametrize(
    ("client_id", "wrong", "right"),
    [
        ("passwords", {"password": "x"}, {"password": PASSWORD}),
        ("names", {"password": "x"}, {"password": PASSWORD}),
        ("codes", {"otp": "000000"}, None),
    ],
)
def test_no_page_tells_which_accounts_exist_or_are_locked(
    states: SignInRealm, client_id: str, wrong: dict[str, str], right: dict[str, str] | None
) -> None:
    """attacks: D4, D10. The right secret of a locked account changes nothing."""
    for state in _STATES:
        _put_into(states, state, f"{state}-coded")
    names = ["nobody", "wrong-coded", *(f"{state}-coded" for state in _STATES)]
    seen = {name: _guess(states, name, client_id, **wrong) for name in names}
    secret = right or {"otp": pyotp.TOTP(base32(DEVICE_KEY)).now()}
    for state in ("temporary", "permanent"):
        seen[f"right {state}"] = _guess(states, f"{state}-coded", client_id, **secret)
    if client_id != "codes":
        seen["without a password"] = _guess(states, "bare", client_id, **wrong)
    assert [name for name, pages in seen.items() if pages != seen["nobody"]] == []


def test_code_guesses_are_limited_and_end_the_password_proof(
    states: SignInRealm,
) -> None:
    """attacks: D8."""
    browser = states.browser()
    page = browser.sign_in("guessed")
    for _ in range(_FACTOR):
        assert page.id == "login-otp"
        page = browser.submit(page, otp="000000")
    assert page.id == "login"
    right = browser.submit(page, username="guessed", password=PASSWORD)
    assert (right.id, right.message) == ("login", "Invalid username or password.")
