"""Attempts to take over an account, or to learn of one, by what users do with their own accounts.

attacks: D3, D10, E3, E8.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from gateway.domain.limits.rate_limits import LINKS, RESETS_OF_USER
from gateway.domain.mail import MOST_NOTIFICATIONS_OF_USER
from tests.support.administration import Administration
from tests.support.mailed_links import MailedRealm, follow, mailed_realm
from tests.support.own_account import FOR_ACCOUNT, OwnAccount
from tests.support.sign_in_browser import Page, SignInBrowser, query_of, web_client

_CODES: Final = r"(session_code|tab_id|execution|client_data)=[^&\"]*"
NEW: Final = "another-Passw0rd"
NAMES: Final = {"firstName": "Ada", "lastName": "Lovelace"}
UPDATE_EMAIL: Final = "authentication/required-actions/UPDATE_EMAIL"
VERIFY: Final = "You need to verify your email address to activate your account."
NOT_SENT: Final = "Failed to send email, please try again later."


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm in which users do everything themselves, and addresses are verified."""
    page = {
        "clientId": "page",
        "publicClient": True,
        "directAccessGrantsEnabled": True,
        "protocolMappers": [FOR_ACCOUNT],
    }
    settings: dict[str, Any] = {
        "attributes": {},
        "verifyEmail": True,
        "registrationAllowed": True,
        "resetPasswordAllowed": True,
        "clients": [web_client("app"), page],
    }
    with mailed_realm(administration, "hostile-accounts", {}, **settings) as realm:
        found = realm.realm.get(UPDATE_EMAIL)
        realm.realm.change("PUT", UPDATE_EMAIL, {**found, "enabled": True})
        yield realm


@pytest.fixture(scope="module")
def account(mailed: MailedRealm) -> OwnAccount:
    return OwnAccount(mailed.realm)


def _verified(mailed: MailedRealm, username: str, **fields: Any) -> str:
    return mailed.add(username, emailVerified=True, **NAMES, **fields)


def _asks_for_reset(mailed: MailedRealm, username: str) -> tuple[SignInBrowser, Page]:
    browser = mailed.browser()
    page = browser.open()
    path = page.form.action.replace("login-actions/authenticate", "login-actions/reset-credentials")
    page = browser.get(path)
    return browser, browser.submit(page, username=username)


def _sets_password(browser: SignInBrowser, page: Page) -> Page:
    assert page.id == "login-update-password", page.text
    return browser.submit(page, **{"password-new": NEW, "password-confirm": NEW})


def test_with_links_an_address_changes_only_by_its_link(
    mailed: MailedRealm, account: OwnAccount
) -> None:
    """Not by the account API, whose token may be stolen, nor by another form."""
    user = _verified(mailed, "ada")
    token = account.token("ada")
    own = account.get("", token)
    [shown] = [one for one in own["userProfileMetadata"]["attributes"] if one["name"] == "email"]
    assert shown["readOnly"] is True
    assert account.ask("POST", "", token, json=own).status_code == 204
    answer = account.ask("POST", "", token, json={**own, "email": "mallory@example.org"})
    assert answer.status_code == 400, answer.text
    found = mailed.realm.get(user)
    assert (found["email"], found["emailVerified"]) == ("ada@example.org", True)
    mailed.realm.change("PUT", user, {"requiredActions": ["UPDATE_PROFILE"]})
    browser = mailed.browser()
    page = browser.sign_in("ada")
    browser.submit(page, email="mallory@example.org")
    found = mailed.realm.get(user)
    assert (found["email"], found["emailVerified"]) == ("ada@example.org", True)


def test_an_immutable_name_does_not_follow_the_address(
    mailed: MailedRealm, account: OwnAccount
) -> None:
    user = _verified(mailed, "bob@example.org", email="bob@example.org")
    token = account.token("bob@example.org")
    found = mailed.realm.get(UPDATE_EMAIL)
    mailed.realm.change("PUT", UPDATE_EMAIL, {**found, "enabled": False})
    with mailed.changed(registrationEmailAsUsername=True, editUsernameAllowed=False):
        own = account.get("", token)
        account.ask("POST", "", token, json={**own, "email": "admin@example.org"})
    mailed.realm.change("PUT", UPDATE_EMAIL, found)
    assert mailed.realm.get(user)["username"] == "bob@example.org"


