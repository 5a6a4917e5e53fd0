"""UPDATE_EMAIL: users change their address by a link to the new one. Keycloak: 16.1."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pyotp
import pytest

from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.mailed_links import MailedRealm, follow, mailed_realm
from tests.support.one_time_devices import base32
from tests.support.own_account import FOR_ACCOUNT
from tests.support.sign_in_browser import SignInBrowser, web_client
from tests.support.wire import claims_of

_ACTION = "authentication/required-actions/UPDATE_EMAIL"
_ACCOUNT_CLIENT = {
    "clientId": "own-account",
    "publicClient": True,
    "directAccessGrantsEnabled": True,
    "protocolMappers": [FOR_ACCOUNT],
}


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm whose users may change their addresses, which are verified."""
    clients = [web_client("app", baseUrl="https://app.example.test/home"), _ACCOUNT_CLIENT]
    settings = {"verifyEmail": True, "clients": clients}
    with mailed_realm(administration, "changing-addresses", {}, **settings) as realm:
        found = realm.realm.get(_ACTION)
        realm.realm.change("PUT", _ACTION, {**found, "enabled": True})
        yield realm


@pytest.fixture(autouse=True)
def nothing_yet(mailed: MailedRealm) -> None:
    mailed.events()


@contextmanager
def _configured(mailed: MailedRealm, **config: str) -> Iterator[None]:
    before = mailed.realm.get(_ACTION)
    mailed.realm.change("PUT", _ACTION, {**before, "config": config})
    yield
    mailed.realm.change("PUT", _ACTION, before)


def _types(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in events]


def _emails(mailed: MailedRealm, user: str) -> tuple[str | None, bool]:
    found = mailed.realm.get(user)
    return found.get("email"), found["emailVerified"]


def test_the_address_changes_by_the_link_to_the_new_one(mailed: MailedRealm) -> None:
    ada = mailed.add("ada", requiredActions=["UPDATE_EMAIL", "VERIFY_EMAIL"])
    other = mailed.browser()
    with mailed.changed(verifyEmail=False):
        mailed.realm.change("PUT", ada, {"requiredActions": []})
        assert other.sign_in("ada").answer["code"]
        mailed.realm.change("PUT", ada, {"requiredActions": ["UPDATE_EMAIL", "VERIFY_EMAIL"]})
    browser = mailed.browser()
    page = browser.sign_in("ada")
    assert page.id == "update-email"
    assert page.message == "You need to update your email address to activate your account."
    assert page.form.fields["email"] == "ada@example.org"
    page = browser.submit(page, email=" Ada.New@Example.org ")
    assert (page.message or "").startswith(
        "A confirmation email has been sent to ada.new@example.org."
    )
    assert _emails(mailed, ada) == ("ada@example.org", False)
    waiting = {"kc.email.pending": ["ada.new@example.org"]}
    assert mailed.realm.get(ada)["attributes"] == waiting
    mailed.events()
    shown = mailed.browser().get(mailed.link("ada.new@example.org"))
    assert "Confirm that ada.new@example.org is the new email address" in shown.text
    done = mailed.browser().submit(shown)
    assert "Email updated" in done.text
    assert "successfully updated to ada.new@example.org." in done.text
    assert _emails(mailed, ada) == ("ada.new@example.org", True)
    assert mailed.realm.get(ada)["requiredActions"] == []
    assert "attributes" not in mailed.realm.get(ada)
    assert other.open(prompt="none").answer["error"] == "login_required"
    (event,) = mailed.events()
    assert (event["type"], event["details"]["previous_email"]) == (
        "UPDATE_EMAIL",
        "ada@example.org",
    )
    assert event["details"]["updated_email"] == "ada.new@example.org"
    assert browser.submit(page).answer["code"]


def test_only_the_last_link_counts_and_admins_can_cancel_it(
    mailed: MailedRealm,
) -> None:
    bea = mailed.add("bea", requiredActions=["UPDATE_EMAIL"])
    browser = mailed.browser()
    page = browser.sign_in("bea")
    with _configured(mailed, emailResendCooldownSeconds="0"):
        page = browser.submit(page, email="bea1@example.org")
        page = browser.submit(page, email="bea2@example.org")
    again = mailed.browser().sign_in("bea")
    assert (again.message or "").startswith("A confirmation email was sent to bea2@example.org.")
    cancelled = "The change of the email address was cancelled."
    first = follow_or_error(mailed, mailed.link("bea1@example.org"))
    assert cancelled in first
    mailed.realm.change("PUT", bea, {"email": "bea@example.org", "attributes": {}})
    assert cancelled in follow_or_error(mailed, mailed.link("bea2@example.org"))
    assert _emails(mailed, bea) == ("bea@example.org", False)


def follow_or_error(mailed: MailedRealm, link: str) -> str:
    """Return the text of the page of a link that has no effect."""
    page = mailed.browser().get(link)
    assert page.status == 400
    return page.text


