"""Gives mails to mail servers by SMTP.

The certificate of a server is always verified. STARTTLS is required where a realm asks for it: a
server that does not offer it gets no mail and no password. One connection per mail, with a limit of
time in total. Spec: RFC 5321, RFC 3207, RFC 8314; attacks E7
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import partial
from typing import Final

import aiosmtplib

from gateway.domain.mail import Encryption, Mail, MailNotSent, MailServer, ascii_address
from gateway.domain.ports.outgoing import MailTokens
from gateway.mail.rendering import MailRenderer, message_bytes

MOST_TIME: Final = timedelta(seconds=15)
"""For one mail, from the look-up of the server's name to its answer."""
_PARTING_TIME: Final = timedelta(seconds=1)
_LONGEST_REASON: Final = 200
_ALWAYS_REFUSED: Final = range(500, 600)


class SmtpMailSender:
    """MailSender by SMTP.

    `connect` returns a connected socket for host and port, or raises OSError. `verification` is
    called for encrypted connections alone. `host_name` is the name that the gateway gives to
    servers.
    """

    def __init__(
        self,
        connect: Callable[[str, int], Awaitable[socket.socket]],
        renderer: MailRenderer,
        *,
        verification: Callable[[], ssl.SSLContext],
        host_name: str,
        tokens: MailTokens | None = None,
        time: timedelta = MOST_TIME,
    ) -> None:
        self._tokens = tokens
        self._connect = connect
        self._renderer = renderer
        self._host_name = host_name
        self._verification = verification
        self._time = time

    async def send(self, server: MailServer, mail: Mail) -> None:
        recipient = ascii_address(mail.recipient)
        try:
            rendered = await self._renderer.render_mail(mail)
            content = message_bytes(server, mail, rendered)
        except ValueError as error:
            raise MailNotSent("the mail has a text that cannot be sent", is_final=True) from error
        with ExitStack() as connection:
            try:
                async with asyncio.timeout(self._time.total_seconds()):
                    opened = await self._connect(server.host, server.port)
                    connection.callback(_abort, opened)
                    client = await self._session(server, opened)
                    await client.sendmail(server.envelope_sender, [recipient], content)
            except TimeoutError as error:
                raise MailNotSent(f"{server.host} did not answer in time") from error
            except (aiosmtplib.SMTPException, OSError) as error:
                self._discard_token(server, error)
                raise _refusal(server, error) from error
            await _part(client)

    def _discard_token(self, server: MailServer, error: Exception) -> None:
        is_refused = isinstance(error, aiosmtplib.SMTPAuthenticationError)
        if is_refused and server.token is not None and self._tokens is not None:
            self._tokens.discard(server.token)

    async def _session(self, server: MailServer, opened: socket.socket) -> aiosmtplib.SMTP:
        """Return a client that is connected, encrypted and authenticated as the realm asks."""
        token = None
        if server.token is not None and self._tokens is not None:
            token = partial(self._tokens.get_token, server.token)
        client = aiosmtplib.SMTP(
            hostname=server.host,
            sock=opened,
            local_hostname=self._host_name,
            timeout=self._time.total_seconds(),
            use_tls=server.encryption is Encryption.TLS,
            start_tls=server.encryption is Encryption.STARTTLS,
            tls_context=None if server.encryption is Encryption.NONE else self._verification(),
            username=server.user,
            password=None if server.password is None else server.password.reveal(),
            oauth_token_generator=token,
        )
        await client.connect()
        return client


async def _part(client: aiosmtplib.SMTP) -> None:
    """End the session; errors are ignored, since the server has accepted the mail."""
    with suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
        async with asyncio.timeout(_PARTING_TIME.total_seconds()):
            await client.quit()
    client.close()


def _abort(opened: socket.socket) -> None:
    """End a connection at once: closing TLS would wait for the server."""
    with suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)


def _refusal(server: MailServer, error: aiosmtplib.SMTPException | OSError) -> MailNotSent:
    """Return the failure with the server's reply; only a refusal of the mail itself is final."""
    is_final = False
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        error = error.recipients[0]
    if isinstance(
        error,
        aiosmtplib.SMTPRecipientRefused | aiosmtplib.SMTPSenderRefused | aiosmtplib.SMTPDataError,
    ):
        is_final = error.code in _ALWAYS_REFUSED
    said = "".join(character if character.isprintable() else " " for character in str(error))
    return MailNotSent(f"{server.host}: {said[:_LONGEST_REASON]}", is_final=is_final)
