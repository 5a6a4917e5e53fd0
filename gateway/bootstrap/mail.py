"""Builds what gives mails to the mail servers of realms."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from gateway.domain.ports.outgoing.mail import MailTokens
from gateway.domain.ports.realm_texts import RealmTexts
from gateway.mail import MailRenderer, SmtpMailSender
from gateway.outgoing import AddressPolicy, GuardedSockets
from gateway.settings import Settings


def mail_sender(settings: Settings, texts: RealmTexts, tokens: MailTokens) -> SmtpMailSender:
    """Return the sender of mails; `texts` are those that administrators wrote."""
    return SmtpMailSender(
        GuardedSockets(AddressPolicy(settings.mail_networks)).connect,
        MailRenderer(texts, settings.themes),
        tokens=tokens,
        host_name=_smtp_name(urlsplit(settings.public_url).hostname or "localhost"),
        authorities=settings.mail_ca_file,
    )


def _smtp_name(host: str) -> str:
    """Return a host as SMTP names it: an address in brackets. Spec: RFC 5321 §4.1.3."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return f"[IPv6:{address}]" if ":" in host else f"[{address}]"