def test_a_link_is_void_after_a_password_change(
    mailed: MailedRealm,
) -> None:
    """Who had the account for a moment does not get it back."""
    user = _verified(mailed, "carl", requiredActions=["UPDATE_EMAIL"])
    thief = mailed.browser()
    page = thief.sign_in("carl")
    assert page.id == "update-email"
    thief.submit(page, email="thief@example.org")
    link = mailed.link("thief@example.org")
    owner, _ = _asks_for_reset(mailed, "carl")
    mailed.realm.change("PUT", user, {"requiredActions": []})
    _sets_password(owner, follow(owner, mailed.link("carl@example.org")))
    page = mailed.browser().get(link)
    assert "The change of the email address was cancelled." in page.text
    assert mailed.realm.get(user)["email"] == "carl@example.org"


def _registers(mailed: MailedRealm, name: str, address: str) -> tuple[SignInBrowser, Page]:
    browser = mailed.browser()
    page = browser.open(prompt="create")
    fields = {"username": name, "email": address, **NAMES}
    return browser, browser.submit(page, **fields, password=NEW, **{"password-confirm": NEW})


def test_registrations_of_a_stranger_keep_no_other_mail_back(mailed: MailedRealm) -> None:
    _verified(mailed, "dora")
    for number in range(11):
        _, page = _registers(mailed, f"stranger-{number}", "dora@example.org")
        assert page.id == "register-confirm"
    _asks_for_reset(mailed, "dora")
    expected = MOST_NOTIFICATIONS_OF_USER + 1
    subjects = [mail["subject"] for mail in mailed.mails("dora@example.org", expected)]
    assert subjects.count("You already have an account") == MOST_NOTIFICATIONS_OF_USER
    assert "Reset password" in subjects


def test_the_owner_of_an_address_sees_whose_account_it_confirms(mailed: MailedRealm) -> None:
    """A stranger has registered it. The owner who opens the link is not signed in to it."""
    _registers(mailed, "mallory", "fay@example.org")
    [mail] = mailed.mails("fay@example.org")
    text = mail.get_body(("plain",))
    assert text is not None
    assert "If you didn't create this account, just ignore this message." in text.get_content()
    owner = mailed.browser()
    shown = owner.get(mailed.link("fay@example.org"))
    named = "the verified address of the account mallory of Acme <b>North</b>."
    assert named in shown.text
    assert "If you did not create this account, do nothing" in shown.text
    assert mailed.realm.get(f"users/{mailed.user_id('mallory')}")["emailVerified"] is False
    done = owner.submit(shown)
    assert (done.status, done.id) == (200, "info")
    assert "KEYCLOAK_IDENTITY" not in owner.cookies
    assert owner.open().id == "login"


@pytest.mark.parametrize("leads", ["reset-credentials", "restart", "authenticate", "registration"])
def test_no_other_page_of_the_tab_reveals_a_created_account(
    mailed: MailedRealm, leads: str
) -> None:
    _verified(mailed, f"emil-{leads}")
    seen = []
    for number, owner in enumerate((f"emil-{leads}", f"free-{leads}")):
        name = f"new-{number}-{leads}"
        browser, page = _registers(mailed, name, f"{owner}@example.org")
        query = query_of(str(page.response.request.url))
        path = f"/realms/{mailed.realm.name}/login-actions/{leads}"
        shown = browser.get(f"{path}?client_id=app&tab_id={query['tab_id']}")
        if shown.status == 302:
            shown = browser.get(shown.location)
        text = re.sub(_CODES, "", shown.html).replace(owner, "")
        seen.append((shown.status, name in shown.html, text))
    assert seen[0] == seen[1]


def test_attributes_of_the_gateway_are_not_the_users(
    mailed: MailedRealm, account: OwnAccount
) -> None:
    profile = mailed.realm.get("users/profile")
    mailed.realm.change("PUT", "users/profile", {**profile, "unmanagedAttributePolicy": "ENABLED"})
    user = _verified(mailed, "fred")
    token = account.token("fred")
    own = account.get("", token)
    for name in ("kc.email.pending", "LDAP_ID", "userCertificate"):
        account.ask("POST", "", token, json={**own, "attributes": {name: ["1"]}})
    mailed.realm.change("PUT", "users/profile", profile)
    assert mailed.realm.get(user).get("attributes", {}) == {}


