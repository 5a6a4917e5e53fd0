"""The mail server of a realm is tested with a mail to the caller. Keycloak: 7.1."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.gateway_process import until
from tests.support.mail_server import MailServer, mail_server

_TEST: Final = "testSMTPConnection"
_FAILED: Final = (500, {"errorMessage": "Failed to send email"})


def _await_in_log(realm: AdministeredRealm, text: str) -> None:
    """Wait for the text: a request is logged after its response."""
    gateway = realm.administration.gateway
    until(lambda: text in gateway.log_text(), f"not in the log: {text}")


@pytest.fixture(scope="module")
def server() -> Iterator[MailServer]:
    with mail_server() as started:
        yield started


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    roles = {"manager": ["manage-realm"], "viewer": ["view-realm"], "silent": ["manage-realm"]}
    with administered_realm(
        administration,
        "mailing",
        roles,
        displayName="The <b>Mailing</b> Realm",
        internationalizationEnabled=True,
        supportedLocales=["en", "de"],
        defaultLocale="de",
    ) as made:
        account = made.account("manager")
        made.change("PUT", f"users/{account}", {"email": "manager@example.com"})
        yield made


def test_a_test_mails_the_caller_by_the_sent_settings_unstored(
    realm: AdministeredRealm, server: MailServer
) -> None:
    before = len(server.envelopes)
    realm.change("POST", _TEST, server.settings(), by="manager")
    (message,) = server.messages[before:]
    assert message["to"] == "manager@example.com"
    assert message["subject"] == "[The <b>Mailing</b> Realm] SMTP-Testnachricht"
    assert realm.get("")["smtpServer"] == {}


@pytest.mark.parametrize("change", [{"port": "1"}, {"host": "10.0.0.1"}, {"auth": "true"}])
def test_a_failure_names_its_reason_in_the_log_alone(
    realm: AdministeredRealm, server: MailServer, change: dict[str, Any]
) -> None:
    settings = server.settings() | change
    assert realm.refused("POST", _TEST, settings, by="manager") == _FAILED


def test_a_server_that_refuses_is_a_failure(realm: AdministeredRealm, server: MailServer) -> None:
    server.answers.append("451 later, secret detail")
    assert realm.refused("POST", _TEST, server.settings(), by="manager") == _FAILED
    _await_in_log(realm, "451")


def test_a_caller_without_an_address_gets_no_mail(
    realm: AdministeredRealm, server: MailServer
) -> None:
    assert realm.refused("POST", _TEST, server.settings(), by="silent") == _FAILED
    _await_in_log(realm, "the caller has no e-mail address")


def test_a_test_brings_no_stored_secret_to_another_server(
    realm: AdministeredRealm, server: MailServer
) -> None:
    """The mask stands for no secret where the mail goes elsewhere: a token would go there too."""
    secrets = {"password": "stored word", "authTokenClientSecret": "stored secret"}
    stored = {
        **server.settings(ssl="true", auth="true", user="postmaster", authType="token"),
        "host": "mail.test",
        "authTokenUrl": "https://10.0.0.1/token",
        "authTokenClientId": "mailer",
    }
    realm.change("PUT", "", {"smtpServer": {**stored, **secrets}})
    for kind, lacking in (
        ("token", "smtpServer.authType token needs authTokenUrl"),
        ("basic", "smtpServer.auth needs smtpServer.user and smtpServer.password"),
    ):
        sent = {**stored, **dict.fromkeys(secrets, "**********"), "authType": kind}
        sent["host"] = "localhost"
        assert realm.refused("POST", _TEST, sent, by="manager") == _FAILED
        _await_in_log(realm, lacking)
    realm.change("PUT", "", {"smtpServer": {}})


def test_a_worker_sends_queued_mails_and_lists_refused_ones(
    realm: AdministeredRealm, server: MailServer
) -> None:
    realm.change("PUT", "", {"smtpServer": server.settings()})
    before = len(server.envelopes)
    run = realm.administration.command
    for number, address in enumerate(("ada@example.com", "unknown@example.com")):
        user = {"username": f"mailed-{number}", "email": address, "enabled": True}
        realm.change("POST", "users", user)
        queued = run("mail", "test", f"mailed-{number}", "--realm", realm.name)
        assert (queued.exit_code, "queued" in queued.output) == (0, True), queued.output

    def listed() -> list[dict[str, Any]]:
        found = run("mail", "list", "--realm", realm.name, "--output", "json")
        shown: list[dict[str, Any]] = json.loads(found.output)
        return [] if any(each["state"] == "waiting" for each in shown) else shown

    (given_up,) = until(listed, "the mails were not sent")
    assert (given_up["state"], "550" in given_up["reason"]) == ("given up", True)
    assert [message["to"] for message in server.messages[before:]] == ["ada@example.com"]
    _await_in_log(realm, "mail given up")
    refused = run("mail", "test", "mailed-0", "--realm", "other")
    assert refused.exit_code != 0


def test_the_role_to_change_the_realm_is_needed(
    realm: AdministeredRealm, server: MailServer
) -> None:
    assert realm.refused("POST", _TEST, server.settings(), by="viewer")[0] == 403


def test_settings_that_are_none_are_refused_by_field(realm: AdministeredRealm) -> None:
    status, document = realm.refused("POST", _TEST, {"port": "x", "ssl": "maybe"}, by="manager")
    assert status == 400
    assert "port" in document["errorMessage"]
