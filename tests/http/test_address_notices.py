"""The mail to the previous address of a user who changes it. attacks: E8."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from gateway.domain.mail import MOST_NOTIFICATIONS_OF_USER
from tests.support.administration import PASSWORD, Administration
from tests.support.mailed_links import MailedRealm, follow, mailed_realm
from tests.support.own_account import FOR_ACCOUNT, OwnAccount
from tests.support.sign_in_browser import web_client

NAMES: Final = {"firstName": "Ada", "lastName": "Lovelace"}
UPDATE_EMAIL: Final = "authentication/required-actions/UPDATE_EMAIL"
SUBJECT: Final = "Email address changed"


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm whose users change their addresses at once."""
    page = {
        "clientId": "page",
        "publicClient": True,
        "directAccessGrantsEnabled": True,
        "protocolMappers": [FOR_ACCOUNT],
    }
    settings: dict[str, Any] = {
        "attributes": {},
        "internationalizationEnabled": True,
        "supportedLocales": ["en", "de"],
        "clients": [web_client("app"), page],
    }
    with mailed_realm(administration, "notices", {}, **settings) as realm:
        yield realm


@pytest.fixture(scope="module")
def account(mailed: MailedRealm) -> OwnAccount:
    return OwnAccount(mailed.realm)


def _change_by_action(mailed: MailedRealm, name: str) -> None:
    found = mailed.realm.get(UPDATE_EMAIL)
    mailed.realm.change("PUT", UPDATE_EMAIL, {**found, "enabled": True})
    browser = mailed.browser()
    page = browser.sign_in(name, kc_action="UPDATE_EMAIL")
    assert browser.submit(page, email=f"{name}.new@example.org").answer["code"]
    mailed.realm.change("PUT", UPDATE_EMAIL, found)


def _change_by_link(mailed: MailedRealm, name: str) -> None:
    found = mailed.realm.get(UPDATE_EMAIL)
    verifying = {**found, "enabled": True, "config": {"verifyEmail": "true"}}
    mailed.realm.change("PUT", UPDATE_EMAIL, verifying)
    browser = mailed.browser()
    browser.submit(browser.sign_in(name, kc_action="UPDATE_EMAIL"), email=f"{name}.new@example.org")
    assert follow(mailed.browser(), mailed.link(f"{name}.new@example.org")).status == 200
    mailed.realm.change("PUT", UPDATE_EMAIL, found)


def _change_by_profile(mailed: MailedRealm, name: str) -> None:
    user = f"users/{mailed.user_id(name)}"
    mailed.realm.change("PUT", user, {"requiredActions": ["UPDATE_PROFILE"]})
    browser = mailed.browser()
    assert browser.submit(browser.sign_in(name), email=f"{name}.new@example.org").answer["code"]


def _change_in_console(mailed: MailedRealm, name: str) -> None:
    console = f"/realms/{mailed.realm.name}/account/personal-info"
    browser = mailed.browser()
    browser.submit(browser.get(console), username=name, password=PASSWORD)
    form = browser.get(console).form
    browser.post(console, {**form.fields, "email": f"{name}.new@example.org"})


def _change_by_api(mailed: MailedRealm, name: str) -> None:
    account = OwnAccount(mailed.realm)
    token = account.token(name)
    own = {**account.get("", token), "email": f"{name}.new@example.org"}
    assert account.ask("POST", "", token, json=own).status_code == 204


@pytest.mark.parametrize(
    "change",
    [_change_by_action, _change_by_link, _change_by_profile, _change_in_console, _change_by_api],
)
def test_the_previous_address_is_notified(mailed: MailedRealm, change: Any) -> None:
    """The mail does not name the new address."""
    name = change.__name__.strip("_")
    user = mailed.add(name, emailVerified=True, **NAMES)
    change(mailed, name)
    assert mailed.realm.get(user)["email"] == f"{name}.new@example.org"
    [mail] = mailed.mails(f"{name}@example.org")
    assert mail["subject"] == SUBJECT
    text = mail.get_body(("plain",))
    html = mail.get_body(("html",))
    assert text is not None
    assert html is not None
    assert "your Acme <b>North</b> account was changed on " in text.get_content()
    assert "your Acme &lt;b&gt;North&lt;/b&gt; account was changed on " in html.get_content()
    assert ".new@" not in text.get_content() + html.get_content()


def test_a_profile_with_the_same_address_causes_no_mail(
    mailed: MailedRealm, account: OwnAccount
) -> None:
    mailed.add("same", emailVerified=True, **NAMES)
    token = account.token("same")
    own = account.get("", token)
    for sent in ({**own, "lastName": "King"}, {**own, "email": "same2@example.org"}):
        assert account.ask("POST", "", token, json=sent).status_code == 204
    assert [mail["subject"] for mail in mailed.mails("same@example.org")] == [SUBJECT]


def test_the_mail_is_in_the_language_before_the_change(
    mailed: MailedRealm, account: OwnAccount
) -> None:
    mailed.add("greta", attributes={"locale": ["de"]}, **NAMES)
    token = account.token("greta")
    changed = {"email": "greta.new@example.org", "attributes": {"locale": ["en"]}}
    answer = account.ask("POST", "", token, json={**account.get("", token), **changed})
    assert answer.status_code == 204
    [mail] = mailed.mails("greta@example.org")
    assert mail["subject"] == "E-Mail-Adresse geändert"


def test_changes_to_and_fro_cause_a_bounded_number_of_mails(
    mailed: MailedRealm, account: OwnAccount
) -> None:
    """Of verified addresses or not. Changes beyond the limit are made, other mails are sent."""
    user = mailed.add("many", **NAMES)
    token = account.token("many")
    own = account.get("", token)
    for number in range(2 * MOST_NOTIFICATIONS_OF_USER):
        sent = {**own, "email": f"many{number}@example.org"}
        assert account.ask("POST", "", token, json=sent).status_code == 204
    mailed.realm.change("PUT", f"{user}/execute-actions-email", ["VERIFY_EMAIL"])
    assert mailed.link(f"many{2 * MOST_NOTIFICATIONS_OF_USER - 1}@example.org")
    found = [mail["subject"] for mail in mailed.server.messages if "many" in mail["to"]]
    assert found.count(SUBJECT) == MOST_NOTIFICATIONS_OF_USER


def test_without_a_mail_server_the_address_changes_all_the_same(
    mailed: MailedRealm, account: OwnAccount
) -> None:
    user = mailed.add("silent", **NAMES)
    with mailed.changed(smtpServer={}):
        token = account.token("silent")
        own = {**account.get("", token), "email": "silent.new@example.org"}
        assert account.ask("POST", "", token, json=own).status_code == 204
    assert mailed.realm.get(user)["email"] == "silent.new@example.org"
    assert [mail for mail in mailed.server.messages if mail["to"] == "silent@example.org"] == []
