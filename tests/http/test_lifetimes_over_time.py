"""How long sessions, tokens and codes last, on a gateway whose clock is set.

Spec: 2.1 (session settings); Keycloak: 3.1, 3.2
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import pytest

from gateway.domain.clock import CLOCK_LEEWAY
from tests.support.administered_realm import SIGN_IN, administered_realm, person
from tests.support.administration import PASSWORD, SECRET
from tests.support.sign_in_browser import SignInBrowser, SignInRealm, web_client
from tests.support.timed_gateway import Timed

_HOUR: Final = 3600
_DAY: Final = 86_400
_SETTINGS: Final = {
    "accessTokenLifespan": 300,
    "ssoSessionIdleTimeout": _HOUR,
    "ssoSessionMaxLifespan": 10 * _HOUR,
    "rememberMe": True,
    "offlineSessionIdleTimeout": 30 * _DAY,
}
_OVER: Final = CLOCK_LEEWAY.total_seconds()
"""A session is kept for so long beyond its end: the clock of another gateway may have set it."""


@dataclass(frozen=True, slots=True)
class Lasting:
    """The realm, and the time."""

    timed: Timed
    realm: SignInRealm

    def set(self, **settings: Any) -> None:
        """Change settings of the realm over the admin API."""
        self.realm.realm.change("PUT", "", settings)

    def ask_for_token(self, **form: str) -> httpx2.Response:
        """Ask as the client `app`."""
        browser = self.realm.browser()
        own = {"client_id": "app", "client_secret": SECRET}
        return browser.http.post(browser.protocol("token"), data=own | form)

    def tokens(self, **form: str) -> dict[str, Any]:
        """Sign anna in by password."""
        credentials = {"grant_type": "password", "username": "anna", "password": PASSWORD}
        response = self.ask_for_token(**credentials, **form)
        assert response.is_success, response.text
        return dict(response.json())

    def refreshes(self, tokens: dict[str, Any], after: float) -> bool:
        """Let seconds pass and refresh; `tokens` are those of the response then."""
        self.timed.advance(seconds=after)
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        response = self.ask_for_token(**form)
        if response.is_success:
            tokens |= response.json()
        return response.is_success

    def holds(self, token: str, after: float) -> bool:
        """Let seconds pass; tell whether an access token is accepted."""
        self.timed.advance(seconds=after)
        browser = self.realm.browser()
        bearer = {"Authorization": f"Bearer {token}"}
        return browser.http.get(browser.protocol("userinfo"), headers=bearer).is_success

    def signed_in(self, **fields: str) -> SignInBrowser:
        """Return a browser in which anna signed in."""
        browser = self.realm.browser()
        page = browser.submit(browser.open(), username="anna", password=PASSWORD, **fields)
        assert page.answer["code"]
        return browser

    def stays(self, browser: SignInBrowser, after: float) -> bool:
        """Let seconds pass; tell whether the browser is signed in."""
        self.timed.advance(seconds=after)
        return "code" in browser.open(prompt="none").answer


@pytest.fixture(scope="module")
def _realm(timed: Timed) -> Iterator[SignInRealm]:
    app = web_client("app", directAccessGrantsEnabled=True, implicitFlowEnabled=True)
    settings = {
        **SIGN_IN,
        **_SETTINGS,
        "clients": [app, web_client("other")],
        "users": [person("anna")],
    }
    with administered_realm(timed.administration, "timed-lifetimes", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture
def lasting(timed: Timed, _realm: SignInRealm) -> Iterator[Lasting]:
    """Return the realm; its settings are put back afterwards."""
    before = _realm.realm.get("")
    yield Lasting(timed, _realm)
    _realm.realm.change("PUT", "", before)


def test_an_access_token_lasts_for_its_lifespan(lasting: Lasting) -> None:
    lasting.set(accessTokenLifespan=90)
    tokens = lasting.tokens(scope="openid")
    assert tokens["expires_in"] == 90
    assert lasting.holds(tokens["access_token"], after=89)
    assert not lasting.holds(tokens["access_token"], after=1)


def test_implicit_access_tokens_have_a_lifespan_of_their_own(lasting: Lasting) -> None:
    lasting.set(accessTokenLifespanForImplicitFlow=200)
    browser = lasting.signed_in()
    answer = browser.open(response_type="token", nonce="n").answer
    assert answer["expires_in"] == "200"
    assert lasting.holds(answer["access_token"], after=199)
    assert not lasting.holds(answer["access_token"], after=1)
    assert lasting.tokens()["expires_in"] == 300


def test_a_session_ends_that_idles_and_one_in_use_does_not(lasting: Lasting) -> None:
    lasting.set(ssoSessionIdleTimeout=400)
    browser, tokens = lasting.signed_in(), lasting.tokens()
    assert tokens["refresh_expires_in"] == 400
    for _ in range(3):
        assert lasting.stays(browser, after=199)
        assert lasting.refreshes(tokens, after=200)
    assert not lasting.refreshes(tokens, after=400)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    refused = lasting.ask_for_token(**form).json()
    assert refused["error_description"] == "Token is not active"
    own = {"client_id": "app", "client_secret": SECRET}
    url = browser.protocol("logout")
    assert browser.http.post(url, data=own | form).status_code == httpx2.codes.NO_CONTENT
    assert not lasting.stays(browser, after=200 + _OVER)


def test_a_session_in_use_ends_at_its_maximum(lasting: Lasting) -> None:
    lasting.set(ssoSessionMaxLifespan=1000)
    browser, tokens = lasting.signed_in(), lasting.tokens()
    for _ in range(3):
        assert lasting.refreshes(tokens, after=300)
    assert tokens["refresh_expires_in"] == 100
    assert lasting.stays(browser, after=99)
    assert not lasting.refreshes(tokens, after=1)
    assert not lasting.stays(browser, after=_OVER)


def test_remember_me_lengthens_the_idle_timeout(lasting: Lasting) -> None:
    lasting.set(ssoSessionIdleTimeout=400, ssoSessionIdleTimeoutRememberMe=2000)
    remembered, other = lasting.signed_in(rememberMe="on"), lasting.signed_in()
    assert lasting.stays(remembered, after=1999)
    assert not lasting.stays(other, after=0)
    lasting.set(ssoSessionIdleTimeoutRememberMe=0)
    assert not lasting.stays(remembered, after=400 + _OVER)


def test_remember_me_lengthens_the_maximum(lasting: Lasting) -> None:
    lasting.set(ssoSessionMaxLifespan=1000, ssoSessionMaxLifespanRememberMe=3000)
    remembered, other = lasting.signed_in(rememberMe="on"), lasting.signed_in()
    assert lasting.stays(remembered, after=2000)
    assert not lasting.stays(other, after=0)
    assert not lasting.stays(remembered, after=1000 + _OVER)


def test_an_offline_session_ends_that_idles(lasting: Lasting) -> None:
    lasting.set(offlineSessionIdleTimeout=2 * _DAY)
    tokens = lasting.tokens(scope="offline_access")
    assert tokens["refresh_expires_in"] == 0, "the token itself has no end"
    assert lasting.refreshes(tokens, after=2 * _DAY - 1)
    assert lasting.refreshes(tokens, after=2 * _DAY - 1)
    assert not lasting.refreshes(tokens, after=2 * _DAY + _OVER)


def test_an_offline_session_has_a_maximum_where_that_is_enabled(lasting: Lasting) -> None:
    lasting.set(offlineSessionMaxLifespanEnabled=False, offlineSessionMaxLifespan=60 * _DAY)
    tokens = lasting.tokens(scope="offline_access")
    for _ in range(4):
        assert lasting.refreshes(tokens, after=25 * _DAY)
    lasting.set(offlineSessionMaxLifespanEnabled=True)
    assert not lasting.refreshes(tokens, after=0), "it is 100 days old"


@pytest.mark.parametrize(("lifespan", "days"), [(10 * _DAY, 10), (0, 60)])
def test_the_maximum_of_an_offline_session_counts_from_its_start(
    lasting: Lasting, lifespan: int, days: int
) -> None:
    """Zero means 60 days. Keycloak: 3.1."""
    lasting.set(offlineSessionMaxLifespanEnabled=True, offlineSessionMaxLifespan=lifespan)
    tokens = lasting.tokens(scope="offline_access")
    for _ in range(2):
        assert lasting.refreshes(tokens, after=days * _DAY / 2 - 1)
    assert tokens["refresh_expires_in"] == 2
    assert not lasting.refreshes(tokens, after=2)


@pytest.mark.parametrize(
    ("setting", "scope"),
    [("clientSessionIdleTimeout", "openid"), ("clientOfflineSessionIdleTimeout", "offline_access")],
)
def test_a_clients_part_of_a_session_ends_that_idles(
    lasting: Lasting, setting: str, scope: str
) -> None:
    lasting.set(**{setting: 700})
    tokens = lasting.tokens(scope=scope)
    assert lasting.refreshes(tokens, after=699)
    assert lasting.refreshes(tokens, after=699)
    assert not lasting.refreshes(tokens, after=700 + _OVER)


@pytest.mark.parametrize(
    ("setting", "scope"),
    [("clientSessionMaxLifespan", "openid"), ("clientOfflineSessionMaxLifespan", "offline_access")],
)
def test_a_clients_part_of_a_session_ends_at_its_maximum(
    lasting: Lasting, setting: str, scope: str
) -> None:
    lasting.set(**{setting: 700}, offlineSessionMaxLifespanEnabled=True)
    tokens = lasting.tokens(scope=scope)
    assert lasting.refreshes(tokens, after=400)
    assert tokens["refresh_expires_in"] == 300
    assert not lasting.refreshes(tokens, after=300)


def test_a_refresh_token_works_as_often_as_the_realm_lets_it(lasting: Lasting) -> None:
    kept = lasting.tokens()
    for reuse in (0, 2):
        lasting.set(revokeRefreshToken=True, refreshTokenMaxReuse=reuse)
        first = lasting.tokens()
        assert [lasting.refreshes(dict(first), after=1) for _ in range(reuse + 2)] == [
            *[True] * (reuse + 1),
            False,
        ]
    lasting.set(revokeRefreshToken=False)
    assert all(lasting.refreshes(dict(kept), after=1) for _ in range(4))


def test_a_token_of_an_earlier_part_ends_no_later_one(lasting: Lasting) -> None:
    """The client was revoked, and the user came back to it in the same session."""
    browser = lasting.signed_in()
    own = {"client_id": "app", "client_secret": SECRET}

    def tokens(client: str) -> dict[str, Any]:
        code = browser.open(client).answer["code"]
        return dict(browser.redeem(code, client).json())

    def revoke(token: str) -> None:
        form = own | {"token": token}
        assert browser.http.post(browser.protocol("revoke"), data=form).is_success

    tokens("other")
    old = tokens("app")["refresh_token"]
    revoke(old)
    lasting.timed.advance(seconds=60)
    current = tokens("app")
    for path in ("revoke", "logout"):
        name = "token" if path == "revoke" else "refresh_token"
        browser.http.post(browser.protocol(path), data=own | {name: old})
        assert lasting.refreshes(current, after=0), path
        assert lasting.stays(browser, after=0), path


def test_what_was_issued_before_not_before_is_refused(lasting: Lasting) -> None:
    tokens = lasting.tokens(scope="openid")
    lasting.set(notBefore=int(lasting.timed.clock.now().timestamp()) + 5)
    assert not lasting.holds(tokens["access_token"], after=10)
    assert not lasting.refreshes(tokens, after=0)
    assert lasting.holds(lasting.tokens(scope="openid")["access_token"], after=1)


def test_a_code_is_redeemed_within_its_lifespan(lasting: Lasting) -> None:
    lasting.set(accessCodeLifespan=30)
    browser = lasting.realm.browser()
    early, late = (browser.sign_in().answer["code"], browser.open().answer["code"])
    lasting.timed.advance(seconds=29)
    assert browser.redeem(early).is_success
    lasting.timed.advance(seconds=2)
    refused = browser.redeem(late)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")


def _completes(lasting: Lasting, username: str, **fields: str) -> bool:
    """Send the last page of a sign-in 200 seconds after the page before."""
    browser = lasting.realm.browser()
    page = browser.open()
    if fields:
        page = browser.submit(page, username=username, password=PASSWORD)
    lasting.timed.advance(seconds=200)
    sent = fields or {"username": username, "password": PASSWORD}
    done = browser.submit(page, **sent)
    return done.status == httpx2.codes.FOUND and "code=" in done.location


def test_a_sign_in_is_completed_within_its_lifespan(lasting: Lasting) -> None:
    lasting.set(accessCodeLifespanLogin=150, accessCodeLifespanUserAction=250)
    assert not _completes(lasting, "anna")
    lasting.set(accessCodeLifespanLogin=250)
    assert _completes(lasting, "anna")


def test_an_action_is_completed_within_its_lifespan(lasting: Lasting) -> None:
    lasting.set(accessCodeLifespanLogin=10, accessCodeLifespanUserAction=150)
    document = person("bea", requiredActions=["UPDATE_PASSWORD"])
    lasting.realm.realm.change("POST", "users", document)
    fields = {"password-new": "another-Passw0rd", "password-confirm": "another-Passw0rd"}
    assert not _completes(lasting, "bea", **fields)
    lasting.set(accessCodeLifespanUserAction=250)
    assert _completes(lasting, "bea", **fields)


def test_a_device_code_has_a_lifespan_and_a_poll_interval(
    lasting: Lasting,
) -> None:
    attributes = {"oauth2.device.authorization.grant.enabled": "true"}
    (app,) = lasting.realm.realm.get("clients?clientId=app")
    lasting.realm.realm.change("PUT", f"clients/{app['id']}", {"attributes": attributes})
    lasting.set(oauth2DeviceCodeLifespan=60, oauth2DevicePollingInterval=7)
    browser = lasting.realm.browser()
    own = {"client_id": "app", "client_secret": SECRET}
    codes = browser.http.post(browser.protocol("auth/device"), data=own).json()
    assert (codes["expires_in"], codes["interval"]) == (60, 7)
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": codes["device_code"],
    }

    def poll(after: float) -> str:
        lasting.timed.advance(seconds=after)
        return str(lasting.ask_for_token(**form).json()["error"])

    assert poll(0) == "authorization_pending"
    assert poll(6) == "slow_down"
    assert poll(7) == "authorization_pending"
    assert poll(46) == "authorization_pending"
    assert poll(7) == "expired_token"


@pytest.mark.parametrize(("after", "stays"), [(299, False), (301, True)])
def test_the_logout_question_is_valid_for_five_minutes(
    lasting: Lasting, after: int, *, stays: bool
) -> None:
    """attacks: D14. An answer that comes later is none of the user's."""
    browser = lasting.signed_in()
    page = browser.get(browser.protocol("logout"))
    assert page.id == "logout-confirm", page.text
    lasting.timed.advance(seconds=after)
    browser.submit(page, confirmLogout="on")
    assert lasting.stays(browser, 0) is stays
