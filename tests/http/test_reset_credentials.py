"""Users who have forgotten a password. Keycloak: ResetCredentialEmail, 16.3; attacks: D10, D11."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from gateway.domain.limits.rate_limits import RESETS, RESETS_OF_USER
from tests.support.administered_realm import person
from tests.support.administration import PASSWORD, Administration
from tests.support.mailed_links import MailedRealm, follow, key_of, mailed_realm
from tests.support.sign_in_browser import Page, SignInBrowser, query_of, with_query

NEW = "another long word 7"
SENT = "You should receive an email shortly with further instructions."


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm whose users may reset their credentials."""
    with mailed_realm(
        administration, "recovering", {}, resetPasswordAllowed=True, bruteForceProtected=True
    ) as realm:
        yield realm


@pytest.fixture(autouse=True)
def nothing_yet(mailed: MailedRealm) -> None:
    mailed.events()


def _link(page: Page) -> str:
    found = re.search(r'<a class="forgot" href="([^"]*)"', page.html)
    assert found is not None, page.html
    return unescape(found.group(1))


def _url(page: Page) -> str:
    """Return the address of the tab's current page, to load it again."""
    sent = page.response.request.url.raw_path.decode("ascii")
    return with_query(sent, execution=None, session_code=None)


def _asked(mailed: MailedRealm, username: str) -> tuple[SignInBrowser, Page]:
    """Ask for a mail, by the link of the page of the sign-in."""
    browser = mailed.browser()
    page = browser.get(_link(browser.open()))
    assert (page.status, page.id) == (200, "login-reset-password")
    return browser, browser.submit(page, username=username)


def _sent_from(mailed: MailedRealm, address: str, username: str) -> Page:
    browser = mailed.browser()
    browser.headers["X-Forwarded-For"] = address
    return browser.submit(browser.get(_link(browser.open())), username=username)


def _new_password(browser: SignInBrowser, page: Page, password: str = NEW) -> Page:
    assert page.id == "login-update-password", page.text
    return browser.submit(page, **{"password-new": password, "password-confirm": password})


def _types(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in events]


def _signs_in(mailed: MailedRealm, username: str, password: str) -> bool:
    browser = mailed.browser()
    return browser.submit(browser.open(), username=username, password=password).status == 302


def test_the_link_goes_on_in_the_browser_that_asked_for_it(mailed: MailedRealm) -> None:
    ada = mailed.add("ada")
    browser, sent = _asked(mailed, " ADA@example.org ")
    assert (sent.status, sent.id, sent.message) == (200, "login-reset-sent", SENT)
    link = mailed.link("ada@example.org")
    [mail] = mailed.mails("ada@example.org")
    assert mail["subject"] == "Reset password"
    shown = browser.get(link)
    assert (shown.status, shown.id) == (200, "confirm-link")
    before = browser.cookies["AUTH_SESSION_ID"]
    asked = browser.submit(shown)
    assert browser.cookies["AUTH_SESSION_ID"] != before
    assert asked.message == "You need to change your password."
    done = _new_password(browser, asked)
    assert done.answer["code"]
    assert done.answer["state"] == "a-state"
    assert mailed.realm.get(ada)["emailVerified"] is True
    assert not _signs_in(mailed, "ada", PASSWORD)
    events = mailed.events()
    assert _types(events)[:5] == [
        ("SEND_RESET_PASSWORD", None),
        ("RESET_PASSWORD", None),
        ("UPDATE_PASSWORD", None),
        ("UPDATE_CREDENTIAL", None),
        ("LOGIN", None),
    ]
    assert events[0]["details"]["email"] == "ada@example.org"
    assert events[0]["details"]["username"] == "ADA@example.org"
    assert {f"users/{event['userId']}" for event in events[:5]} == {ada}
    assert {event["details"]["username"] for event in events[1:5]} == {"ada"}
    assert key_of(link) not in str(events)
    assert _signs_in(mailed, "ada", NEW)


def test_an_address_asks_for_a_bounded_number_of_mails(mailed: MailedRealm) -> None:
    """The page is the same, and nothing is sent. attacks: E8."""
    mailed.add("paula")
    for _ in range(RESETS.of_network):
        assert _sent_from(mailed, "192.0.2.7", "unknown").message == SENT
    assert _sent_from(mailed, "192.0.2.7", "paula").message == SENT
    assert _types(mailed.events())[-1] == ("SEND_RESET_PASSWORD_ERROR", "slow_down")
    assert _sent_from(mailed, "192.0.2.8", "paula").message == SENT
    assert len(mailed.mails("paula@example.org")) == 1


