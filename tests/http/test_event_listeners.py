"""What listeners of a realm make of events: mails, webhooks, lines of a file.

Keycloak: 10.6; attacks: E8
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from gateway.domain.mail import MOST_NOTIFICATIONS_OF_USER
from tests.support.administered_realm import SIGN_IN, AdministeredRealm, administered_realm, person
from tests.support.administration import Administration
from tests.support.gateway_process import until
from tests.support.mail_server import MailServer, mail_server
from tests.support.sign_in_browser import SignInRealm, web_client
from tests.support.webhook_receiver import SECRET, WebhookReceiver, webhook_receiver

_WRONG: Final = "wrong-Passw0rd"
_NEW: Final = "another-Passw0rd"


@pytest.fixture(scope="module")
def server() -> Iterator[MailServer]:
    with mail_server() as started:
        yield started


@pytest.fixture(scope="module")
def realm(administration: Administration, server: MailServer) -> Iterator[AdministeredRealm]:
    """Make a realm that stores no events, and tells users about some."""
    with administered_realm(
        administration,
        "listening",
        {},
        **{**SIGN_IN, "clients": [*SIGN_IN["clients"], web_client("app")]},
        displayName="The <b>Listening</b> Realm",
        internationalizationEnabled=True,
        supportedLocales=["en", "de", "ja", "ar"],
        smtpServer=server.settings(),
    ) as made:
        made.change("PUT", "", {"eventsListeners": ["email", "jboss-logging"]})
        yield made


def _add(realm: AdministeredRealm, username: str, **fields: Any) -> str:
    document = {"email": f"{username}@example.com", "emailVerified": True, **fields}
    return realm.change("POST", "users", person(username, **document))


def _fail(realm: AdministeredRealm, username: str, times: int = 1) -> None:
    """Try to sign in with a wrong password."""
    path = f"/realms/{realm.name}/protocol/openid-connect/token"
    form = {"grant_type": "password", "client_id": "page", "password": _WRONG}
    for _ in range(times):
        answer = realm.administration.http.post(path, data=form | {"username": username})
        assert answer.json()["error"] == "invalid_grant", answer.text


def _mails_to(server: MailServer, username: str) -> list[Any]:
    return [mail for mail in server.messages if mail["to"] == f"{username}@example.com"]


def _fail_last(realm: AdministeredRealm, server: MailServer) -> None:
    """Wait until every mail of what happened before is sent: one more is the last."""
    name = f"last-{len(server.envelopes)}"
    _add(realm, name)
    _fail(realm, name)
    until(lambda: _mails_to(server, name), "the last mail was not sent")


def test_a_failed_sign_in_is_a_mail_in_the_language_of_the_user(
    realm: AdministeredRealm, server: MailServer
) -> None:
    _add(realm, "ada", attributes={"locale": ["de"]})
    _fail(realm, "ada")
    (mail,) = until(lambda: _mails_to(server, "ada"), "no mail was sent")
    text = mail.get_body(("plain",)).get_content()
    assert mail["subject"] == "Fehlgeschlagene Anmeldung"
    assert "203.0.113.9" in text
    assert " UTC " in text
    assert "Administrator" in text
    assert "<b>Listening" not in mail.get_body(("html",)).get_content()
    assert realm.get("events") == []


def test_verified_users_get_mails_of_selected_events_only(
    realm: AdministeredRealm, server: MailServer
) -> None:
    _add(realm, "unverified", emailVerified=False)
    _add(realm, "homeless", email=None)
    _add(realm, "happy")
    for name in ("unverified", "homeless", "nobody"):
        _fail(realm, name)
    realm.sign_in("happy")
    _fail_last(realm, server)
    assert not any(_mails_to(server, name) for name in ("unverified", "happy"))


def test_an_attack_causes_few_mails_and_keeps_no_other_mail_back(
    realm: AdministeredRealm, server: MailServer
) -> None:
    """attacks: E8."""
    _add(realm, "attacked")
    _fail(realm, "attacked", times=3 * MOST_NOTIFICATIONS_OF_USER)
    run = realm.administration.command
    asked = run("mail", "test", "attacked", "--realm", realm.name)
    assert asked.exit_code == 0, asked.output
    assert SignInRealm(realm).browser().sign_in("attacked").answer["code"]
    user = SignInRealm(realm).user_id("attacked")
    realm.change("PUT", f"users/{user}", {"requiredActions": ["UPDATE_PASSWORD"]})
    browser = SignInRealm(realm).browser()
    page = browser.sign_in("attacked")
    assert browser.submit(page, **{"password-new": _NEW, "password-confirm": _NEW}).answer["code"]
    _fail_last(realm, server)
    subjects = until(
        lambda: (
            found
            if len(found := [m["subject"] for m in _mails_to(server, "attacked")])
            > MOST_NOTIFICATIONS_OF_USER + 1
            else []
        ),
        "not all mails were sent",
    )
    assert subjects.count("Failed sign-in") == MOST_NOTIFICATIONS_OF_USER
    assert "Password changed" in subjects, "who takes an account over cannot hide it by failures"
    assert len(subjects) == MOST_NOTIFICATIONS_OF_USER + 2


def test_a_new_password_is_one_mail_though_two_events(
    realm: AdministeredRealm, server: MailServer
) -> None:
    _add(realm, "renewing", requiredActions=["UPDATE_PASSWORD"])
    browser = SignInRealm(realm).browser()
    done = browser.submit(
        browser.sign_in("renewing"), **{"password-new": _NEW, "password-confirm": _NEW}
    )
    assert done.answer["code"]
    _fail_last(realm, server)
    assert [mail["subject"] for mail in _mails_to(server, "renewing")] == ["Password changed"]


def test_a_hanging_mail_server_delays_no_sign_in(
    realm: AdministeredRealm, server: MailServer
) -> None:
    """attacks: E8. The worker that answers the sign-in is the one that waits for the server."""
    _add(realm, "waiting")
    server.hangs = 1
    _fail(realm, "waiting")
    until(lambda: server.hangs == 0, "the mail server was not asked")
    gateway = realm.administration.gateway
    assert realm.sign_in("waiting")["access_token"]
    assert gateway.health()[0] == 200
    assert "did not answer in time" not in gateway.log_text()


@pytest.fixture(scope="module")
def receiver() -> Iterator[WebhookReceiver]:
    with webhook_receiver() as started:
        yield started


@pytest.fixture(scope="module")
def sending(
    administration: Administration, receiver: WebhookReceiver
) -> Iterator[AdministeredRealm]:
    """Make a realm with a webhook and a file, which stores no events."""
    with administered_realm(administration, "sending", {}, **SIGN_IN) as made:
        attributes = made.get("")["attributes"] | {
            "realmgate.webhook.url": receiver.url,
            "realmgate.webhook.secret": SECRET,
            "realmgate.webhook.events": "LOGIN, LOGIN_ERROR",
        }
        listeners = ["webhook", "file"]
        made.change("PUT", "", {"attributes": attributes, "eventsListeners": listeners})
        _add(made, "ada")
        yield made


def test_webhooks_get_signed_events_again_until_confirmed(
    sending: AdministeredRealm, receiver: WebhookReceiver
) -> None:
    receiver.statuses.append(410)
    sending.sign_in("ada")
    (refused,) = until(lambda: receiver.refused, "no event came")
    run = sending.administration.command
    of_realm = ("--realm", sending.name)

    def listed() -> list[dict[str, Any]]:
        shown = json.loads(run("webhook", "list", *of_realm, "--output", "json").output)
        return [each for each in shown if each["state"] == "given up"]

    (given_up,) = until(listed, "the event was not given up")
    assert (given_up["id"], given_up["reason"]) == (refused.id, "the receiver answered with 410")
    assert run("webhook", "list", *of_realm).output.startswith(refused.id)
    assert run("webhook", "retry", *of_realm).output == "1 events queued\n"
    (confirmed,) = until(lambda: receiver.confirmed, "the event did not come again")
    assert (confirmed.id, confirmed.body) == (refused.id, refused.body)
    assert confirmed.is_signed()
    document = confirmed.document
    assert (document["type"], document["realmName"]) == ("LOGIN", "sending")
    assert document["id"] == confirmed.id
    assert "UPDATE_PASSWORD" not in str(receiver.confirmed)
    assert sending.get("events") == []


def test_a_webhook_secret_is_shown_nowhere_and_kept_by_its_mask(
    sending: AdministeredRealm, receiver: WebhookReceiver
) -> None:
    shown = sending.get("")
    assert shown["attributes"]["realmgate.webhook.secret"] == "**********"
    sending.change("PUT", "", shown)
    sending.change("PUT", "", {"displayName": "Sending"})
    before = len(receiver.confirmed)
    _fail(sending, "ada")
    until(lambda: receiver.confirmed[before:], "no event came")
    assert receiver.confirmed[-1].is_signed()
    assert receiver.confirmed[-1].document["error"] == "invalid_user_credentials"
    gateway = sending.administration.gateway
    assert SECRET not in gateway.log_text()
    assert SECRET not in str(sending.events())
    assert SECRET.encode() not in (gateway.state_dir / "realmgate.db").read_bytes()


@pytest.mark.parametrize(
    ("attributes", "named"),
    [
        ({"realmgate.webhook.url": "https://example.com/"}, "realmgate.webhook.secret"),
        ({"realmgate.webhook.secret": "short"}, "realmgate.webhook.secret"),
        ({"realmgate.webhook.url": "https://u:p@example.com/"}, "realmgate.webhook.url"),
        ({"realmgate.webhook.events": "LOGIN,SIGN_IN"}, "realmgate.webhook.events"),
    ],
)
def test_a_webhook_that_cannot_work_is_refused_by_field(
    realm: AdministeredRealm, attributes: dict[str, str], named: str
) -> None:
    status, document = realm.refused("PUT", "", {"attributes": attributes})
    assert (status, named in str(document), "short" in str(document)) == (400, True, False)


def test_every_event_is_a_line_of_a_file_that_may_be_renamed(
    sending: AdministeredRealm, tmp_path: Path
) -> None:
    file = sending.administration.gateway.state_dir.parent / "events.jsonl"
    _fail(sending, "ada")
    sending.sign_in("ada")
    renamed = file.rename(tmp_path / "events.jsonl.1")
    sending.sign_in("ada")
    lines = [json.loads(line) for line in renamed.read_text().splitlines()]
    (after,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["type"] for each in lines[-2:]] == ["LOGIN_ERROR", "LOGIN"]
    assert (after["type"], after["realmName"], after["ipAddress"]) == (
        *("LOGIN", "sending", "203.0.113.9"),
    )
    assert _WRONG not in renamed.read_text()
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_listener_receives_events_while_the_realm_names_it(sending: AdministeredRealm) -> None:
    file = sending.administration.gateway.state_dir.parent / "events.jsonl"

    def written(*listeners: str) -> int:
        """Count the lines that a sign-in writes where the realm has these listeners."""
        sending.change("PUT", "", {"eventsListeners": [*listeners]})
        before = len(file.read_text().splitlines()) if file.exists() else 0
        sending.sign_in("ada")
        return (len(file.read_text().splitlines()) if file.exists() else 0) - before

    assert [written("file"), written("jboss-logging"), written("webhook", "file")] == [1, 0, 1]
