"""Builds what gives mails to the mail servers of realms.

SMTP is loaded with the first mail: it takes 1 MB with its texts, and most workers send none.
"""

from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from gateway.domain.mail import Mail, MailServer
from gateway.domain.ports.outgoing.mail import MailSender, MailTokens
from gateway.domain.ports.realm_texts import RealmTexts
from gateway.outgoing import AddressPolicy, GuardedSockets, ServerVerification
from gateway.settings import Settings


class _SenderOfFirstMail:
    """MailSender that is made when there is a mail."""

    def __init__(self, make: Callable[[], MailSender]) -> None:
        self._make = make
        self._sender: MailSender | None = None

    async def send(self, server: MailServer, mail: Mail) -> None:
        if self._sender is None:
            self._sender = self._make()
        await self._sender.send(server, mail)


def mail_sender(settings: Settings, texts: RealmTexts, tokens: MailTokens) -> MailSender:
    """Return the sender of mails; `texts` are those that administrators wrote."""

    def make() -> MailSender:
        from gateway.mail import MailRenderer, SmtpMailSender  # noqa: PLC0415 - see above

        return SmtpMailSender(
            GuardedSockets(AddressPolicy(settings.mail_networks)).connect,
            MailRenderer(texts, settings.themes),
            tokens=tokens,
            verification=ServerVerification(settings.mail_ca_file).context,
            host_name=_smtp_name(urlsplit(settings.public_url).hostname or "localhost"),
        )

    return _SenderOfFirstMail(make)


def _smtp_name(host: str) -> str:
    """Return a host as SMTP names it: an address in brackets. Spec: RFC 5321 §4.1.3."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return f"[IPv6:{address}]" if ":" in host else f"[{address}]"
