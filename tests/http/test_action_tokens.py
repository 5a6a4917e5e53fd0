"""Links of mails under attack: each acts once, for its user, and shows a page otherwise."""

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.administration import SECRET, Administration
from tests.support.gateway_process import until
from tests.support.mailed_links import MailedRealm, follow, key_of, mailed_realm
from tests.support.sign_in_browser import Page, SignInBrowser, with_query
from tests.support.wire import claims_of

_INVALID = "This link is not valid."
_LONG = "x" * 9_000


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm whose links are attacked."""
    with mailed_realm(
        administration,
        "attacked-links",
        {},
        browserSecurityHeaders={"referrerPolicy": "unsafe-url"},
        internationalizationEnabled=True,
        supportedLocales=["en", "de"],
        actionTokenGeneratedByAdminLifespan=7200,
    ) as realm:
        yield realm


@pytest.fixture(autouse=True)
def nothing_yet(mailed: MailedRealm) -> None:
    mailed.events()


def _types(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in events]


def _ask(mailed: MailedRealm, user: str, query: str = "") -> None:
    mailed.realm.change("PUT", f"{user}/send-verify-email{query}")


def _post(browser: SignInBrowser, key: str) -> Page:
    return browser.post(f"/realms/{browser.realm}/login-actions/action-token", {"key": key})


def _is_refused(page: Page, text: str) -> bool:
    return (page.status, page.id) == (400, "error") and text in page.text


def test_opening_a_link_changes_nothing_and_tells_nobody_of_it(
    mailed: MailedRealm, administration: Administration
) -> None:
    user = mailed.add("scanned", attributes={"locale": ["de"]})
    _ask(mailed, user)
    link = mailed.link("scanned@example.org")
    for _ in range(3):
        page = mailed.browser().get(link)
        assert (page.status, page.id) == (200, "confirm-link")
        assert "scanned@example.org" in page.text
        assert page.response.headers.get_list("referrer-policy") == ["no-referrer"]
        assert "no-store" in page.response.headers["cache-control"]
        assert 'lang="de"' in page.html
    assert mailed.realm.get(user)["emailVerified"] is False
    assert mailed.events() == []
    done = follow(mailed.browser(), link)
    assert "Ihre E-Mail-Adresse wurde bestätigt." in done.text
    claims = claims_of(key_of(link))
    assert claims["exp"] - claims["iat"] == 7200
    assert key_of(link)[-40:] not in administration.gateway.log_text()


def test_of_many_browsers_one_uses_a_link(mailed: MailedRealm) -> None:
    user = mailed.add("raced")
    _ask(mailed, user)
    key = key_of(mailed.link("raced@example.org"))
    http = mailed.realm.administration.gateway
    browsers = [
        SignInBrowser(http.client(**{"X-Forwarded-For": "203.0.113.9"}), mailed.realm.name)
        for _ in range(8)
    ]
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda browser: _post(browser, key), browsers))
    for browser in browsers:
        browser.http.close()
    assert sorted(page.status for page in pages) == [200] + [400] * 7
    used = "Action expired. Please continue to sign in."
    assert all(_is_refused(page, used) for page in pages if page.status == 400)
    assert _is_refused(mailed.browser().get(_url(mailed, key)), used)
    events = _types(mailed.events())
    assert events.count(("VERIFY_EMAIL", None)) == 1
    assert events.count(("VERIFY_EMAIL_ERROR", "expired_code")) == 8


def _url(mailed: MailedRealm, key: str) -> str:
    return f"/realms/{mailed.realm.name}/login-actions/action-token?key={key}"


def _changed_claims(key: str, **claims: Any) -> str:
    head, _, signature = key.split(".")
    sent = json.dumps({**claims_of(key), **claims}).encode()
    return f"{head}.{base64.urlsafe_b64encode(sent).decode().rstrip('=')}.{signature}"


def test_a_link_that_no_gateway_of_the_realm_made_is_refused(mailed: MailedRealm) -> None:
    user = mailed.add("forged")
    _ask(mailed, user)
    key = key_of(mailed.link("forged@example.org"))
    browser = mailed.browser()
    mailed.add("tokened")
    tokens = browser.redeem(browser.sign_in("tokened").answer["code"]).json()
    mailed.events()
    wrong = [
        key[:-1],
        key[:40],
        key.rpartition(".")[0],
        f"{key}x",
        _LONG,
        "a.b.c",
        "\N{PILE OF POO}",
        _changed_claims(key, sub=user),
        _changed_claims(key, exp=2**40),
        _changed_claims(key, typ="execute-actions"),
        str(tokens["access_token"]),
        str(tokens["refresh_token"]),
    ]
    for given in wrong:
        page = _post(mailed.browser(), given)
        assert _is_refused(page, _INVALID), (given[:60], page.status, page.text)
    assert _is_refused(mailed.browser().get(_url(mailed, key[:-1])), _INVALID)
    assert _is_refused(mailed.browser().get(_url(mailed, "")), "Invalid request")
    assert set(_types(mailed.events())) == {
        ("EXECUTE_ACTION_TOKEN_ERROR", "invalid_token"),
        ("EXECUTE_ACTION_TOKEN_ERROR", "not_allowed"),
    }
    other = SignInBrowser(mailed.realm.administration.http, "guarded")
    assert _is_refused(_post(other, key), _INVALID)
    assert mailed.realm.get(user)["emailVerified"] is False
    own_site = mailed.browser(Origin="https://evil.example")
    assert _post(own_site, key).status == 403
    assert "has been verified" in _post(mailed.browser(), key).text


def test_a_token_of_a_link_opens_nothing_else(mailed: MailedRealm) -> None:
    """attacks: C15."""
    user = mailed.add("typed")
    _ask(mailed, user)
    key = key_of(mailed.link("typed@example.org"))
    http = mailed.realm.administration.http
    bearer = {"Authorization": f"Bearer {key}"}
    path = f"/realms/{mailed.realm.name}/protocol/openid-connect"
    assert http.get(f"{path}/userinfo", headers=bearer).status_code == 401
    assert http.get(f"/admin/realms/{mailed.realm.name}", headers=bearer).status_code == 401
    form = {
        "client_id": "app",
        "client_secret": SECRET,
        "grant_type": "refresh_token",
        "refresh_token": key,
    }
    refused = http.post(f"{path}/token", data=form)
    assert refused.status_code == 400, refused.text
    browser = mailed.browser()
    browser.cookies["KEYCLOAK_IDENTITY"] = key
    assert browser.open().id == "login"


def test_a_link_ends_with_what_it_was_sent_for(mailed: MailedRealm) -> None:
    names = ("moved", "closed", "removed", "logged-out", "clientless", "listed")
    users = {name: mailed.add(name) for name in names}
    client = mailed.realm.change("POST", "clients", {"clientId": "passing", "enabled": True})
    for name, user in users.items():
        query = "?client_id=passing" if name == "clientless" else ""
        path = "execute-actions-email" if name == "listed" else "send-verify-email"
        actions = ["UPDATE_PROFILE"] if name == "listed" else None
        mailed.realm.change("PUT", f"{user}/{path}{query}", actions)
    links = {name: mailed.link(f"{name}@example.org") for name in names}
    mailed.realm.change("PUT", users["moved"], {"email": "other@example.org"})
    mailed.realm.change("PUT", users["closed"], {"enabled": False})
    mailed.realm.change("DELETE", users["removed"])

    def is_ended() -> bool:
        """Log the user out: it counts from the second after that of the link."""
        mailed.realm.change("POST", f"{users['logged-out']}/logout")
        return mailed.browser().get(links["logged-out"]).status == 400

    until(is_ended, "a logout does not end the link")
    mailed.realm.change("DELETE", f"clients/{client}")
    action = mailed.realm.get("authentication/required-actions/UPDATE_PROFILE")
    path = "authentication/required-actions/UPDATE_PROFILE"
    mailed.realm.change("PUT", path, {**action, "enabled": False})
    mailed.events()
    said = {
        "moved": "an old stale link",
        "closed": "Account is disabled",
        "removed": _INVALID,
        "logged-out": "Action expired.",
        "clientless": "Client not found.",
        "listed": "Required actions included in the link are not valid.",
    }
    for name, text in said.items():
        assert _is_refused(mailed.browser().get(links[name]), text), name
        assert _is_refused(_post(mailed.browser(), key_of(links[name])), text), name
    mailed.realm.change("PUT", path, action)
    assert _types(mailed.events())[::2] == [
        ("VERIFY_EMAIL_ERROR", "invalid_email"),
        ("VERIFY_EMAIL_ERROR", "user_disabled"),
        ("VERIFY_EMAIL_ERROR", "user_not_found"),
        ("VERIFY_EMAIL_ERROR", "expired_code"),
        ("VERIFY_EMAIL_ERROR", "client_not_found"),
        ("EXECUTE_ACTIONS_ERROR", "resolve_required_actions"),
    ]


def test_a_link_lasts_as_long_as_it_says(mailed: MailedRealm) -> None:
    user = mailed.add("brief")
    _ask(mailed, user, "?lifespan=1")
    link = mailed.link("brief@example.org")

    def expired() -> bool:
        return mailed.browser().get(link).status == 400

    until(expired, "the link does not expire")
    assert _is_refused(_post(mailed.browser(), key_of(link)), "Action expired.")
    assert ("EXECUTE_ACTION_TOKEN_ERROR", "expired_code") in _types(mailed.events())
    assert mailed.realm.get(user)["emailVerified"] is False


def test_a_link_is_of_no_use_where_another_user_is_signed_in(mailed: MailedRealm) -> None:
    user = mailed.add("owner")
    mailed.add("neighbor")
    _ask(mailed, user)
    link = mailed.link("owner@example.org")
    browser = mailed.browser()
    assert browser.sign_in("neighbor").answer["code"]
    for page in (browser.get(link), _post(browser, key_of(link))):
        assert _is_refused(page, "already authenticated as different user 'neighbor'")
    error = ("VERIFY_EMAIL_ERROR", "different_user_authenticated")
    assert _types(mailed.events())[-2:] == [error, error]
    assert mailed.realm.get(user)["emailVerified"] is False


def test_the_page_of_a_link_is_shown_in_the_language_of_choice(mailed: MailedRealm) -> None:
    user = mailed.add("polyglot")
    _ask(mailed, user)
    link = mailed.link("polyglot@example.org")
    page = mailed.browser().get(with_query(link, kc_locale="de"))
    assert "Bestätigen Sie, dass die E-Mail-Adresse polyglot@example.org gültig ist." in page.text


def test_a_planted_cookie_is_not_worth_the_link(mailed: MailedRealm) -> None:
    user = mailed.add("planted")
    mailed.realm.change("PUT", f"{user}/reset-password-email")
    attacker = mailed.browser()
    attacker.open()
    victim = mailed.browser()
    victim.cookies.update(attacker.cookies)
    page = follow(victim, mailed.link("planted@example.org"))
    assert page.id == "login-update-password"
    new = {"password-new": "another-Passw0rd", "password-confirm": "another-Passw0rd"}
    assert attacker.submit(page, **new).id != "info"
    assert victim.submit(page, **new).id == "info"
