"""Mails to a real mail server. attacks: E7, E8."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Final

import pytest

from gateway.domain.mail import Mail, MailKind, MailNotSent, mail_server
from gateway.domain.realm import Smtp
from gateway.domain.secrets import Secret
from gateway.mail import MailRenderer, SmtpMailSender
from gateway.outgoing import AddressPolicy, GuardedSockets, ServerVerification
from tests.support import mail_server as support
from tests.support.mail_server import PASSWORD, USER, MailServer

_SOON: Final = timedelta(seconds=5)
_MAIL: Final = Mail(
    id="the-id",
    realm_id="demo-id",
    realm_title="Demo",
    recipient="ada@example.com",
    locale="en",
    kind=MailKind.TEST,
    created_at=datetime(2026, 11, 1, tzinfo=UTC),
)
_LOOPBACK: Final = AddressPolicy((ip_network("127.0.0.0/8"),))


@dataclass
class _RealmTexts:
    texts: Mapping[str, Mapping[str, str]]

    async def find_texts(self, realm_id: str, _: object) -> Mapping[str, Mapping[str, str]]:
        return self.texts if realm_id == "demo-id" else {}


def _sender(
    policy: AddressPolicy = _LOOPBACK,
    *,
    authorities: Path | None = None,
    time: timedelta = _SOON,
    texts: Mapping[str, Mapping[str, str]] | None = None,
) -> SmtpMailSender:
    return SmtpMailSender(
        GuardedSockets(policy).connect,
        MailRenderer(_RealmTexts(texts or {})),
        verification=ServerVerification(authorities).context,
        host_name="gateway.test",
        time=time,
    )


def _smtp(server: MailServer, **more: str) -> Smtp:
    password = Secret(more.pop("password")) if "password" in more else None
    return Smtp(server.settings(**more), password)


def _tls(pki: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    return context


@pytest.fixture(scope="module")
def plain() -> Iterator[MailServer]:
    with support.mail_server() as server:
        yield server


@pytest.fixture(scope="module")
def starttls(pki: Path) -> Iterator[MailServer]:
    with support.mail_server(starttls=_tls(pki), needs_password=True) as server:
        yield server


@pytest.fixture(autouse=True)
async def _closed_connections() -> AsyncIterator[None]:
    """Let the event loop see that connections were ended, before it is closed."""
    yield
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def received(plain: MailServer) -> MailServer:
    """Return the server without what came before."""
    plain.envelopes.clear()
    plain.recipients.clear()
    return plain


async def _failure(sender: SmtpMailSender, smtp: Smtp, mail: Mail = _MAIL) -> MailNotSent:
    with pytest.raises(MailNotSent) as caught:
        await sender.send(mail_server(smtp), mail)
    return caught.value


async def test_a_mail_has_text_html_and_a_stable_identity(
    received: MailServer,
) -> None:
    smtp = _smtp(
        received,
        fromDisplayName="Demo & Söhne",
        replyTo="help@example.org",
        envelopeFrom="bounces@example.org",
    )
    for _ in range(2):
        await _sender().send(mail_server(smtp), _MAIL)
    first, second = received.messages
    assert [first[name] for name in ("message-id", "date")] == [
        second[name] for name in ("message-id", "date")
    ]
    assert [first[name] for name in ("from", "to", "reply-to", "subject", "message-id")] == [
        *("Demo & Söhne <realm@example.org>", "ada@example.com", "help@example.org"),
        *("[Demo] SMTP test message", "<the-id@example.org>"),
    ]
    assert (first["auto-submitted"], received.envelopes[0].mail_from) == (
        *("auto-generated", "bounces@example.org"),
    )
    parts = [part.get_content_type() for part in first.iter_parts()]
    assert parts == ["text/plain", "text/html"]


@pytest.mark.parametrize(
    ("locale", "subject"), [("de", "SMTP-Testnachricht"), ("pt-BR", "SMTP test message")]
)
async def test_a_mail_is_in_the_language_of_the_user(
    received: MailServer, locale: str, subject: str
) -> None:
    await _sender().send(mail_server(_smtp(received)), replace(_MAIL, locale=locale))
    assert received.messages[0]["subject"] == f"[Demo] {subject}"


async def test_realm_texts_come_first_and_no_markup_reaches_a_mail(
    received: MailServer,
) -> None:
    texts = {"en": {"emailTestSubject": "Hi\r\nBcc: eve@evil.test", "emailTestBody": "<b>{0}</b>"}}
    mail = replace(
        _MAIL,
        realm_title="<script>alert(1)</script>",
        link="https://x/?a=\"'><i>",
        arguments=("300",),
    )
    await _sender(texts=texts).send(mail_server(_smtp(received)), mail)
    (message,) = received.messages
    assert (message["subject"], message["bcc"]) == ("Hi Bcc: eve@evil.test", None)
    html = message.get_body(("html",))
    assert html is not None
    content = html.get_content()
    assert not any(tag in content for tag in ("<script", "<b>", "<i>"))
    assert "&lt;b&gt;&lt;script&gt;" in content


@pytest.mark.parametrize(
    "recipient",
    [
        *("ada@example.com\r\nRCPT TO:<eve@evil.test>", "ada@example.com,eve@evil.test", ""),
        *("ada@example.com>", '"a b"@example.com', "jürgen@example.com", "ada", "ada@x@y"),
        *("a..b@example.com", "ada@example.com,eve", "ada@-x", "a" * 250 + "@example.com"),
    ],
)
async def test_an_address_names_one_recipient_or_none(received: MailServer, recipient: str) -> None:
    """attacks: E7."""
    mail = replace(_MAIL, recipient=recipient)
    assert (await _failure(_sender(), _smtp(received), mail)).is_final
    assert received.recipients == []


async def test_an_unencodable_text_is_no_failure_of_the_worker(
    received: MailServer,
) -> None:
    texts = {"en": {"emailTestBody": "\ud800"}}
    assert (await _failure(_sender(texts=texts), _smtp(received))).is_final


async def test_a_domain_outside_of_ascii_is_written_in_ascii(received: MailServer) -> None:
    mail = replace(_MAIL, recipient="ada@bücher.example")
    await _sender().send(mail_server(_smtp(received)), mail)
    assert received.recipients == ["ada@xn--bcher-kva.example"]


async def test_a_password_is_given_over_starttls_alone(starttls: MailServer, pki: Path) -> None:
    settings = {"auth": "true", "user": USER, "password": PASSWORD}
    sender = _sender(authorities=pki / "ca.crt")
    await sender.send(mail_server(_smtp(starttls, **settings, starttls="true")), _MAIL)
    assert (len(starttls.envelopes), starttls.users[-1].endswith(USER)) == (1, True)
    with pytest.raises(MailNotSent, match=r"smtpServer\.starttls"):
        mail_server(_smtp(starttls, **settings))
    wrong = await _failure(
        sender, _smtp(starttls, **settings | {"password": "wrong"}, starttls="true")
    )
    assert (wrong.is_final, "wrong" in str(wrong)) == (False, False)


async def test_an_unknown_certificate_gets_no_mail_and_no_password(
    starttls: MailServer,
) -> None:
    """attacks: E7."""
    before = len(starttls.users)
    settings = {"auth": "true", "user": USER, "password": PASSWORD, "starttls": "true"}
    failure = await _failure(_sender(), _smtp(starttls, **settings))
    assert "certificate" in str(failure).lower()
    assert len(starttls.users) == before


async def test_without_starttls_no_mail_is_sent_if_the_realm_asks(
    received: MailServer,
) -> None:
    await _failure(_sender(), _smtp(received, starttls="true"))
    assert received.recipients == []


async def test_a_mail_goes_over_tls(pki: Path) -> None:
    with support.mail_server(tls=_tls(pki)) as server:
        await _sender(authorities=pki / "ca.crt").send(
            mail_server(_smtp(server, ssl="true")), _MAIL
        )
        await _failure(_sender(), _smtp(server, ssl="true"))
        assert len(server.envelopes) == 1


async def test_private_addresses_are_refused_unless_allowed(
    received: MailServer,
) -> None:
    failure = await _failure(_sender(AddressPolicy()), _smtp(received))
    assert "no address that is allowed: see REALMGATE_MAIL_NETWORKS" in str(failure)
    assert received.recipients == []


async def test_a_slow_server_gets_the_time_of_one_mail_in_total(
    received: MailServer,
) -> None:
    """attacks: E8. Each answer comes in time, the last one does not."""
    received.pause = 0.15
    try:
        failure = await _failure(_sender(time=timedelta(milliseconds=500)), _smtp(received))
    finally:
        received.pause = 0.0
    assert "in time" in str(failure)


async def test_only_a_refusal_of_the_mail_itself_is_final(received: MailServer) -> None:
    smtp = _smtp(received)
    received.answers[:] = ["451 later", "554 spam"]
    assert not (await _failure(_sender(), smtp)).is_final
    assert (await _failure(_sender(), smtp)).is_final
    unknown = replace(_MAIL, recipient="unknown@example.com")
    assert (await _failure(_sender(), smtp, unknown)).is_final
    received.drops = 1
    assert not (await _failure(_sender(), smtp)).is_final
    received.hangs = 1
    waiting = _sender(time=timedelta(milliseconds=300))
    assert "in time" in str(await _failure(waiting, smtp))
    assert received.envelopes == []