def test_users_of_many_accounts_cannot_flood_another_mailbox(mailed: MailedRealm) -> None:
    """attacks: E8."""
    found = mailed.realm.get(UPDATE_EMAIL)
    at_once = {**found, "config": {"emailResendCooldownSeconds": "1"}}
    mailed.realm.change("PUT", UPDATE_EMAIL, at_once)
    shown = []
    for number in range(LINKS.of_network + 2):
        _verified(mailed, f"flooder-{number}", requiredActions=["UPDATE_EMAIL"])
        browser = mailed.browser()
        page = browser.submit(browser.sign_in(f"flooder-{number}"), email=" Victim@Other.test")
        shown.append(page.message)
    mailed.realm.change("PUT", UPDATE_EMAIL, found)
    assert shown[LINKS.of_network :] == [NOT_SENT] * 2
    assert len(mailed.mails("victim@other.test", LINKS.of_network)) == LINKS.of_network


def test_resets_that_strangers_ask_for_keep_no_other_mail_back(mailed: MailedRealm) -> None:
    """The user who is signing in gets the link that verifies the address. attacks: E8."""
    mailed.add("gina", **NAMES)
    most = RESETS_OF_USER.of_network
    for _ in range(most + 1):
        _asks_for_reset(mailed, "gina")
    page = mailed.browser().sign_in("gina")
    assert (page.id, page.message) == ("login-verify-email", VERIFY)
    subjects = [mail["subject"] for mail in mailed.mails("gina@example.org", most + 1)]
    assert sorted(set(subjects)) == ["Reset password", "Verify email"]


def test_links_by_strangers_do_not_use_up_the_owners_limit(
    mailed: MailedRealm,
) -> None:
    """The stranger wants to change to an address that is taken. attacks: E8."""
    mailed.add("hugo", **NAMES)
    found = mailed.realm.get(UPDATE_EMAIL)
    without_pause = {**found, "config": {"emailResendCooldownSeconds": "0"}}
    mailed.realm.change("PUT", UPDATE_EMAIL, without_pause)
    _verified(mailed, "stranger", requiredActions=["UPDATE_EMAIL"])
    stranger = mailed.browser()
    page = stranger.sign_in("stranger")
    for _ in range(LINKS.of_network + 1):
        page = stranger.submit(page, email="hugo@example.org")
    mailed.realm.change("PUT", UPDATE_EMAIL, found)
    assert page.message == NOT_SENT
    page = mailed.browser().sign_in("hugo")
    assert (page.id, page.message) == ("login-verify-email", VERIFY)
    assert mailed.link("hugo@example.org")


def test_no_user_keeps_the_address_of_another_person_as_name(
    mailed: MailedRealm, account: OwnAccount
) -> None:
    """By changing to the address for a moment: it is the user's once it is verified."""
    user = _verified(mailed, "ivan")
    token = account.token("ivan")
    own = {"username": "ivan", "email": "ivan@example.org", **NAMES}
    found = mailed.realm.get(UPDATE_EMAIL)
    mailed.realm.change("PUT", UPDATE_EMAIL, {**found, "enabled": False})
    with mailed.changed(editUsernameAllowed=True):
        taken = {**own, "username": "jana@other.test", "email": "jana@other.test"}
        refused = account.ask("POST", "", token, json=taken)
        proven = account.ask("POST", "", token, json={**own, "username": "ivan@example.org"})
    mailed.realm.change("PUT", UPDATE_EMAIL, found)
    assert refused.status_code == 400, refused.text
    assert refused.json()["field"] == "username"
    assert proven.status_code == 204, proven.text
    assert mailed.realm.get(user)["username"] == "ivan@example.org"


@pytest.mark.parametrize("name", ["\uff49van", "\u017fam", "kate\uff20other.test"])
def test_a_name_is_none_that_applications_take_for_another(mailed: MailedRealm, name: str) -> None:
    """Many of them compare names in the form NFKC. Spec: RFC 8265 §3.3."""
    _, page = _registers(mailed, name, "kate@example.org")
    assert page.id == "register"
    assert "Value contains invalid character." in page.text