def _end_all(mailed: MailedRealm, name: str, query: str = "") -> None:
    http, base = mailed.realm.administration.http, f"/realms/{mailed.realm.name}"
    form = {"grant_type": "password", "client_id": "own-account", "username": name}
    answer = http.post(
        f"{base}/protocol/openid-connect/token", data=form | {"password": PASSWORD}
    ).json()
    headers = {"Authorization": f"Bearer {answer['access_token']}"}
    sessions = http.get(f"{base}/account/sessions", headers=headers).json()
    if query == "one":
        paths = [f"sessions/{each['id']}" for each in sessions if "current" not in each]
    else:
        paths = [f"sessions{query}"]
    for path in paths:
        ended = http.delete(f"{base}/account/{path}", headers=headers)
        assert ended.status_code == httpx2.codes.NO_CONTENT, ended.text


def _enroll_and_end_others(mailed: MailedRealm, name: str) -> None:
    browser = mailed.browser()
    assert browser.sign_in(name).answer["code"]
    page = browser.open(kc_action="CONFIGURE_TOTP")
    code = pyotp.TOTP(base32(page.form.fields["totpSecret"])).now()
    fields = {"totp": code, "userLabel": "Phone", "logout-sessions": "on"}
    assert browser.submit(page, **fields).answer["code"]


_ENDINGS: dict[str, Callable[[MailedRealm, str], None]] = {
    "all": lambda mailed, name: _end_all(mailed, name, "?current=true"),
    "others": _end_all,
    "one": lambda mailed, name: _end_all(mailed, name, "one"),
    "enrolled": _enroll_and_end_others,
}


@pytest.mark.parametrize("ending", _ENDINGS)
def test_a_link_ends_with_the_sessions_that_its_user_ends(mailed: MailedRealm, ending: str) -> None:
    """A thief in a session of the user has asked for it."""
    name, names = f"gil-{ending}", {"firstName": "G", "lastName": "L"}
    user = mailed.add(name, emailVerified=True, **names)
    thief = mailed.browser()
    assert thief.sign_in(name).answer["code"]
    address = f"thief-{ending}@example.org"
    thief.submit(thief.open(kc_action="UPDATE_EMAIL"), email=address)
    link = mailed.link(address)
    opened = mailed.browser().get(link)
    assert opened.status == 200
    _ENDINGS[ending](mailed, name)
    assert "The change of the email address was cancelled." in follow_or_error(mailed, link)
    assert mailed.browser().submit(opened).status == 400
    assert _emails(mailed, user) == (f"{name}@example.org", True)


_Tokens = dict[str, Any]


def _admin(method: str, path: str) -> Callable[[MailedRealm, str, SignInBrowser, _Tokens], None]:
    def end(mailed: MailedRealm, user: str, _thief: SignInBrowser, tokens: _Tokens) -> None:
        named = path.format(user=user, session=claims_of(tokens["id_token"])["sid"])
        mailed.realm.change(method, named)

    return end


def _posted(path: str, field: str) -> Callable[[MailedRealm, str, SignInBrowser, _Tokens], None]:
    def end(_mailed: MailedRealm, _user: str, thief: SignInBrowser, tokens: _Tokens) -> None:
        form = {"client_id": "app", "client_secret": SECRET, field: tokens["refresh_token"]}
        answer = thief.http.post(thief.protocol(path), data=form)
        assert answer.is_success, answer.text

    return end


def _signed_out(_mailed: MailedRealm, _user: str, thief: SignInBrowser, tokens: _Tokens) -> None:
    url = httpx2.URL(thief.protocol("logout"), params={"id_token_hint": tokens["id_token"]})
    assert thief.get(str(url)).status in {200, 302}


_ENDS_OF_THE_SESSION = {
    "session ended by an administrator": _admin("DELETE", "sessions/{session}"),
    "user signed out by an administrator": _admin("POST", "{user}/logout"),
    "signed out at the application": _signed_out,
    "logout with the refresh token": _posted("logout", "refresh_token"),
    "refresh token of the last client revoked": _posted("revoke", "token"),
    "realm signed out": _admin("POST", "logout-all"),
}


def _asked_in_a_session(
    mailed: MailedRealm, name: str
) -> tuple[str, SignInBrowser, _Tokens, str, str]:
    """Return the user, the browser, its tokens and the link; the same second ends no link."""
    names = {"firstName": "G", "lastName": "L"}
    user = mailed.add(name, emailVerified=True, **names)
    browser = mailed.browser()
    tokens = browser.redeem(browser.sign_in(name).answer["code"]).json()
    address = f"new-{name}@example.org"
    browser.submit(browser.open(kc_action="UPDATE_EMAIL"), email=address)
    return user, browser, tokens, address, mailed.link(address)


