"""Mail servers that take an access token in place of a password. Spec: RFC 6749 §4.4."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import pytest

from gateway.domain.mail import Mail, MailKind, MailNotSent, mail_server
from gateway.domain.realm import Smtp
from gateway.domain.secrets import Secret
from gateway.mail import MailRenderer, SmtpMailSender
from gateway.outgoing import (
    AddressPolicy,
    ClientCredentialsTokens,
    GuardedHttpClient,
    GuardedSockets,
    ServerVerification,
)
from tests.support import mail_server as support
from tests.support.mail_server import USER, MailServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW
from tests.support.token_server import TokenServer, token_server

_LOOPBACK: Final = AddressPolicy((ip_network("127.0.0.0/8"),))
_SECRET: Final = "canary-of-a-client"
_MAIL: Final = Mail(
    id="the-id",
    realm_id="demo-id",
    realm_title="Demo",
    recipient="ada@example.com",
    locale="en",
    kind=MailKind.TEST,
    created_at=NOW,
)


class _NoTexts:
    async def find_texts(self, *_: object) -> Mapping[str, Mapping[str, str]]:
        return {}


@dataclass(frozen=True, slots=True)
class _Mailing:
    server: MailServer
    issuer: TokenServer
    clock: SetClock
    sender: SmtpMailSender

    async def send(self, **more: str) -> None:
        settings = {
            "auth": "true",
            "authType": "token",
            "starttls": "true",
            "user": USER,
            "authTokenUrl": self.issuer.url,
            "authTokenClientId": "mailer",
            "authTokenScope": "smtp.send",
            **more,
        }
        smtp = Smtp(self.server.settings(**settings), None, Secret(_SECRET))
        await self.sender.send(mail_server(smtp), _MAIL)

    async def failure(self, **more: str) -> MailNotSent:
        with pytest.raises(MailNotSent) as caught:
            await self.send(**more)
        return caught.value


@pytest.fixture(scope="module")
def servers(pki: Path) -> Iterator[tuple[MailServer, TokenServer]]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    with (
        support.mail_server(starttls=context, needs_password=True) as server,
        token_server() as issuer,
    ):
        yield server, issuer


@pytest.fixture
async def mailing(servers: tuple[MailServer, TokenServer], pki: Path) -> AsyncIterator[_Mailing]:
    server, issuer = servers
    server.envelopes.clear()
    server.tokens.clear()
    issuer.forms.clear()
    issuer.status, issuer.document = 200, {"access_token": "token-1", "expires_in": 600}
    server.right_token = "token-1"
    clock = SetClock(NOW)
    sender = SmtpMailSender(
        GuardedSockets(_LOOPBACK).connect,
        MailRenderer(_NoTexts()),
        tokens=ClientCredentialsTokens(GuardedHttpClient(_LOOPBACK, allow_http=True), clock),
        verification=ServerVerification(pki / "ca.crt").context,
        host_name="gateway.test",
        time=timedelta(seconds=5),
    )
    yield _Mailing(server, issuer, clock, sender)
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_token_is_requested_once_until_it_expires(mailing: _Mailing) -> None:
    await mailing.send()
    await mailing.send()
    assert mailing.issuer.forms == [
        {
            "grant_type": "client_credentials",
            "client_id": "mailer",
            "client_secret": _SECRET,
            "scope": "smtp.send",
        }
    ]
    mailing.clock.instant += timedelta(seconds=571)
    await mailing.send()
    assert (len(mailing.issuer.forms), len(mailing.server.envelopes)) == (2, 3)
    assert mailing.server.tokens == ["token-1"] * 3


async def test_a_token_that_the_mail_server_refuses_is_requested_anew(mailing: _Mailing) -> None:
    mailing.server.right_token = "token-2"
    failure = await mailing.failure()
    assert (failure.is_final, "token-1" in str(failure)) == (False, False)
    mailing.issuer.document = {"access_token": "token-2", "expires_in": 600}
    await mailing.send()
    assert mailing.server.tokens == ["token-1", "token-2"]


@pytest.mark.parametrize(
    ("status", "document"),
    [
        (401, {"access_token": "token-1"}),
        (200, {"error": "canary"}),
        (200, ["canary"]),
        (200, {"access_token": "canary\r\nRCPT"}),
        (200, {"access_token": 7}),
    ],
)
async def test_a_mail_waits_where_there_is_no_token(
    mailing: _Mailing, status: int, document: Any
) -> None:
    mailing.issuer.status, mailing.issuer.document = status, document
    failure = await mailing.failure()
    assert (failure.is_final, "authTokenUrl" in str(failure)) == (False, True)
    assert "canary" not in str(failure)
    assert mailing.server.tokens == []


async def test_a_token_of_another_client_is_another_one(mailing: _Mailing) -> None:
    await mailing.send()
    await mailing.send(authTokenClientId="other")
    assert [form["client_id"] for form in mailing.issuer.forms] == ["mailer", "other"]
