"""A credential is added by a user who has proven one of its level, whatever client asks for it.

Keycloak: AcrStore (26.7), 16.1
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, Final

import pyotp
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.leveled_flows import LEVEL_CONFIGS, client_with_flow, leveled_flows
from tests.support.one_time_devices import base32
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser, SignInRealm, web_client
from tests.support.wire import DEVICE, DEVICE_KEY

_PHONE: Final = {**DEVICE, "id": None, "userLabel": "phone"}
_SECOND: Final = (
    "auth-otp-form",
    "auth-recovery-authn-code-form",
    "webauthn-authenticator",
    "webauthn-authenticator-passwordless",
)
_PAGES: Final = {
    "CONFIGURE_TOTP": "login-config-totp",
    "CONFIGURE_RECOVERY_AUTHN_CODES": "login-recovery-authn-code-config",
    "webauthn-register": "webauthn-register",
    "webauthn-register-passwordless": "webauthn-register",
}
"""The actions that add credentials of the second level: their pages."""
_actions: Final = pytest.mark.parametrize("action", _PAGES)


@pytest.fixture(scope="module")
def leveled(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose browser flow has two levels, and clients with other flows."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "otpPolicyCodeReusable": True,
        "authenticationFlows": leveled_flows(*_SECOND),
        "authenticatorConfig": LEVEL_CONFIGS,
        "browserFlow": "levels",
        "clients": [
            web_client("app", baseUrl=CALLBACK),
            client_with_flow("password", "passwords-alone"),
            client_with_flow("both", "both-factors"),
        ],
    }
    with administered_realm(administration, "enrollments", {}, **settings) as realm:
        found = SignInRealm(realm)
        for action in _PAGES:
            path = f"authentication/required-actions/{action}"
            realm.change("PUT", path, {**realm.get(path), "enabled": True})
        for name in ("anna", "bert"):
            document = person(name)
            if name == "anna":
                document["credentials"] = [*document["credentials"], _PHONE]
            realm.change("POST", "users", document)
        yield found


@pytest.fixture(autouse=True)
def nothing_yet(leveled: SignInRealm) -> None:
    leveled.events()


def _code() -> str:
    return pyotp.TOTP(base32(DEVICE_KEY)).now()


def _signed_in(leveled: SignInRealm, name: str, client_id: str) -> SignInBrowser:
    browser = leveled.browser()
    assert browser.sign_in(name, client_id).answer["code"]
    leveled.events()
    return browser


def _result(page: Page) -> tuple[str, str]:
    assert page.answer["code"]
    return page.answer["kc_action"], page.answer["kc_action_status"]


@_actions
def test_a_password_alone_adds_nothing_to_a_second_factor(
    leveled: SignInRealm, action: str
) -> None:
    """A thief of the password looks for a client whose own flow has no levels."""
    browser = leveled.browser()
    page = browser.submit(
        browser.open("password", kc_action=action), username="anna", password=PASSWORD
    )
    assert _result(page) == (action, "error")
    assert _result(browser.open("password", kc_action=action)) == (action, "error")
    events = leveled.events()
    assert len(events) == 4
    for refused, login in zip(events[::2], events[1::2], strict=True):
        assert (refused["type"], refused["error"]) == (
            "CUSTOM_REQUIRED_ACTION_ERROR",
            "not_allowed",
        )
        assert refused["details"]["custom_required_action"] == action
        assert refused["details"]["reason"] == (
            "Insufficient level of authentication for setting up the credential."
        )
        assert login["type"] == "LOGIN"


@_actions
def test_a_user_without_a_second_factor_adds_the_first(leveled: SignInRealm, action: str) -> None:
    for client_id in ("app", "password"):
        browser = _signed_in(leveled, "bert", client_id)
        assert browser.open(client_id, kc_action=action).id == _PAGES[action]


@_actions
@pytest.mark.parametrize("client_id", ["app", "both"])
def test_a_flow_that_has_the_missing_factor_asks_for_it(
    leveled: SignInRealm, action: str, client_id: str
) -> None:
    """`both` has no levels: password and code, proven again, reach those of the realm."""
    browser = _signed_in(leveled, "anna", "password")
    page = browser.open(client_id, kc_action=action)
    assert page.message == "Strong authentication required to continue"
    if page.id == "login-password" or "password" in page.form.names:
        page = browser.submit(page, password=PASSWORD)
    assert page.id == "login-otp"
    assert browser.submit(page, otp=_code()).id == _PAGES[action]


def test_a_level_of_the_session_counts_in_other_clients(leveled: SignInRealm) -> None:
    browser = _signed_in(leveled, "anna", "app")
    page = browser.open(kc_action="CONFIGURE_TOTP")
    page = browser.submit(browser.submit(page, otp=_code()), **{"cancel-aia": "true"})
    assert _result(page) == ("CONFIGURE_TOTP", "cancelled")
    page = browser.open("password", kc_action="CONFIGURE_TOTP")
    assert page.id == "login-config-totp"
    page = browser.open("password", kc_action="CONFIGURE_TOTP", prompt="login")
    assert _result(browser.submit(page, password=PASSWORD)) == ("CONFIGURE_TOTP", "error"), (
        "what is proven again does not count from before"
    )


def test_a_form_is_refused_if_the_level_rose_meanwhile(leveled: SignInRealm) -> None:
    with leveled.changed(browserFlow="passwords-alone"):
        browser = _signed_in(leveled, "anna", "password")
        page = browser.open("password", kc_action="CONFIGURE_RECOVERY_AUTHN_CODES")
        assert page.id == "login-recovery-authn-code-config"
    done = browser.submit(page)
    assert _result(done) == ("CONFIGURE_RECOVERY_AUTHN_CODES", "error")
    held = leveled.realm.get(f"users/{leveled.user_id('anna')}/credentials")
    assert {one["type"] for one in held} == {"password", "otp"}


def test_the_password_is_changed_by_a_user_who_has_proven_it(leveled: SignInRealm) -> None:
    browser = _signed_in(leveled, "anna", "password")
    assert browser.open("password", kc_action="UPDATE_PASSWORD").id == "login-update-password"


def test_an_action_that_an_administrator_requires_needs_no_level(leveled: SignInRealm) -> None:
    user = f"users/{leveled.user_id('anna')}"
    leveled.realm.change("PUT", user, {"requiredActions": ["CONFIGURE_TOTP"]})
    page = leveled.browser().sign_in("anna", "password")
    leveled.realm.change("PUT", user, {"requiredActions": []})
    assert page.id == "login-config-totp"


def test_the_account_console_adds_nothing_by_password_alone(leveled: SignInRealm) -> None:
    """The flow of its client has no levels here; its links are those of every user."""
    realm = leveled.realm
    [client] = realm.get("clients?clientId=account-console")
    flow = {"authenticationFlowBindingOverrides": {"browser": "id-of-passwords-alone"}}
    realm.change("PUT", f"clients/{client['id']}", {**client, **flow})
    browser = leveled.browser()
    page = browser.get(f"/realms/{browser.realm}/account/account-security/signing-in")
    page = browser.get(browser.submit(page, username="anna", password=PASSWORD).location)
    link = re.search(r'href="([^"]*kc_action=CONFIGURE_TOTP[^"]*)"', page.html)
    assert link is not None
    refused = browser.get(browser.get(unescape(link[1])).location)
    assert refused.message == "This is not possible at the moment."