def test_every_name_gets_the_same_answer(mailed: MailedRealm) -> None:
    """Compared byte by byte, but for the codes of the tab and what was typed. attacks: D10."""
    mailed.add("berta")
    disabled = mailed.add("berti")
    mailed.realm.change("PUT", disabled, {"enabled": False})
    mailed.realm.change("POST", "users", person("berto"))
    names = ("berta", "berti", "berto", "bertx")
    answers = {name: _comparable(mailed, name) for name in names}
    assert len(set(answers.values())) == 1, answers
    mailed.link("berta@example.org")
    assert [each for each in mailed.server.messages if each["to"] == "berti@example.org"] == []
    errors = [(each["type"], each.get("error")) for each in mailed.events()]
    assert sorted(errors, key=str) == [
        ("RESET_PASSWORD_ERROR", "invalid_email"),
        ("RESET_PASSWORD_ERROR", "user_disabled"),
        ("RESET_PASSWORD_ERROR", "user_not_found"),
        ("SEND_RESET_PASSWORD", None),
    ]


def _comparable(mailed: MailedRealm, name: str) -> tuple[int, str, tuple[str, ...]]:
    browser, sent = _asked(mailed, name)
    again = browser.get(_url(sent))
    code = r"(session_code|tab_id|execution|client_data)=[^&\"]*"
    texts = [re.sub(code, r"\1", page.html) for page in (sent, again)]
    headers = sorted(sent.response.headers.keys())
    return sent.status, "\n".join(texts).replace(name, "name"), tuple(headers)


def test_a_page_that_is_loaded_again_sends_no_second_mail(mailed: MailedRealm) -> None:
    mailed.add("carla")
    browser, sent = _asked(mailed, "carla")
    mailed.link("carla@example.org")
    assert browser.get(_url(sent)).message == SENT
    replayed = browser.submit(browser.get(sent.link("kc-back-to-login")), username="x")
    assert replayed.id == "login"
    mailed.add("carlb")
    _asked(mailed, "carlb")
    mailed.link("carlb@example.org")
    assert len(mailed.mails("carla@example.org")) == 1


def test_another_browser_resets_without_being_signed_in(mailed: MailedRealm) -> None:
    """Who asked for the link, an attacker for instance, gets nothing of it."""
    mailed.add("dora")
    asking, sent = _asked(mailed, "dora")
    link = mailed.link("dora@example.org")
    opening = mailed.browser()
    page = follow(opening, link)
    done = _new_password(opening, page)
    assert (done.status, done.id) == (200, "info")
    assert "Your account has been updated." in done.text
    assert "KEYCLOAK_IDENTITY" not in opening.cookies
    shown = asking.get(_url(sent))
    assert (shown.id, shown.message) == ("login-reset-sent", SENT)
    assert _signs_in(mailed, "dora", NEW)


def test_a_link_acts_once_and_for_its_own_realm_and_user(mailed: MailedRealm) -> None:
    emma = mailed.add("emma")
    browser, _ = _asked(mailed, "emma")
    link = mailed.link("emma@example.org")
    shortened = with_query(link, key=key_of(link)[:-3])
    assert mailed.browser().get(shortened).status == 400
    elsewhere = link.replace("/realms/recovering/", "/realms/master/")
    refused = SignInBrowser(mailed.realm.administration.http, "master").get(elsewhere)
    assert refused.status == 400
    shown = mailed.browser().get(link)
    assert _new_password(browser, follow(browser, link)).answer["code"]
    again = mailed.browser()
    assert again.get(link).status == 400
    assert again.submit(shown).status == 400
    mailed.realm.change("PUT", emma, {"enabled": False})
    assert mailed.browser().get(link).status == 400


def test_a_link_is_void_once_the_password_was_changed(mailed: MailedRealm) -> None:
    fine = mailed.add("fine")
    first, _ = _asked(mailed, "fine")
    old = mailed.link("fine@example.org")
    second, _ = _asked(mailed, "fine")
    new = mailed.link("fine@example.org", 2)
    assert old != new
    opened, shown = follow(first, old), second.get(new)
    body = {"type": "password", "value": "set by somebody else 1"}
    mailed.realm.change("PUT", f"{fine}/reset-password", body)
    for void in (second.get(new), second.submit(shown)):
        assert (void.status, "Action expired." in void.text) == (400, True)
    # What was opened before is worth nothing either.
    stale = _new_password(first, opened)
    assert stale.id == "login-reset-password"
    assert _signs_in(mailed, "fine", "set by somebody else 1")


