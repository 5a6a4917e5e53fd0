"""Required actions against callers who may not, or no longer, perform them.

attacks: D3, D8.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client, with_query

NEW = "another-Passw0rd"
OTHER = "a-third-Passw0rd"


@pytest.fixture(scope="module")
def acting(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm in which users have to do something."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "clients": [web_client("app"), web_client("asking", consentRequired=True)],
    }
    with administered_realm(administration, "hostile-actions", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(acting: SignInRealm) -> None:
    acting.events()


def _add(acting: SignInRealm, username: str, *actions: str) -> str:
    """Add a user who has to do something, and return the path of the user."""
    document = person(username, requiredActions=list(actions))
    return f"users/{acting.realm.change('POST', 'users', document)}"


def _change_password(browser: SignInBrowser, page: Page, password: str, **fields: str) -> Page:
    return browser.submit(
        page, **{"password-new": password, "password-confirm": password, **fields}
    )


def _types(acting: SignInRealm) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in acting.events()]


def test_a_user_who_is_disabled_meanwhile_changes_nothing(acting: SignInRealm) -> None:
    """attacks: D3."""
    user = _add(acting, "anna", "UPDATE_PASSWORD")
    browser = acting.browser()
    page = browser.sign_in("anna")
    acting.realm.change("PUT", user, {"enabled": False})
    refused = _change_password(browser, page, NEW)
    assert (refused.status, "disabled" in refused.text) == (400, True)
    assert acting.realm.get(user)["requiredActions"] == ["UPDATE_PASSWORD"]
    assert _types(acting) == [("LOGIN_ERROR", "user_disabled")]
    acting.realm.change("PUT", user, {"enabled": True})
    assert acting.browser().sign_in("anna").id == "login-update-password", "the old password"


def test_a_password_that_was_replaced_finishes_no_sign_in(acting: SignInRealm) -> None:
    """The thief of a password waits at a page while the owner sets another one."""
    _add(acting, "bert", "UPDATE_PASSWORD")
    thief, owner = acting.browser(), acting.browser()
    waiting, page = thief.sign_in("bert"), owner.sign_in("bert")
    assert _change_password(owner, page, NEW).answer["code"]
    again = _change_password(thief, waiting, OTHER)
    assert again.message == "Please re-authenticate to continue"
    assert "username" in again.form.names
    assert thief.submit(again, username="bert", password=PASSWORD).status == 200
    assert owner.submit(owner.open(prompt="login"), password=NEW).answer["code"]


def test_of_browsers_that_set_a_password_at_once_one_does(acting: SignInRealm) -> None:
    """All know the same password; who is second would replace one that is unknown to them."""
    _add(acting, "fritz", "UPDATE_PASSWORD")
    browsers = [acting.browser() for _ in range(4)]
    pages = [browser.sign_in("fritz") for browser in browsers]
    acting.events()
    passwords = [f"Passw0rd-of-browser-{number}" for number in range(4)]
    slow = {"passwordPolicy": "hashIterations(60)"}
    with acting.changed(**slow), ThreadPoolExecutor(4) as threads:
        done = list(threads.map(_change_password, browsers, pages, passwords))
    [winner] = [place for place, page in enumerate(done) if page.status == 302]
    assert _types(acting).count(("UPDATE_PASSWORD", None)) == 1
    again = acting.browser()
    assert again.submit(again.open(), username="fritz", password=passwords[winner]).answer["code"]


def test_a_password_that_was_replaced_gives_no_consent(acting: SignInRealm) -> None:
    user = _add(acting, "carl")
    thief = acting.browser()
    waiting = thief.sign_in("carl", "asking")
    assert "accept" in waiting.form.names
    acting.realm.change("PUT", f"{user}/reset-password", {"type": "password", "value": NEW})
    again = thief.post(waiting.form.action, {"accept": "on"})
    assert "username" in again.form.names
    assert acting.realm.get(f"{user}/consents") == []


def test_a_changed_password_is_recorded_if_the_sign_in_fails(
    acting: SignInRealm,
) -> None:
    """The next action, of which there is no page, refuses the sign-in."""
    user, elsewhere, browser = _add(acting, "dora"), acting.browser(), acting.browser()
    assert elsewhere.sign_in("dora").answer["code"]
    actions = ["UPDATE_PASSWORD", "idp_link"]
    acting.realm.change("PUT", user, {"requiredActions": actions})
    page = browser.sign_in("dora")
    acting.events()
    refused = _change_password(browser, page, NEW, **{"logout-sessions": "on"})
    assert refused.status == 400
    assert ("UPDATE_PASSWORD", None) in _types(acting)
    assert elsewhere.open(prompt="none").answer["error"] == "login_required"


def test_a_password_that_is_too_long_is_asked_for_again(acting: SignInRealm) -> None:
    _add(acting, "gerd", "UPDATE_PASSWORD")
    browser = acting.browser()
    page = browser.sign_in("gerd")
    again = _change_password(browser, page, 1025 * "x")
    assert again.message == "Invalid password: maximum length 1024."
    assert ("UPDATE_PASSWORD_ERROR", "password_rejected") in _types(acting)
    assert _change_password(browser, again, 1024 * "x").answer["code"]


def test_a_name_that_no_qr_code_holds_leaves_the_secret_to_type(acting: SignInRealm) -> None:
    name = "語" * 255
    _add(acting, name, "CONFIGURE_TOTP")
    page = acting.browser().sign_in(name)
    assert page.status == 200
    assert "kc-totp-secret-qr-code" not in page.html
    assert '<details class="manual" open>' in page.html


def test_a_changed_password_is_recorded_if_its_page_is_reopened(
    acting: SignInRealm,
) -> None:
    """The page that is shown again replaces the state that the form began with."""
    user, elsewhere, browser = _add(acting, "emil"), acting.browser(), acting.browser()
    assert elsewhere.sign_in("emil").answer["code"]
    acting.realm.change("PUT", user, {"requiredActions": ["UPDATE_PASSWORD"]})
    page = browser.sign_in("emil")
    acting.events()
    shown = with_query(page.form.action, session_code=None)
    fields = {"password-new": NEW, "password-confirm": NEW, "logout-sessions": "on"}
    with ThreadPoolExecutor(1) as threads:
        while acting.realm.get(user)["requiredActions"]:  # the page may win, and a new one is sent
            sent = threads.submit(browser.post, page.form.action, fields)
            acting.realm.get("")
            while not sent.done():
                page = browser.get(shown)
    assert ("UPDATE_PASSWORD", None) in _types(acting)
    assert elsewhere.open(prompt="none").answer["error"] == "login_required"
