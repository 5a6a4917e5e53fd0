"""VERIFY_EMAIL: users show by a link that an address is theirs. Keycloak: 16.1."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.domain.limits.rate_limits import LINKS
from tests.support.administered_realm import person
from tests.support.administration import Administration
from tests.support.mailed_links import MailedRealm, follow, key_of, link_of, mailed_realm
from tests.support.sign_in_browser import with_query
from tests.support.wire import claims_of


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm that verifies addresses."""
    settings = {"internationalizationEnabled": True, "supportedLocales": ["en", "de"]}
    with mailed_realm(administration, "verifying", {}, verifyEmail=True, **settings) as realm:
        yield realm


@pytest.fixture(autouse=True)
def nothing_yet(mailed: MailedRealm) -> None:
    mailed.events()


def _types(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in events]


def test_the_link_continues_the_sign_in_of_the_same_browser(mailed: MailedRealm) -> None:
    ada = mailed.add("ada")
    browser = mailed.browser()
    page = browser.sign_in("ada")
    assert page.id == "login-verify-email"
    assert page.message == "You need to verify your email address to activate your account."
    assert "ada@example.org" in page.text
    link = mailed.link("ada@example.org")
    assert mailed.realm.get(ada)["emailVerified"] is False
    shown = browser.get(link)
    assert (shown.status, shown.id) == (200, "confirm-link")
    assert "Confirm validity of e-mail address ada@example.org." in shown.text
    assert mailed.realm.get(ada)["emailVerified"] is False
    done = browser.submit(shown)
    assert done.answer["code"]
    assert mailed.realm.get(ada)["emailVerified"] is True
    assert _types(mailed.events()) == [
        ("SEND_VERIFY_EMAIL", None),
        ("VERIFY_EMAIL", None),
        ("LOGIN", None),
    ]


@pytest.mark.parametrize("sent", [{"execution": "another"}, {"kc_locale": "de"}])
def test_parameters_of_a_link_are_none_of_the_sign_in(
    mailed: MailedRealm, sent: dict[str, str]
) -> None:
    (name,) = (f"link-{name.replace('_', '-')}" for name in sent)
    mailed.add(name, requiredActions=["VERIFY_EMAIL", "UPDATE_PASSWORD"])
    browser = mailed.browser()
    assert browser.sign_in(name).id == "login-verify-email"
    shown = browser.get(mailed.link(f"{name}@example.org"))
    page = browser.post(with_query(shown.form.action, **sent), {**shown.form.fields, **sent})
    assert page.id == "login-update-password"
    browser.cookies.pop("KEYCLOAK_LOCALE", None)
    assert '<html lang="en"' in browser.get(with_query(page.form.action, session_code=None)).html


def test_a_link_in_another_browser_lets_the_first_continue(
    mailed: MailedRealm,
) -> None:
    bea = mailed.add("bea", requiredActions=["VERIFY_EMAIL"])
    browser = mailed.browser()
    page = browser.sign_in("bea")
    still = browser.submit(page, **{"continue": "true"})
    assert still.id == "login-verify-email"
    done = follow(mailed.browser(), mailed.link("bea@example.org"))
    assert (done.status, done.id) == (200, "info")
    assert "Your email address has been verified." in done.text
    assert done.link("backToApplication") == "https://app.example.test/home"
    assert browser.submit(still, **{"continue": "true"}).answer["code"]
    assert mailed.realm.get(bea)["requiredActions"] == []


def test_another_mail_needs_a_pause_and_not_a_reload(
    mailed: MailedRealm,
) -> None:
    mailed.add("cleo")
    browser = mailed.browser()
    page = browser.sign_in("cleo")
    again = browser.get(page.form.action.replace("session_code", "ignored"))
    assert again.id == "login-verify-email"
    too_soon = browser.submit(again)
    assert re.fullmatch(
        r"You must wait (30|2\d) seconds before another email is sent.", too_soon.message or ""
    )
    other = mailed.browser()
    assert "has been sent to your address" in other.sign_in("cleo").text
    path = "authentication/required-actions/VERIFY_EMAIL"
    action = mailed.realm.get(path)
    mailed.realm.change("PUT", path, {**action, "config": {"emailResendCooldownSeconds": "0"}})
    sent = browser.submit(too_soon)
    mailed.realm.change("PUT", path, action)
    assert sent.message == "You need to verify your email address to activate your account."
    first, second = map(link_of, mailed.mails("cleo@example.org", 2))
    assert key_of(first) != key_of(second)
    events = mailed.events()
    assert _types(events) == [("SEND_VERIFY_EMAIL", None), ("SEND_VERIFY_EMAIL", None)]
    assert events[0]["details"]["email"] == "cleo@example.org"


