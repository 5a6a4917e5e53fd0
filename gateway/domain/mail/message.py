"""Mail to users: what is sent, and by which server.

Keycloak: 8.1
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from gateway.domain.errors import RealmgateError
from gateway.domain.realm import Smtp
from gateway.domain.secrets import Secret

_PORT: Final = 25
_TLS_PORT: Final = 465
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_ADDRESS: Final = re.compile(
    r"([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*)@([^@]{1,253})"
)
"""Without quoted parts: a comma or a bracket could name another recipient."""
_DOMAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_LONGEST_ADDRESS: Final = 254


class MailKind(StrEnum):
    """What a mail is about; the first part of the keys of its texts, which are Keycloak's."""

    TEST = "emailTest"
    EMAIL_VERIFICATION = "emailVerification"
    EMAIL_UPDATE_CONFIRMATION = "emailUpdateConfirmation"
    EXECUTE_ACTIONS = "executeActions"
    REGISTRATION_ATTEMPT = "registrationAttempt"
    PASSWORD_RESET = "passwordReset"  # noqa: S105 - the first part of keys of texts


class Encryption(StrEnum):
    """How the connection to a mail server is protected."""

    NONE = "none"
    STARTTLS = "STARTTLS"
    TLS = "TLS"


class MailNotSent(RealmgateError):
    """The mail was not accepted. `str()` is the reason, for logs and operators only.

    `is_final` where sending the same mail again would fail again.
    """

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address with the name that is shown beside it."""

    address: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The mail server of a realm, and the sender of its mails.

    `envelope_sender` gets the reports of failed deliveries. `user` is None where the server needs
    no password.
    """

    host: str
    port: int
    encryption: Encryption
    sender: Mailbox
    envelope_sender: str
    reply_to: Mailbox | None = None
    user: str | None = None
    password: Secret | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """One mail to one recipient. `id` is the first part of its Message-ID, the same each time.

    `arguments` take the place of `{0}`, `{1}` ... in its texts. `link` carries a secret.
    """

    id: str
    realm_id: str
    realm_title: str
    recipient: str
    locale: str
    kind: MailKind
    created_at: datetime
    arguments: tuple[str, ...] = ()
    link: str = field(default="", repr=False)


def mail_server(smtp: Smtp) -> MailServer:
    """Return the server that `smtpServer` describes; raises MailNotSent where it is unusable."""
    settings = smtp.settings
    if smtp.host is None:
        raise MailNotSent("the realm has no mail server: set smtpServer.host")
    if not _HOST.fullmatch(smtp.host):
        raise MailNotSent("smtpServer.host is not a host name")
    user = _user(smtp)
    encryption = _encryption(smtp)
    if user is not None and encryption is Encryption.NONE:
        # On the way to the server anybody could read the password.
        raise MailNotSent("smtpServer.auth needs smtpServer.ssl or smtpServer.starttls")
    sender = Mailbox(ascii_address(settings.get("from", "")), settings.get("fromDisplayName", ""))
    reply_to = settings.get("replyTo")
    return MailServer(
        host=smtp.host,
        port=int(settings.get("port") or (_TLS_PORT if encryption is Encryption.TLS else _PORT)),
        encryption=encryption,
        sender=sender,
        envelope_sender=ascii_address(settings.get("envelopeFrom") or sender.address),
        reply_to=Mailbox(ascii_address(reply_to), settings.get("replyToDisplayName", ""))
        if reply_to
        else None,
        user=user,
        password=smtp.password,
    )


def _encryption(smtp: Smtp) -> Encryption:
    if smtp.settings.get("ssl") == "true":
        return Encryption.TLS
    return Encryption.STARTTLS if smtp.settings.get("starttls") == "true" else Encryption.NONE


def _user(smtp: Smtp) -> str | None:
    """Return the user that signs in to the server, None where none has to."""
    if smtp.settings.get("auth") != "true":
        return None
    if smtp.settings.get("authType", "basic") not in {"", "basic"}:
        raise MailNotSent("smtpServer.authType is not supported: use basic, a user and a password")
    if smtp.password is None or not smtp.settings.get("user"):
        raise MailNotSent("smtpServer.auth needs smtpServer.user and smtpServer.password")
    return smtp.settings["user"]


def ascii_address(address: str) -> str:
    """Return the address with its domain in ASCII; raises MailNotSent where that is impossible.

    Spec: RFC 5321 §4.1.2 (Dot-string), RFC 5890 §2.3.2.1 (A-labels)
    """
    parts = _ADDRESS.fullmatch(address)
    if parts is None or len(address) > _LONGEST_ADDRESS:
        raise MailNotSent("an address is not valid or needs SMTPUTF8", is_final=True)
    try:
        domain = parts.group(2).encode("idna").decode("ascii")
    except UnicodeError as error:
        raise MailNotSent("the domain of an address is not valid", is_final=True) from error
    if not _DOMAIN.fullmatch(domain):
        raise MailNotSent("the domain of an address is not valid", is_final=True)
    return f"{parts.group(1)}@{domain}"
