"""Mails with links that administrators send to users. Keycloak: 7.2 (execute-actions-email)."""

import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import mail_server
from tests.support.administration import Administration
from tests.support.gateway_process import until
from tests.support.mailed_links import MailedRealm, follow, link_of, mailed_realm
from tests.support.sign_in_browser import CALLBACK, web_client

NEW = "another-Passw0rd"


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm whose administrators send mails."""
    clients = [
        web_client("app", baseUrl="https://app.example.test/home"),
        web_client("off", enabled=False),
    ]
    roles = {"manager": ["manage-users"], "viewer": ["view-users"]}
    with mailed_realm(
        administration,
        "mailing-links",
        roles,
        clients=clients,
        actionTokenGeneratedByAdminLifespan=7200,
    ) as realm:
        yield realm


@pytest.fixture(autouse=True)
def nothing_yet(mailed: MailedRealm) -> None:
    mailed.events()


def _types(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    """Return types and errors of the events of users."""
    kinds = [(event["type"], event.get("error")) for event in events]
    return [kind for kind in kinds if not kind[0].startswith("CLIENT_")]


def test_a_mail_does_not_wait_until_the_queue_is_polled(mailed: MailedRealm) -> None:
    """Each mail is queued when the one before is there: a poll would find each a second later."""
    durations = []
    for number in range(5):
        user = mailed.add(f"prompt-{number}")
        begun = time.monotonic()
        mailed.realm.change("PUT", f"{user}/execute-actions-email", ["UPDATE_PASSWORD"])
        mailed.mails(f"prompt-{number}@example.org")
        durations.append(time.monotonic() - begun)
    assert min(durations[1:]) < 0.5, durations
    mailed.events()


def test_a_link_runs_its_actions_and_signs_in_no_user(
    mailed: MailedRealm,
) -> None:
    ada = mailed.add("ada")
    query = f"client_id=app&redirect_uri={CALLBACK}"
    actions = ["UPDATE_PASSWORD", "UPDATE_PROFILE"]
    path = f"{ada}/execute-actions-email"
    mailed.realm.change("PUT", f"{path}?{query}", actions, by="manager")
    assert mailed.realm.events()[-1] == ("ACTION", "USER", path, None)
    (mail,) = mailed.mails("ada@example.org")
    assert mail["subject"] == "Update Your Account"
    body = mail.get_body(("plain",))
    assert body is not None
    assert "Acme <b>North</b> account" in body.get_content()
    assert "expire within 2 h." in body.get_content()
    html = mail.get_body(("html",))
    assert html is not None
    assert "<b>" not in html.get_content()
    browser = mailed.browser()
    shown = browser.get(link_of(mail))
    assert "Perform the following action(s) Update password Update profile" in shown.text
    page = browser.submit(shown)
    assert page.id == "login-update-profile"
    assert mailed.realm.get(ada)["emailVerified"] is True
    page = browser.submit(page, firstName="Ada", lastName="Arendt")
    assert page.id == "login-update-password"
    done = browser.submit(page, **{"password-new": NEW, "password-confirm": NEW})
    assert (done.status, done.id) == (200, "info")
    assert "Your account has been updated." in done.text
    assert done.link("continue") == CALLBACK
    assert "KEYCLOAK_IDENTITY" not in browser.cookies
    assert mailed.realm.get(f"{ada}/sessions") == []
    assert _types(mailed.events()) == [
        ("EXECUTE_ACTIONS", None),
        ("UPDATE_PROFILE", None),
        ("UPDATE_PASSWORD", None),
        ("UPDATE_CREDENTIAL", None),
    ]
    again = mailed.browser()
    assert again.submit(again.open(), username="ada", password=NEW).answer["code"]


def test_a_page_of_a_link_leads_to_no_sign_in(mailed: MailedRealm) -> None:
    fay = mailed.add("fay")
    mailed.realm.change("PUT", f"{fay}/reset-password-email", by="manager")
    browser = mailed.browser()
    page = follow(browser, mailed.link("fay@example.org"))
    assert page.id == "login-update-password"
    again = browser.get(page.link("reset-login"))
    assert again.id == "login-update-password"
    done = browser.submit(again, **{"password-new": NEW, "password-confirm": NEW})
    assert "Your account has been updated." in done.text
    ended = browser.submit(again, **{"password-new": NEW, "password-confirm": NEW})
    assert (ended.status, "Action expired." in ended.text) == (400, True)


def test_a_mail_to_verify_the_address_goes_out_on_request(mailed: MailedRealm) -> None:
    bea = mailed.add("bea")
    mailed.realm.change("PUT", f"{bea}/send-verify-email?lifespan=90", by="manager")
    mail = mailed.mails("bea@example.org")[-1]
    body = mail.get_body(("plain",))
    assert body is not None
    assert "expire within 2 min." in body.get_content()
    done = follow(mailed.browser(), link_of(mail))
    assert "Your email address has been verified." in done.text
    assert mailed.realm.get(bea)["emailVerified"] is True
    assert _types(mailed.events()) == [("VERIFY_EMAIL", None)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (f"redirect_uri={CALLBACK}", "Client id missing"),
        ("client_id=nobody", "Client doesn't exist"),
        ("client_id=off", "Client is not enabled"),
        ("client_id=app&redirect_uri=https://evil.example", "Invalid redirect uri."),
        ("lifespan=0", "Invalid lifespan"),
    ],
)
def test_a_link_is_made_for_a_client_that_may_have_it(
    mailed: MailedRealm, query: str, text: str
) -> None:
    user = f"users/{mailed.user_id('john')}"
    for path in ("execute-actions-email", "send-verify-email"):
        refused = mailed.realm.refused("PUT", f"{user}/{path}?{query}", [], by="manager")
        assert refused == (400, {"errorMessage": text})


def test_a_user_who_cannot_follow_a_link_gets_none(mailed: MailedRealm) -> None:
    no_address = mailed.realm.change("POST", "users", {"username": "mute", "enabled": True})
    disabled = mailed.add("gone", enabled=False).removeprefix("users/")
    for user, text in ((no_address, "User email missing"), (disabled, "User is disabled")):
        path = f"users/{user}/execute-actions-email"
        assert mailed.realm.refused("PUT", path, ["UPDATE_PASSWORD"], by="manager") == (
            400,
            {"errorMessage": text},
        )
    john = f"users/{mailed.user_id('john')}/execute-actions-email"
    invalid = (400, {"errorMessage": "Provided invalid required actions"})
    assert mailed.realm.refused("PUT", john, ["NO_ACTION"], by="manager") == invalid
    assert mailed.realm.refused("PUT", john, ["TERMS_AND_CONDITIONS"], by="manager") == invalid
    assert mailed.realm.refused("PUT", john, {"a": 1}, by="manager")[0] == 400
    assert mailed.realm.refused("PUT", john, [], by="viewer")[0] == 403
    missing = mailed.realm.refused("PUT", "users/nobody/send-verify-email", by="manager")
    assert missing == (404, {"error": "User not found"})


def test_a_realm_without_a_mail_server_and_a_flood_are_failures(mailed: MailedRealm) -> None:
    kim = mailed.add("kim")
    for _ in range(10):
        mailed.realm.change("PUT", f"{kim}/execute-actions-email", [], by="manager")
    full = mailed.realm.refused("PUT", f"{kim}/execute-actions-email", [], by="manager")
    assert full[0] == 500
    assert "limit" in full[1]["errorMessage"]
    with mailed.changed(smtpServer={}):
        path = f"users/{mailed.user_id('john')}"
        status, document = mailed.realm.refused(
            "PUT", f"{path}/execute-actions-email", [], by="manager"
        )
        assert status == 500
        assert document["errorMessage"].startswith("Failed to send execute actions email: ")
        failed = (500, {"errorMessage": "Failed to send verify email"})
        assert mailed.realm.refused("PUT", f"{path}/send-verify-email", by="manager") == failed


def test_a_mail_goes_to_a_server_with_tls_and_a_password(mailed: MailedRealm, pki: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    liv = mailed.add("liv")
    with mail_server.mail_server(starttls=context, needs_password=True) as server:
        settings = server.settings(
            starttls="true", auth="true", user=mail_server.USER, password=mail_server.PASSWORD
        )
        with mailed.changed(smtpServer=settings):
            mailed.realm.change("PUT", f"{liv}/send-verify-email")
            sent = until(
                lambda: [one for one in server.messages if one["to"] == "liv@example.org"],
                "no mail",
            )
    assert "has been verified" in follow(mailed.browser(), link_of(sent[0])).text
    assert server.users