@pytest.mark.parametrize("ending", _ENDS_OF_THE_SESSION)
def test_a_link_ends_with_the_session_it_was_asked_for_in(mailed: MailedRealm, ending: str) -> None:
    """Ended at once: notBefore, in whole seconds, says nothing of a link of the same second."""
    name = f"hal-{list(_ENDS_OF_THE_SESSION).index(ending)}"
    user, thief, tokens, _, link = _asked_in_a_session(mailed, name)
    opened = mailed.browser().get(link)
    assert opened.status == 200, opened.text
    _ENDS_OF_THE_SESSION[ending](mailed, user, thief, tokens)
    assert "The change of the email address was cancelled." in follow_or_error(mailed, link)
    assert mailed.browser().submit(opened).status == 400
    assert _emails(mailed, user) == (f"{name}@example.org", True)


def test_the_end_of_another_session_leaves_a_link(mailed: MailedRealm) -> None:
    user, _, _, address, link = _asked_in_a_session(mailed, "ida")
    other = mailed.browser()
    tokens = other.redeem(other.sign_in("ida").answer["code"]).json()
    _admin("DELETE", "sessions/{session}")(mailed, user, other, tokens)
    assert follow(mailed.browser(), link).status == 200
    assert _emails(mailed, user) == (address, True)


@pytest.mark.parametrize("ending", ["cancelled and ended", "signed out"])
def test_a_link_of_a_sign_in_without_a_session_ends(mailed: MailedRealm, ending: str) -> None:
    """The sign-in has asked for it at a required action, before its session begins."""
    name = f"jo-{ending[:4]}"
    names = {"firstName": "J", "lastName": "O"}
    user = mailed.add(name, emailVerified=True, **names)
    thief = mailed.browser()
    page = thief.sign_in(name, kc_action="UPDATE_EMAIL")
    page = thief.submit(page, email=f"new-{name}@example.org")
    link = mailed.link(f"new-{name}@example.org")
    if ending == "cancelled and ended":
        answer = thief.submit(page, **{"cancel-aia": "true"}).answer
        tokens = thief.redeem(answer["code"]).json()
        _admin("DELETE", "sessions/{session}")(mailed, user, thief, tokens)
    else:
        mailed.realm.change("POST", f"{user}/logout")
    assert "attributes" not in mailed.realm.get(user)  # of a link of the same second, too
    assert follow_or_error(mailed, link)
    assert _emails(mailed, user) == (f"{name}@example.org", True)


def test_an_address_that_may_not_be_is_said_and_nothing_is_sent(mailed: MailedRealm) -> None:
    mailed.add("cleo", requiredActions=["UPDATE_EMAIL"])
    mailed.add("taken")
    browser = mailed.browser()
    page = browser.sign_in("cleo")
    with _configured(mailed, emailResendCooldownSeconds="0"):
        page = browser.submit(page, email="no address")
        assert page.message == "Invalid email address."
        page = browser.submit(page, email="taken@example.org")
        assert page.message == "Email already exists."
    page = browser.submit(page, email="cleo2@example.org")
    page = browser.submit(page, email="cleo3@example.org")
    assert (page.message or "").startswith("You must wait ")
    assert [kind for kind, _ in _types(mailed.events())] == ["SEND_VERIFY_EMAIL"]
    mailed.add("late", email="cleo2@example.org")
    refused = follow(mailed.browser(), mailed.link("cleo2@example.org"))
    assert (refused.status, "Email already exists." in refused.text) == (400, True)


def test_without_verification_the_address_changes_at_once(mailed: MailedRealm) -> None:
    dan = mailed.add("dan", emailVerified=True)
    with mailed.changed(verifyEmail=False):
        browser = mailed.browser()
        page = browser.sign_in("dan", kc_action="UPDATE_EMAIL")
        done = browser.submit(page, email="dan2@example.org")
        assert done.answer["kc_action_status"] == "success"
        assert _emails(mailed, dan) == ("dan2@example.org", False)
        with _configured(mailed, verifyEmail="true"):
            again = browser.open(kc_action="UPDATE_EMAIL")
            page = browser.submit(again, email="dan3@example.org")
            assert (page.message or "").startswith("A confirmation email has been sent")
    assert _emails(mailed, dan) == ("dan2@example.org", False)
    kinds = _types(mailed.events())
    assert kinds == [
        ("UPDATE_EMAIL", None),
        ("LOGIN", None),
        ("SEND_VERIFY_EMAIL", None),
    ]


def test_a_user_who_may_not_change_the_address_is_not_asked(mailed: MailedRealm) -> None:
    profile = mailed.realm.get("users/profile")
    for attribute in profile["attributes"]:
        if attribute["name"] == "email":
            attribute["permissions"] = {"view": ["admin", "user"], "edit": ["admin"]}
    names = {"firstName": "Eve", "lastName": "Evers", "emailVerified": True}
    mailed.add("eve", requiredActions=["UPDATE_EMAIL"], **names)
    before = mailed.realm.get("users/profile")
    with mailed.changed(attributes={"userProfileEnabled": "true"}):
        mailed.realm.change("PUT", "users/profile", profile)
        done = mailed.browser().sign_in("eve")
        mailed.realm.change("PUT", "users/profile", before)
    assert done.answer["code"]
