"""A mail server on the loopback address, that fails in the ways of mail servers."""

import asyncio
import ssl
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any
from weakref import WeakSet

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from tests.support.ports import free_port

USER, PASSWORD = "postmaster", "the mail server's word"


@dataclass
class MailServer:
    """What came in. `answers` are given to the next messages, one each; 250 follows.

    `drops` and `hangs` count messages whose connection is closed, or left without an answer, when
    they begin; `unanswered` those that come in, and whose sender does not learn it.
    """

    port: int = 0
    answers: list[str] = field(default_factory=list)
    drops: int = 0
    hangs: int = 0
    unanswered: int = 0
    pause: float = 0.0
    """Seconds before each answer."""
    envelopes: list[Envelope] = field(default_factory=list)
    refused: list[Envelope] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    right_token: str = ""

    @property
    def messages(self) -> list[EmailMessage]:
        """The messages that were accepted."""
        return [_parsed(envelope) for envelope in self.envelopes]

    def settings(self, **more: str) -> dict[str, str]:
        """Return `smtpServer` of a realm that sends by this server."""
        return {"host": "localhost", "port": str(self.port), "from": "realm@example.org", **more}

    async def handle_RCPT(  # noqa: N802 - the names are the library's
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        self.recipients.append(address)
        if address.startswith("unknown@"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802
        answer = self.answers.pop(0) if self.answers else "250 OK"
        (self.envelopes if answer.startswith("250") else self.refused).append(envelope)
        if self.unanswered:
            self.unanswered -= 1
            await asyncio.sleep(3600)
        return answer

    async def auth_XOAUTH2(self, _: SMTP, arguments: list[str]) -> AuthResult:  # noqa: N802
        """Accept the user with the right token. The names are the library's."""
        user, bearer, *_rest = b64decode(arguments[1]).decode().split("\x01")
        self.tokens.append(bearer.removeprefix("auth=Bearer "))
        right = (user, self.tokens[-1]) == (f"user={USER}", self.right_token)
        return AuthResult(success=right, handled=False)

    def authenticate(self, _: SMTP, __: Session, ___: Envelope, mechanism: str, data: Any) -> Any:
        """Accept the one user."""
        self.users.append(f"{mechanism} {data.login.decode()}")
        right = (data.login.decode(), data.password.decode()) == (USER, PASSWORD)
        return AuthResult(success=right, handled=False)


class _FailingSmtp(SMTP):
    """Closes the connection, or waits, where a message would follow."""

    async def push(self, status: Any) -> None:
        await asyncio.sleep(self.event_handler.pause)
        await super().push(status)

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802 - the name is the library's
        server: MailServer = self.event_handler
        if server.drops:
            server.drops -= 1
            await self.push("354 go on")
            assert self.transport is not None
            self.transport.close()
        elif server.hangs:
            server.hangs -= 1
            await asyncio.sleep(3600)
        else:
            await super().smtp_DATA(arg)


class _Controller(Controller):
    def __init__(self, handler: MailServer, **settings: Any) -> None:
        super().__init__(handler, **settings)
        self._connections: WeakSet[SMTP] = WeakSet()

    def factory(self) -> SMTP:
        connection = _FailingSmtp(self.handler, **self.SMTP_kwargs)
        self._connections.add(connection)
        return connection

    def stop(self, no_assert: bool = False) -> None:  # noqa: FBT001, FBT002 - the library's
        asyncio.run_coroutine_threadsafe(self._close_connections(), self.loop).result()
        super().stop(no_assert)

    async def _close_connections(self) -> None:
        """Close what clients and tests left open; the library leaves it to the collector."""
        for connection in list(self._connections):
            if connection.transport is not None:
                connection.transport.close()
        await asyncio.sleep(0)


@contextmanager
def mail_server(
    *,
    starttls: ssl.SSLContext | None = None,
    tls: ssl.SSLContext | None = None,
    needs_password: bool = False,
) -> Iterator[MailServer]:
    """Receive mail until the end of the block."""
    server = MailServer(free_port())
    controller = _Controller(
        server,
        hostname="127.0.0.1",
        port=server.port,
        ssl_context=tls,
        tls_context=starttls,
        authenticator=server.authenticate if needs_password else None,
        auth_required=needs_password,
        auth_require_tls=tls is None,
    )
    controller.start()
    try:
        yield server
    finally:
        controller.stop()


def _parsed(envelope: Envelope) -> EmailMessage:
    content = envelope.original_content or b""
    message = message_from_bytes(content, policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message
