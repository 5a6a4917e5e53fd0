"""What makes users perform actions: the age of a password or of a sign-in, and being new.

Actions that an administrator requires are in test_required_actions.py. Keycloak: 5.2, 16.1
"""

import base64
import hashlib
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import ADMIN_PASSWORD, PASSWORD
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client
from tests.support.timed_gateway import Timed

_DAY: Final = 86_400
_HASH: Final = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1)"
_NEW: Final = "the administrator's next word"
_CONSOLE: Final = "https://gateway.test/admin/master/console/"
_VERIFIER: Final = "v" * 43


@pytest.fixture(scope="module")
def triggered(timed: Timed) -> Iterator[SignInRealm]:
    """Make a realm in which time passes."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "passwordPolicy": _HASH,
        "clients": [web_client("app")],
    }
    with administered_realm(timed.administration, "triggered", {}, **settings) as realm:
        yield SignInRealm(realm)


def _to_console(browser: SignInBrowser, password: str) -> Page:
    """Sign the administrator in to the console of the realm `master`."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(_VERIFIER.encode()).digest())
    page = browser.open(
        "security-admin-console",
        redirect_uri=_CONSOLE,
        code_challenge=challenge.rstrip(b"=").decode(),
        code_challenge_method="S256",
    )
    return browser.submit(page, username="admin", password=password)


def test_an_administrator_changes_an_expired_password_by_browser(timed: Timed) -> None:
    """The log warns a week before. With the new password the administrator is one again."""
    administration = timed.administration
    before = administration.ask("GET", "master").json()["passwordPolicy"]
    policy = f"{_HASH} and passwordHistory(1) and forceExpiredPasswordChange(30)"
    [admin] = administration.ask("GET", "master/users?username=admin&exact=true").json()
    reset = {"type": "password", "value": ADMIN_PASSWORD, "temporary": False}
    path = f"master/users/{admin['id']}/reset-password"
    assert administration.ask("PUT", path, document=reset).is_success
    assert administration.ask("PUT", "master", document={"passwordPolicy": policy}).is_success
    try:
        timed.advance(seconds=24 * _DAY)
        assert administration.sign_in("admin", ADMIN_PASSWORD, "master") == httpx2.codes.OK
        timed.keep_house()
        assert "administrator's password expires soon" in administration.gateway.log_text()
        timed.advance(seconds=7 * _DAY)
        assert administration.sign_in("admin", ADMIN_PASSWORD, "master") != httpx2.codes.OK
        browser = SignInBrowser(administration.http, "master")
        page = _to_console(browser, ADMIN_PASSWORD)
        assert (page.id, page.message) == (
            "login-update-password",
            "You need to change your password to activate your account.",
        )
        same = {"password-new": ADMIN_PASSWORD, "password-confirm": ADMIN_PASSWORD}
        page = browser.submit(page, **same)
        assert page.id == "login-update-password", "the rules of the realm hold"
        done = browser.submit(page, **{"password-new": _NEW, "password-confirm": _NEW})
        assert done.location.startswith(f"{_CONSOLE}?")
        assert "code=" in done.location
        token = administration.password_token("admin", _NEW)
        assert administration.ask("GET", "", token).status_code == httpx2.codes.OK
        assert administration.sign_in("admin", ADMIN_PASSWORD, "master") != httpx2.codes.OK
    finally:
        administration.ask("PUT", "master", document={"passwordPolicy": before})
        administration.ask("PUT", path, document=reset)


def test_a_client_requests_an_action_after_a_recent_sign_in(
    timed: Timed, triggered: SignInRealm
) -> None:
    """300 seconds where nothing is set; `maxAuthAge` is that of the password alone."""
    triggered.realm.change("POST", "users", person("otto"))
    browser = triggered.browser()
    assert browser.sign_in("otto").answer["code"]
    timed.advance(seconds=300)
    assert "password-new" in browser.open(kc_action="UPDATE_PASSWORD").form.names
    timed.advance(seconds=1)
    for action in ("UPDATE_PASSWORD", "CONFIGURE_TOTP"):
        again = browser.open(kc_action=action)
        assert (again.id, again.message) == (
            "login-password",
            "Please re-authenticate to continue",
        )
    with triggered.changed(passwordPolicy=f"{_HASH} and maxAuthAge(600)"):
        timed.advance(seconds=299)
        assert "password-new" in browser.open(kc_action="UPDATE_PASSWORD").form.names
        assert "password" in browser.open(kc_action="CONFIGURE_TOTP").form.names
        timed.advance(seconds=1)
        page = browser.open(kc_action="UPDATE_PASSWORD")
        page = browser.submit(page, password=PASSWORD)
        assert "password-new" in page.form.names
    action = "authentication/required-actions/CONFIGURE_TOTP/config"
    triggered.realm.change("PUT", action, {"config": {"max_auth_age": "30"}})
    assert browser.submit(page, **{"cancel-aia": "true"}).answer["code"]
    timed.advance(seconds=30)
    assert "totp" in browser.open(kc_action="CONFIGURE_TOTP").form.names
    timed.advance(seconds=1)
    assert "password" in browser.open(kc_action="CONFIGURE_TOTP").form.names


def test_a_default_action_is_required_of_new_users_alone(triggered: SignInRealm) -> None:
    triggered.realm.change("POST", "users", person("early"))
    path = "authentication/required-actions/CONFIGURE_TOTP"
    action = triggered.realm.get(path)
    triggered.realm.change("PUT", path, {**action, "defaultAction": True})
    triggered.realm.change("POST", "users", person("late"))
    assert triggered.browser().sign_in("early").answer["code"]
    page = triggered.browser().sign_in("late")
    assert page.id == "login-config-totp"
    assert "cancel-aia" not in page.form.names
    triggered.realm.change("PUT", path, {**action, "defaultAction": False})
