"""UPDATE_EMAIL: users change their address by a link to the new one. Keycloak: 16.1."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.administration import Administration
from tests.support.mailed_links import MailedRealm, follow, mailed_realm

_ACTION = "authentication/required-actions/UPDATE_EMAIL"


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm whose users may change their addresses, which are verified."""
    with mailed_realm(administration, "changing-addresses", {}, verifyEmail=True) as realm:
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


def test_only_the_last_link_counts_and_an_administrator_can_cancel_it(
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