def test_a_link_is_void_once_the_address_was_changed(mailed: MailedRealm) -> None:
    gina = mailed.add("gina")
    browser, _ = _asked(mailed, "gina")
    link = mailed.link("gina@example.org")
    mailed.realm.change("PUT", gina, {"email": "gina-2@example.org"})
    assert browser.get(link).status == 400


def test_a_realm_that_does_not_permit_it_shows_no_link(mailed: MailedRealm) -> None:
    mailed.add("hilde")
    browser, sent = _asked(mailed, "hilde")
    link = mailed.link("hilde@example.org")
    mailed.events()
    with mailed.changed(resetPasswordAllowed=False):
        assert 'class="forgot"' not in browser.open().html
        refused = (
            browser.get(_url(sent)),
            browser.get(link),
            browser.get(_forgotten(browser)),
        )
        for page in refused:
            assert (page.status, page.id) == (400, "error")
            assert "Resetting credentials is not allowed" in page.text
    assert _types(mailed.events())[0] == ("RESET_PASSWORD_ERROR", "not_allowed")
    assert browser.get(_forgotten(browser)).id == "login-reset-password"


def _forgotten(browser: SignInBrowser) -> str:
    asked = query_of("?response_type=code&client_id=app&scope=openid&state=s")
    url = browser.protocol("forgot-credentials")
    return with_query(url, **asked, redirect_uri="https://app.example.test/callback")


def test_a_missing_name_is_asked_for_again(mailed: MailedRealm) -> None:
    browser, page = _asked(mailed, " ")
    assert (page.id, page.message) == ("login-reset-password", "Please specify username.")
    assert _types(mailed.events()) == [("RESET_PASSWORD_ERROR", "username_missing")]
    stranger = mailed.browser()
    assert stranger.submit(page, username="ada").id != "login-reset-sent"
    browser.headers["Origin"] = "https://evil.test"
    assert browser.submit(page, username="ada").status == 403


def test_a_realm_without_a_mail_server_says_so_for_every_name(mailed: MailedRealm) -> None:
    mailed.add("ida")
    with mailed.changed(smtpServer={}):
        pages = [_asked(mailed, name)[1] for name in ("ida", "nobody")]
    assert {page.message for page in pages} == {"Failed to send email, please try again later."}
    assert _types(mailed.events()) == [
        ("SEND_RESET_PASSWORD_ERROR", "email_send_failed"),
        ("RESET_PASSWORD_ERROR", "user_not_found"),
    ]


def test_a_device_is_set_up_anew(mailed: MailedRealm) -> None:
    """`reset-otp` in a condition of the standard flow."""
    jana = mailed.add("jana", credentials=[*_password(), _device("phone"), _device("tablet")])
    flow = "authentication/flows/reset%20credentials/executions"
    [step] = [each for each in mailed.realm.get(flow) if each.get("providerId") == "reset-otp"]
    path = f"authentication/executions/{step['id']}/config"
    config = {"alias": "otp", "config": {"action_on_otp_reset_flag": "Remove one"}}
    created = mailed.realm.change("POST", path, config)
    browser, _ = _asked(mailed, "jana")
    page = follow(browser, mailed.link("jana@example.org"))
    assert page.id == "login-reset-otp"
    assert "Remove a device" in page.text
    assert "Which OTP configuration should be removed?" in page.text
    unknown = browser.submit(page, selectedCredentialId="other")
    assert unknown.message == "Please choose an OTP configuration."
    page = browser.submit(unknown, **unknown.form.fields)
    assert page.id == "login-config-totp"
    held = mailed.realm.get(f"{jana}/credentials")
    assert [each["userLabel"] for each in held if each["type"] == "otp"] == ["tablet"]
    mailed.realm.change(
        "PUT",
        f"authentication/config/{created}",
        {"alias": "otp", "config": {"action_on_otp_reset_flag": "Remove all"}},
    )
    browser, _ = _asked(mailed, "jana")
    assert follow(browser, mailed.link("jana@example.org", 2)).id == "login-config-totp"
    held = mailed.realm.get(f"{jana}/credentials")
    assert [each["type"] for each in held] == ["password"]
    kinds = [event["type"] for event in mailed.events()]
    assert kinds.count("REMOVE_CREDENTIAL") == kinds.count("REMOVE_TOTP") == 2
    mailed.realm.change("DELETE", f"authentication/config/{created}")