def test_a_mail_that_cannot_be_sent_is_said(mailed: MailedRealm) -> None:
    mailed.add("dan")
    with mailed.changed(smtpServer={}):
        page = mailed.browser().sign_in("dan")
        assert page.message == "Failed to send email, please try again later."
        assert "we are about to send" in page.text
    assert _types(mailed.events()) == [("SEND_VERIFY_EMAIL_ERROR", "email_send_failed")]


def test_the_realm_says_how_long_a_link_lasts(mailed: MailedRealm) -> None:
    mailed.add("eve")
    mailed.add("fred")
    with mailed.changed(actionTokenGeneratedByUserLifespan=600):
        mailed.browser().sign_in("eve")
    attribute = "actionTokenGeneratedByUserLifespan.verify-email"
    with mailed.changed(attributes={**mailed.realm.get("")["attributes"], attribute: "3600"}):
        mailed.browser().sign_in("fred")
    for user, seconds, said in (("eve", 600, "10 min"), ("fred", 3600, "1 h")):
        (mail,) = mailed.mails(f"{user}@example.org")
        claims = claims_of(key_of(link_of(mail)))
        assert claims["exp"] - claims["iat"] == seconds
        assert f"This link will expire within {said}." in mail.as_string().replace("=\n", "")


def test_nobody_is_asked_who_has_no_address_or_a_verified_one(mailed: MailedRealm) -> None:
    mailed.add("gina", emailVerified=True, requiredActions=["VERIFY_EMAIL"])
    mailed.realm.change("POST", "users", person("hugo"))
    for user in ("gina", "hugo"):
        assert mailed.browser().sign_in(user).answer["code"]


def test_a_client_that_wants_no_page_sends_no_mail(mailed: MailedRealm) -> None:
    ines = mailed.add("ines", emailVerified=True)
    browser = mailed.browser()
    assert browser.sign_in("ines").answer["code"]
    mailed.realm.change("PUT", ines, {"email": "ines2@example.org", "emailVerified": False})
    mailed.events()
    assert browser.open(prompt="none").answer["error"] == "interaction_required"
    assert _types(mailed.events()) == []


def test_a_client_may_ask_for_it(mailed: MailedRealm) -> None:
    mailed.add("jon", emailVerified=True)
    done = mailed.browser().sign_in("jon", kc_action="VERIFY_EMAIL")
    assert done.answer["kc_action_status"] == "success"
    with mailed.changed(verifyEmail=False):
        mailed.add("kay")
        browser = mailed.browser()
        page = browser.sign_in("kay", kc_action="VERIFY_EMAIL")
        assert "we are about to send you an email" in page.text
        page = browser.submit(page)
        done = follow(browser, mailed.link("kay@example.org"))
        assert done.answer["kc_action_status"] == "success"
        cancelled = mailed.browser()
        mailed.add("lea")
        page = cancelled.sign_in("lea", kc_action="VERIFY_EMAIL")
        done = cancelled.submit(page, **{"cancel-aia": "true"})
        assert done.answer["kc_action_status"] == "cancelled"


def test_a_page_says_when_an_address_gets_no_more_mail(mailed: MailedRealm) -> None:
    """Users of one address share its limit. attacks: E8."""
    rules = {"duplicateEmailsAllowed": True, "loginWithEmailAllowed": False}
    with mailed.changed(**rules):
        names = [f"mia-{number}" for number in range(LINKS.of_network + 1)]
        for name in names:
            mailed.add(name, email="mia@example.org")
        *_, last = [mailed.browser().sign_in(name) for name in names[:-1]]
        assert "has been sent to your address" in last.text
        mailed.events()
        browser = mailed.browser()
        refused = browser.sign_in(names[-1])
        again = browser.get(refused.form.action.replace("session_code", "ignored"))
        by_button = browser.submit(again)
        for page in (refused, again, by_button):
            assert page.id == "login-verify-email"
            assert page.message == "Failed to send email, please try again later."
            assert "has been sent to your address" not in page.text
        assert _types(mailed.events()) == []
    assert len(mailed.mails("mia@example.org", LINKS.of_network)) == LINKS.of_network
