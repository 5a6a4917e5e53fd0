"""Single-page applications with oidc-client-ts, from npm, in Debian's Chromium.

OpenID Connect Session Management §3; Front-Channel Logout §3; RFC 7009
"""

from typing import Any, Final

from playwright.sync_api import BrowserContext, Page, expect

from tests.support.relying_parties import (
    NOBODY,
    Origin,
    RelyingParties,
    expect_user,
    sign_in,
)

_LIBRARY: Final = "oidc-client-ts"
_UNWATCHED: Final = "?unwatched"
"""The application does not watch the session."""


def _open(user_browser: BrowserContext, origin: Origin, query: str = "") -> Page:
    """Open the application in a new tab."""
    page = user_browser.new_page()
    page.goto(origin.page(_LIBRARY, query))
    expect_user(page, NOBODY)
    return page


def _sign_in(page: Page) -> None:
    page.click("#sign-in")
    sign_in(page, "ada")
    expect_user(page, "ada")


def _sign_in_silently(page: Page) -> None:
    page.evaluate("manager.signinSilent()")
    expect_user(page, "ada")


def _user(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("manager.getUser()")
    return found


def _refresh_with(page: Page, refresh_token: str) -> str:
    """Refresh with a token; return the error."""
    return str(
        page.evaluate(
            "async (token) => {"
            " const user = await manager.getUser() ?? {};"
            " user.refresh_token = token;"
            " await manager.storeUser(new oidc.User(user));"
            " return manager.signinSilent().then(() => 'none', (failure) => failure.error); }",
            refresh_token,
        )
    )


def test_a_logout_of_one_application_reaches_the_other_by_frame(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    first = _open(user_browser, relying_parties.first)
    second = _open(user_browser, relying_parties.second, _UNWATCHED)
    _sign_in(first)
    _sign_in_silently(second)
    assert _user(first)["profile"]["sid"] == _user(second)["profile"]["sid"]
    assert _user(second)["profile"]["email"] == "ada@example.test"
    refresh_token = _user(second)["refresh_token"]
    first.click("#sign-out")
    expect_user(second, NOBODY)
    expect_user(first, NOBODY)
    assert first.url == relying_parties.first.page(_LIBRARY)
    assert _refresh_with(second, refresh_token) == "invalid_grant"


def test_an_application_that_watches_the_session_notices_its_end(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    page = _open(user_browser, relying_parties.first)
    _sign_in(page)
    user_browser.clear_cookies()
    expect_user(page, NOBODY)


def test_a_silent_sign_in_needs_a_session(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    page = _open(user_browser, relying_parties.first)
    asked = "manager.signinSilent().catch((failure) => failure.error)"
    assert page.evaluate(asked) == "login_required"


def test_a_refresh_changes_the_tokens_and_ends_the_old_one(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    page = _open(user_browser, relying_parties.first)
    _sign_in(page)
    before = _user(page)
    page.evaluate("manager.signinSilent()")
    after = _user(page)
    changed = ("access_token", "refresh_token", "id_token")
    assert all(before[name] != after[name] for name in changed)
    assert before["session_state"] == after["session_state"]
    assert _refresh_with(page, before["refresh_token"]) == "invalid_grant"


def test_a_revoked_token_works_no_more(
    relying_parties: RelyingParties, user_browser: BrowserContext
) -> None:
    page = _open(user_browser, relying_parties.first, _UNWATCHED)
    _sign_in(page)
    tokens = _user(page)
    page.evaluate("manager.revokeTokens()")
    assert "refresh_token" not in {name for name, value in _user(page).items() if value}
    assert relying_parties.userinfo(tokens["access_token"]) == 401
    assert _refresh_with(page, tokens["refresh_token"]) == "invalid_grant"
    expect(page.locator("#failure")).to_be_empty()
