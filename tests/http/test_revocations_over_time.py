"""Tokens of before a revocation stay revoked, whatever the clocks of the gateways say.

The clock stands still, or is set back or forward, between the revocation and the single sign-on
that lets the client join its session again. Spec: RFC 7009 §2.1; Keycloak: 12.5 (26.7.5)
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import PASSWORD, SECRET
from tests.support.permitted_uses import USER, Permitted, permitting_realm
from tests.support.sign_in_browser import SignInBrowser
from tests.support.timed_gateway import Timed

_APP: Final = {"client_id": "app", "client_secret": SECRET}
_DIFFERENCES: Final = (0, 1, -1, 14, -14)
"""Seconds between the clocks of the gateway that issued tokens and of the one that joins."""
_USES: Final = ("refresh", "userinfo", "introspection", "token exchange", "code", "device grant")
_OF_API: Final = ("exchanged refresh", "exchanged access")
_NAME: Final = "revoked-over-time"


@pytest.fixture(scope="module")
def realm(timed: Timed) -> Iterator[AdministeredRealm]:
    """Make a realm whose clients may have every kind of token."""
    settings = permitting_realm(_NAME, f"{_NAME}.example.test")
    settings["clients"] = settings["clients"][:-1]
    with administered_realm(timed.administration, _NAME, {}, **settings) as made:
        yield made


def _sign_in(realm: AdministeredRealm) -> SignInBrowser:
    browser = SignInBrowser(realm.administration.http, realm.name)
    page = browser.submit(browser.open(scope="openid"), username=USER, password=PASSWORD)
    assert page.answer["code"]
    # A session without clients ends: this one stays.
    assert browser.open("target", scope="openid").answer["code"]
    return browser


def _tokens(browser: SignInBrowser, scope: str) -> Mapping[str, Any]:
    response = browser.redeem(browser.open(scope=scope).answer["code"])
    assert response.is_success, response.text
    found: Mapping[str, Any] = response.json()
    return found


def _exchange(before: Permitted, token: str) -> Mapping[str, Any]:
    types = "urn:ietf:params:oauth:token-type"
    form = {
        "client_id": "api",
        "client_secret": SECRET,
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": token,
        "subject_token_type": f"{types}:access_token",
        "requested_token_type": f"{types}:refresh_token",
    }
    response = before.post("token", form)
    assert response.is_success, response.text
    found: Mapping[str, Any] = response.json()
    return found


def _permitted(realm: AdministeredRealm, scope: str) -> Permitted:
    """Return what a browser and its client have in one session; `scope` may be offline."""
    browser = _sign_in(realm)
    before = Permitted(realm, "", Path(), browser, {}, "")
    found = _tokens(browser, scope)
    device = before.post("auth/device", _APP | {"scope": "openid"}).json()
    asked = browser.submit(
        browser.get(f"/realms/{realm.name}/device"), device_user_code=device["user_code"]
    )
    browser.post(asked.form.action, {"accept": "on"})
    tokens = {
        "access": found["access_token"],
        "refresh": found["refresh_token"],
        "device": device["device_code"],
        "code": browser.open(scope="openid").answer["code"],
    }
    if "offline_access" not in scope:
        exchanged = _exchange(before, found["access_token"])
        tokens |= {"exchanged": exchanged["refresh_token"]}
        tokens |= {"exchanged access": exchanged["access_token"]}
    return replace(before, tokens=tokens)


def _revoke(before: Permitted, token: str) -> None:
    answer = before.post("revoke", {**_APP, "token": before.tokens[token]})
    assert answer.content == b"", answer.text


def _uses(before: Permitted) -> set[str]:
    """Return what is allowed; the logout is the last, since it ends the session."""
    of_api = replace(before, tokens={"access": before.tokens.get("exchanged access", "")})
    found = {use for use in _USES if before.allowed(use)}
    if "exchanged" in before.tokens:
        found |= {"exchanged refresh"} if before.allowed("exchanged refresh") else set()
        found |= {"exchanged access"} if of_api.allowed("introspection") else set()
    return found | ({"logout"} if before.allowed("logout") else set())


@pytest.mark.parametrize("scope", ["openid", "openid offline_access"], ids=["online", "offline"])
def test_a_rejoin_revives_no_revoked_token(
    timed: Timed, realm: AdministeredRealm, scope: str
) -> None:
    found = {}
    for difference in _DIFFERENCES:
        before = _permitted(realm, scope)
        _revoke(before, "refresh")
        timed.clock.set(timed.clock.now() + timedelta(seconds=difference))
        again = _tokens(before.browser, scope)
        found[difference] = _uses(before)
        new = {"access": again["access_token"], "refresh": again["refresh_token"]}
        joined = replace(before, tokens=new)
        kept = {use for use in ("userinfo", "refresh", "logout") if joined.allowed(use)}
        assert kept == {"userinfo", "refresh", "logout"}, difference
    assert found == {difference: set[str]() for difference in _DIFFERENCES}


def test_without_a_revocation_a_rejoin_ends_no_token(
    timed: Timed, realm: AdministeredRealm
) -> None:
    for difference in _DIFFERENCES:
        before = _permitted(realm, "openid")
        timed.clock.set(timed.clock.now() + timedelta(seconds=difference))
        _tokens(before.browser, "openid")
        assert _uses(before) == {*_USES, *_OF_API, "logout"}, difference
