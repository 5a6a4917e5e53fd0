"""Single-page applications with keycloak-js, from npm, in Debian's Chromium.

Keycloak: 12.2, 12.3, 12.6, 12.10
"""

from typing import Any, Final

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.support.relying_parties import (
    NOBODY,
    Origin,
    RelyingParties,
    expect_user,
    sign_in,
)
from tests.support.wire import PASSWORD, claims_of

_LIBRARY: Final = "keycloak-js"
_BLOCKED: Final = "Your browser is blocking access to 3rd-party cookies"


def _open(user_browser: BrowserContext, origin: Origin, on_load: str, **options: str) -> Page:
    """Open the application in a new tab; `options` are those of `init`."""
    page = user_browser.new_page()
    query = "&".join(f"{name}={value}" for name, value in {"onLoad": on_load, **options}.items())
    page.goto(origin.page(_LIBRARY, f"?{query}"))
    return page


def _console(user_browser: BrowserContext) -> list[str]:
    """Return the list to which messages of the pages are added."""
    found: list[str] = []
    user_browser.on("console", lambda message: found.append(message.text))
    return found


def _tokens(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(
        "() => { const {token, idToken, refreshToken} = keycloak;"
        " return {token, idToken, refreshToken}; }"
    )
    return found


def _refused(page: Page, refresh_token: str) -> bool:
    """Try to refresh with a token; return whether the application is signed out by it."""
    return bool(
        page.evaluate(
            "async (token) => { keycloak.refreshToken = token;"
            " await keycloak.updateToken(-1).catch(() => null); return !keycloak.authenticated; }",
            refresh_token,
        )
    )


def test_a_user_signs_in_once_and_out_of_all_applications(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    """The frame that watches the session tells the second application of the logout."""
    console = _console(user_browser)
    second = _open(user_browser, relying_parties.second, "check-sso")
    expect_user(second, NOBODY)
    first = _open(user_browser, relying_parties.first, "login-required")
    sign_in(first, "ada")
    expect_user(first, "ada")
    second.reload()
    expect_user(second, "ada")
    refresh_token = _tokens(second)["refreshToken"]
    first.click("#sign-out")
    expect_user(second, NOBODY)
    assert _refused(second, refresh_token)
    expect(first.locator("#kc-form-login")).to_be_visible()
    assert not any(_BLOCKED in message for message in console)


def test_without_third_party_cookies_silent_checks_redirect(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    console = _console(user_browser)
    first = _open(user_browser, relying_parties.first, "login-required")
    sign_in(first, "ada")
    expect_user(first, "ada")
    assert not any(_BLOCKED in message for message in console)
    page = user_browser.new_page()
    _block_third_party_cookies(page)
    page.goto(relying_parties.elsewhere.page(_LIBRARY, "?onLoad=check-sso"))
    expect_user(page, "ada")
    assert any(_BLOCKED in message for message in console)


def _block_third_party_cookies(page: Page) -> None:
    """Do so whatever is the default of this Chromium."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    restrictions = (
        "enableThirdPartyCookieRestriction",
        "disableThirdPartyCookieMetadata",
        "disableThirdPartyCookieHeuristics",
    )
    session.send("Network.setCookieControls", dict.fromkeys(restrictions, True))


def test_a_refresh_changes_the_tokens_and_ends_the_old_one(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    page = _open(user_browser, relying_parties.first, "login-required")
    sign_in(page, "ada")
    expect_user(page, "ada")
    before = _tokens(page)
    assert page.evaluate("keycloak.updateToken(-1)") is True
    after = _tokens(page)
    assert all(before[name] != after[name] for name in before)
    assert claims_of(before["token"])["sid"] == claims_of(after["token"])["sid"]
    assert page.evaluate("keycloak.loadUserInfo().then((found) => found.name)") == "Ada Ada"
    assert _refused(page, before["refreshToken"])


def test_an_application_asks_for_the_password_again(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    page = _open(user_browser, relying_parties.first, "login-required", logoutMethod="POST")
    sign_in(page, "ada")
    expect_user(page, "ada")
    first = claims_of(_tokens(page)["idToken"])
    with page.expect_navigation():
        page.evaluate(
            "void keycloak.login({prompt: 'login', acr: {values: ['1'], essential: true}})"
        )
    expect(page.locator("#kc-attempted-username")).to_have_value("ada")
    page.fill("#password", PASSWORD)
    page.click("#kc-login")
    expect_user(page, "ada")
    second = claims_of(_tokens(page)["idToken"])
    assert second["acr"] == "1"
    assert second["sid"] == first["sid"]
    assert second["nonce"] != first["nonce"]
    page.click("#sign-out")
    expect(page.locator("#kc-form-login")).to_be_visible()


@pytest.mark.parametrize("flow", ["implicit", "hybrid"])
def test_an_application_gets_tokens_by_the_implicit_flow(
    relying_parties: RelyingParties, user_browser: BrowserContext, flow: str
) -> None:
    page = _open(user_browser, relying_parties.first, "login-required", flow=flow)
    sign_in(page, "ada")
    expect_user(page, "ada")
    found = _tokens(page)
    assert claims_of(found["idToken"])["nonce"]
    assert bool(found["refreshToken"]) == (flow == "hybrid")
    assert "#" not in page.url


def test_an_application_registers_a_user_and_opens_the_account(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    page = _open(user_browser, relying_parties.first, "check-sso")
    expect_user(page, NOBODY)
    page.evaluate("void keycloak.register()")
    names = {"username": "grace", "firstName": "Grace", "lastName": "Hopper"}
    fields = names | {"email": "grace@example.test"}
    secrets = {"password": PASSWORD, "password-confirm": PASSWORD}
    for name, value in (fields | secrets).items():
        page.fill(f"[name={name}]", value)
    page.click("#kc-register")
    expect_user(page, "grace")
    profile = page.evaluate("keycloak.loadUserProfile()")
    assert fields.items() <= profile.items()
    page.evaluate("void keycloak.accountManagement()")
    expect(page.locator("h1")).to_have_text("Overview")
    page.click("nav a:has-text('Personal info')")
    expect(page.locator("[name=lastName]")).to_have_value("Hopper")
