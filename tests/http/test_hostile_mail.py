"""What names, texts and addresses add to a mail: never a header, a recipient or another server.

attacks: E7
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import person
from tests.support.administration import Administration
from tests.support.mailed_links import MailedRealm, mailed_realm

_INJECTED: Final = "\r\nBcc: victim@evil.test\r\n\r\nBuy this"
_SUBJECT: Final = "emailVerificationSubject"


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    settings: dict[str, Any] = {
        "attributes": {},
        "verifyEmail": True,
        "registrationAllowed": True,
        "internationalizationEnabled": True,
        "supportedLocales": ["en"],
    }
    with mailed_realm(administration, "hostile-mail", {}, **settings) as realm:
        yield realm


@pytest.mark.parametrize(
    "address",
    [
        "ada@example.org\r\nBcc: victim@evil.test",
        "ada@example.org\nRCPT TO:<victim@evil.test>",
        "ada@example.org,victim@evil.test",
        "ada@example.org victim@evil.test",
        "<ada@example.org>",
        '"ada@example.org, victim"@evil.test',
        "ada@example.org>\r\nRSET",
        "ada\0@example.org",
    ],
)
def test_an_address_of_several_mailboxes_gets_no_mail(mailed: MailedRealm, address: str) -> None:
    """attacks: E7. Neither by administrators, nor by the user who registers."""
    before = len(mailed.server.recipients)
    document = person("injected", email=address)
    status, _ = mailed.realm.refused("POST", "users", document)
    assert status == 400
    browser = mailed.browser()
    page = browser.open(prompt="create")
    names = {"username": "injected", "firstName": "Ada", "lastName": "Lovelace"}
    secret = {"password": "a-Passw0rd", "password-confirm": "a-Passw0rd"}
    page = browser.submit(page, **names, **secret, email=address)
    assert page.id in {"register", "error"}, page.text
    assert mailed.realm.get("users?username=injected") == []
    assert mailed.server.recipients[before:] == []


def test_texts_of_the_realm_add_no_header_and_no_recipient(mailed: MailedRealm) -> None:
    """attacks: E7. A line break becomes a space, or is refused."""
    before = len(mailed.server.envelopes)
    mailed.realm.change("POST", "localization/en", {_SUBJECT: f"Verify{_INJECTED}"})
    mailed.realm.ask("PUT", "", {"displayName": f"Acme{_INJECTED}"})
    mailed.add("texts", firstName="Ada", lastName="Lovelace")
    browser = mailed.browser()
    page = browser.sign_in("texts")
    assert page.id == "login-verify-email", page.text
    (mail,) = mailed.mails("texts@example.org")
    (envelope,) = mailed.server.envelopes[before:]
    assert envelope.rcpt_tos == ["texts@example.org"]
    assert mail["subject"] == "Verify Bcc: victim@evil.test Buy this"
    assert mail["bcc"] is None
    assert mail.get_all("to") == ["texts@example.org"]


@pytest.mark.parametrize(
    "name", ["from", "fromDisplayName", "replyTo", "replyToDisplayName", "envelopeFrom", "host"]
)
def test_settings_of_the_mail_server_have_no_line_break(mailed: MailedRealm, name: str) -> None:
    """attacks: E7."""
    settings = mailed.server.settings()
    injected = {**settings, name: f"{settings.get(name, 'Acme')}{_INJECTED}"}
    status, _ = mailed.realm.refused("PUT", "", {"smtpServer": injected})
    assert status == 400
    assert mailed.realm.get("")["smtpServer"] == settings


def test_a_stored_password_goes_to_its_own_server_only(mailed: MailedRealm) -> None:
    """attacks: E7. The mask that is sent back keeps the password of the same host alone."""
    settings = mailed.server.settings()
    secret = {"auth": "true", "ssl": "true", "user": "u", "password": "the mail server's word"}
    masked = {**secret, "password": "*" * 10}
    try:
        mailed.realm.change("PUT", "", {"smtpServer": {**settings, **secret}})
        mailed.realm.change("PUT", "", {"smtpServer": {**settings, **masked, "port": "465"}})
        assert mailed.realm.get("")["smtpServer"]["password"] == masked["password"]
        elsewhere = {**settings, **masked, "host": "mail.evil.test"}
        mailed.realm.change("PUT", "", {"smtpServer": elsewhere})
        assert "password" not in mailed.realm.get("")["smtpServer"]
    finally:
        mailed.realm.change("PUT", "", {"smtpServer": settings})