def _password() -> list[dict[str, Any]]:
    return [{"type": "password", "value": PASSWORD}]


def _device(label: str) -> dict[str, Any]:
    data = '{"subType":"totp","digits":6,"counter":0,"period":30,"algorithm":"HmacSHA1"}'
    return {
        "type": "otp",
        "userLabel": label,
        "credentialData": data,
        "secretData": '{"value":"a secret of twenty c"}',
    }


def test_the_user_may_have_to_sign_in_with_the_new_password(mailed: MailedRealm) -> None:
    mailed.add("karin")
    flow = "authentication/flows/reset%20credentials/executions"
    [step] = [
        each
        for each in mailed.realm.get(flow)
        if each.get("providerId") == "reset-credential-email"
    ]
    path = f"authentication/executions/{step['id']}/config"
    config = {"alias": "mail", "config": {"force-login": "true"}}
    created = mailed.realm.change("POST", path, config)
    try:
        browser, _ = _asked(mailed, "karin")
        page = _new_password(browser, follow(browser, mailed.link("karin@example.org")))
        assert (page.id, page.message) == ("login", "Your account has been updated.")
        assert "KEYCLOAK_IDENTITY" not in browser.cookies
        assert browser.submit(page, username="karin", password=NEW).answer["code"]
    finally:
        mailed.realm.change("DELETE", f"authentication/config/{created}")


def test_a_lock_out_neither_stops_the_reset_nor_ends_by_it(mailed: MailedRealm) -> None:
    mailed.add("lotte")
    for _ in range(2):
        assert not _signs_in(mailed, "lotte", "wrong")
    assert not _signs_in(mailed, "lotte", PASSWORD), "locked"
    browser, _ = _asked(mailed, "lotte")
    page = follow(browser, mailed.link("lotte@example.org"))
    assert _new_password(browser, page).answer["code"]
    assert not _signs_in(mailed, "lotte", NEW), "the lock-out lasts"


def test_a_stranger_keeps_no_link_from_a_user(mailed: MailedRealm) -> None:
    """However often one network asks, a mailbox gets few links, and the user's own one acts.

    attacks: E8.
    """
    mailed.add("mona")
    most = RESETS_OF_USER.of_network
    for _ in range(2 * most):
        assert _sent_from(mailed, "192.0.2.66", "mona").message == SENT
    assert _types(mailed.events())[-1] == ("SEND_RESET_PASSWORD_ERROR", "slow_down")
    assert _sent_from(mailed, "192.0.2.67", "mona@example.org").message == SENT
    link = mailed.link("mona@example.org", most + 1)
    for _ in range(most):
        assert _sent_from(mailed, "192.0.2.66", "mona").message == SENT
    browser = mailed.browser()
    done = _new_password(browser, follow(browser, link))
    assert done.id == "info"
    assert _signs_in(mailed, "mona", NEW)
    assert len(mailed.mails("mona@example.org", most + 1)) == most + 1


def test_many_strangers_keep_no_link_from_a_network_of_the_user(mailed: MailedRealm) -> None:
    """A network that the user has signed in from has a share of its own. attacks: E8."""
    mailed.add("monb")
    at_home = mailed.browser()
    at_home.headers["X-Forwarded-For"] = "2001:db8:5:5::1"
    page = at_home.submit(at_home.open(), username="monb", password=PASSWORD)
    assert page.status == 302
    for number in range(2 * RESETS_OF_USER.in_all):
        assert _sent_from(mailed, f"198.51.100.{number}", "monb").message == SENT
    assert len(mailed.mails("monb@example.org", RESETS_OF_USER.in_all)) == RESETS_OF_USER.in_all
    assert _sent_from(mailed, "192.0.2.9", "monb").message == SENT
    assert _sent_from(mailed, "2001:db8:5:5::2", "monb").message == SENT
    link = mailed.link("monb@example.org", RESETS_OF_USER.in_all + 1)
    browser = mailed.browser()
    assert _new_password(browser, follow(browser, link)).id == "info"
