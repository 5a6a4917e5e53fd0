"""Mail to users: the messages, the server that sends them, and the queue where they wait.

Mails are stored with what causes them and sent afterwards by any worker. Keycloak: 8.1 realm;
attacks E8
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import uuid4

from gateway.domain.deliveries import NotDelivered, RetrySchedule
from gateway.domain.limits.rate_limits import RESETS_OF_USER
from gateway.domain.localization import LocalePreferences, select_locale
from gateway.domain.realm import Realm, Smtp
from gateway.domain.secrets import Secret
from gateway.domain.unique_names import smtp_address
from gateway.domain.users import User

_PORT: Final = 25
_TLS_PORT: Final = 465
_TOKEN: Final = "token"  # noqa: S105 - the name of a way to sign in
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_SECOND: Final = timedelta(seconds=1)


class MailKind(StrEnum):
    """What a mail is about; the first part of the keys of its texts, which are Keycloak's."""

    TEST = "emailTest"
    EMAIL_VERIFICATION = "emailVerification"
    EMAIL_UPDATE_CONFIRMATION = "emailUpdateConfirmation"
    EXECUTE_ACTIONS = "executeActions"
    REGISTRATION_ATTEMPT = "registrationAttempt"
    PASSWORD_RESET = "passwordReset"  # noqa: S105 - the first part of keys of texts
    EMAIL_CHANGED = "emailChanged"
    CERTIFICATES_EXPIRE = "certificatesExpire"
    EVENT_LOGIN_ERROR = "eventLoginError"
    EVENT_UPDATE_PASSWORD = "eventUpdatePassword"  # noqa: S105 - the first part of a key
    EVENT_REMOVE_TOTP = "eventRemoveTotp"
    EVENT_UPDATE_TOTP = "eventUpdateTotp"
    EVENT_UPDATE_CREDENTIAL = "eventUpdateCredential"
    EVENT_REMOVE_CREDENTIAL = "eventRemoveCredential"
    EVENT_TEMPORARY_LOCKOUT = "eventUserDisabledByTemporaryLockout"
    EVENT_PERMANENT_LOCKOUT = "eventUserDisabledByPermanentLockout"


EVENT_MAILS: Final = {
    "LOGIN_ERROR": MailKind.EVENT_LOGIN_ERROR,
    "UPDATE_PASSWORD": MailKind.EVENT_UPDATE_PASSWORD,
    "REMOVE_TOTP": MailKind.EVENT_REMOVE_TOTP,
    "UPDATE_TOTP": MailKind.EVENT_UPDATE_TOTP,
    "UPDATE_CREDENTIAL": MailKind.EVENT_UPDATE_CREDENTIAL,
    "REMOVE_CREDENTIAL": MailKind.EVENT_REMOVE_CREDENTIAL,
    "USER_DISABLED_BY_TEMPORARY_LOCKOUT": MailKind.EVENT_TEMPORARY_LOCKOUT,
    "USER_DISABLED_BY_PERMANENT_LOCKOUT": MailKind.EVENT_PERMANENT_LOCKOUT,
}
"""Name of an event -> the mail about it. Keycloak: 10.6 listeners"""
ABOUT_EVENTS: Final = frozenset(EVENT_MAILS.values())
"""The first argument of their texts is the time of the event, or the type of a credential."""
CAUSED_BY_STRANGERS: Final = frozenset(
    {
        MailKind.EVENT_LOGIN_ERROR,
        MailKind.EVENT_TEMPORARY_LOCKOUT,
        MailKind.EVENT_PERMANENT_LOCKOUT,
        MailKind.REGISTRATION_ATTEMPT,
    }
)
"""Mails about what a stranger can do with the name or the address of a user."""
NOTIFICATIONS: Final = (
    ABOUT_EVENTS | CAUSED_BY_STRANGERS | {MailKind.EMAIL_CHANGED, MailKind.CERTIFICATES_EXPIRE}
)
"""Mails that no user has asked for."""
MAILED_BY_DEFAULT: Final = frozenset(
    name for name in EVENT_MAILS if not name.startswith("USER_DISABLED_BY_")
)
"""Events that cause a mail unless the operator chooses others. Keycloak: 10.6 listeners"""


class Encryption(StrEnum):
    """How the connection to a mail server is protected."""

    NONE = "none"
    STARTTLS = "STARTTLS"
    TLS = "TLS"


class MailNotSent(NotDelivered):
    """The mail was not accepted."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address with the name that is shown beside it."""

    address: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """How to get the access token that replaces a password: `client_credentials`.

    Keycloak: authTokenUrl, authTokenClientId, authTokenClientSecret, authTokenScope (26.2)
    """

    url: str
    client_id: str
    client_secret: Secret
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The mail server of a realm, and the sender of its mails.

    `envelope_sender` gets the reports of failed deliveries. `user` is None where the server needs
    no sign-in; otherwise there is either a `password`, or a `token` that is requested (XOAUTH2).
    """

    host: str
    port: int
    encryption: Encryption
    sender: Mailbox
    envelope_sender: str
    reply_to: Mailbox | None = None
    user: str | None = None
    password: Secret | None = None
    token: TokenRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """One mail; `id` begins its Message-ID, `arguments` are of its texts, `link` is secret."""

    id: str
    realm_id: str
    realm_title: str
    recipient: str
    locale: str
    kind: MailKind
    created_at: datetime
    arguments: tuple[str, ...] = ()
    link: str = field(default="", repr=False)
    theme: str = ""
    """The theme of its HTML; empty, or unknown where it is sent, for the built-in design."""


def user_mail(realm: Realm, user: User, address: str, kind: MailKind, now: datetime) -> Mail:
    """Return a new mail to a user."""
    return Mail(
        id=str(uuid4()),
        realm_id=realm.id,
        realm_title=realm.display_name or realm.name,
        recipient=address,
        locale=select_locale(realm.localization, LocalePreferences(user=user.locale)),
        kind=kind,
        created_at=now,
        theme=realm.email_theme or "",
    )


def with_link(mail: Mail, link: str, lifespan: timedelta, *arguments: str) -> Mail:
    """Return the mail with a link; its arguments are `lifespan` in seconds and `arguments`."""
    return replace(mail, link=link, arguments=(str(lifespan // _SECOND), *arguments))


def mail_time(instant: datetime) -> str:
    """Return an instant as the texts of mails show it: in UTC."""
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def can_send_mails(realm: Realm) -> bool:
    """Tell whether the realm has a usable mail server."""
    try:
        mail_server(realm.smtp)
    except MailNotSent:
        return False
    return True


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
        password=None if _has_token(smtp) else smtp.password,
        token=_token_request(smtp) if user is not None and _has_token(smtp) else None,
    )


def _encryption(smtp: Smtp) -> Encryption:
    if smtp.settings.get("ssl") == "true":
        return Encryption.TLS
    return Encryption.STARTTLS if smtp.settings.get("starttls") == "true" else Encryption.NONE


def _user(smtp: Smtp) -> str | None:
    """Return the user that signs in to the server, None where none has to."""
    if smtp.settings.get("auth") != "true":
        return None
    user = smtp.settings.get("user", "")
    if smtp.settings.get("authType", "basic") not in {"", "basic", _TOKEN}:
        raise MailNotSent(f"smtpServer.authType is not supported: use basic or {_TOKEN}")
    if not user or not user.isprintable() or (smtp.password is None and not _has_token(smtp)):
        raise MailNotSent("smtpServer.auth needs smtpServer.user and smtpServer.password")
    return user


def _has_token(smtp: Smtp) -> bool:
    return smtp.settings.get("authType") == _TOKEN


def _token_request(smtp: Smtp) -> TokenRequest:
    client_id = smtp.settings.get("authTokenClientId", "")
    if smtp.token_url is None or not client_id or smtp.token_secret is None:
        names = "authTokenUrl, authTokenClientId and authTokenClientSecret"
        raise MailNotSent(f"smtpServer.authType {_TOKEN} needs {names}")
    scope = smtp.settings.get("authTokenScope", "")
    return TokenRequest(smtp.token_url, client_id, smtp.token_secret, scope)


def ascii_address(address: str) -> str:
    """Return the address with an ASCII domain; raises MailNotSent where that is impossible.

    Spec: RFC 5321 §4.1.2 (Dot-string), RFC 5890 §2.3.2.1 (A-labels)
    """
    try:
        return smtp_address(address)
    except ValueError as error:
        raise MailNotSent(str(error), is_final=True) from error


LONGEST_WAIT: Final = timedelta(hours=24)
"""After this a mail is given up: a mail server that is away for a day needs its operator."""
KEPT_AFTERWARDS: Final = timedelta(days=7)
"""How long a mail that was given up can be listed."""
_FIRST_PERIOD: Final = datetime(1970, 1, 1, tzinfo=UTC)
PERIOD: Final = timedelta(hours=1)
"""The limit of a user counts mails of this time; a mail that was sent is kept as long."""
MOST_OF_USER: Final = 10
"""Mails to one user in a period: more than a person asks for, and no flood."""
MOST_RESETS_OF_USER: Final = RESETS_OF_USER.in_all + RESETS_OF_USER.of_known
"""Links of resets in a period: those of `RESETS_OF_USER`, which shares them among networks."""
MOST_WAITING: Final = 100_000
"""Mails of one realm that may wait: a dead mail server must not fill the database."""
MOST_NOTIFICATIONS_OF_USER: Final = 5
"""Notifications of one kind to one user in a period: a guesser of passwords causes some."""
MOST_RECIPIENTS_OF_USER: Final = 20
"""Notifications of one kind in a period, those included that are sent at its end."""
MOST_NOTIFICATIONS_WAITING: Final = 20_000
"""Notifications of one kind and realm that may wait."""
_MOST_ABOUT_EXPIRY: Final = 100
"""Mails about what expires that a realm queues in a period, or that wait."""
_SCHEDULE: Final = RetrySchedule(
    first_delay=timedelta(seconds=15),
    longest_delay=timedelta(minutes=15),
    longest_wait=LONGEST_WAIT,
)


@dataclass(frozen=True, slots=True)
class MailLimit:
    """How many mails of a sort there may be: to one user in a period, and waiting in a realm.

    Sorts are counted apart: mails that users ask for, links that administrators send, and each
    kind of notification. So neither strangers nor a thief of the account keep a mail back that says
    what was changed, or one that a user or an administrator has asked for.
    """

    kinds: frozenset[MailKind]
    of_user: int
    waiting: int
    is_summed_up: bool = False
    """Further mails of the period become one mail to each recipient, sent at its end."""
    same_work: bool = False
    """A refusal costs as much as a mail: it must not tell whether there is an account."""


_RESETS: Final = frozenset({MailKind.PASSWORD_RESET})
"""Mails that a user, or a caller who knows the user name, asks for."""
_ABOUT_EXPIRY: Final = frozenset({MailKind.CERTIFICATES_EXPIRE})
"""At most one a day to each recipient of a realm."""
_BY_ADMINISTRATORS: Final = frozenset({MailKind.EXECUTE_ACTIONS, MailKind.TEST})
_LIMITS: Final = (
    MailLimit(_ABOUT_EXPIRY, _MOST_ABOUT_EXPIRY, _MOST_ABOUT_EXPIRY),
    *(
        MailLimit(
            frozenset({kind}),
            MOST_NOTIFICATIONS_OF_USER,
            MOST_NOTIFICATIONS_WAITING,
            is_summed_up=True,
        )
        for kind in sorted(NOTIFICATIONS - _ABOUT_EXPIRY)
    ),
    MailLimit(_RESETS, MOST_RESETS_OF_USER, MOST_WAITING, same_work=True),
    MailLimit(_BY_ADMINISTRATORS, MOST_OF_USER, MOST_WAITING),
    MailLimit(
        frozenset(MailKind) - NOTIFICATIONS - _RESETS - _BY_ADMINISTRATORS,
        MOST_OF_USER,
        MOST_WAITING,
    ),
)


def period_end(instant: datetime) -> datetime:
    """Return the end of the period that an instant is in."""
    return instant + PERIOD - (instant - _FIRST_PERIOD) % PERIOD


def limit_of(kind: MailKind) -> MailLimit:
    """Return the limit of the sort that a mail is of."""
    return next(limit for limit in _LIMITS if kind in limit.kinds)


@dataclass(frozen=True, slots=True)
class QueuedMail:
    """A mail in the queue."""

    mail: Mail
    user_id: str | None
    """None for a mail that goes to no user of the realm."""
    attempts: int = 0
    """How often a gateway has begun to send it."""
    is_dry_run: bool = False
    """Nothing is sent: adding it takes as long as a mail, where there is no user (attacks: D11)."""

    @property
    def realm_id(self) -> str:
        return self.mail.realm_id

    @property
    def id(self) -> str:
        return self.mail.id

    def next_attempt_at(self, now: datetime) -> datetime | None:
        """Return when to send it again after a failure; None where it is given up."""
        return _SCHEDULE.next_attempt_at(self.attempts, self.mail.created_at, now)


@dataclass(frozen=True, slots=True)
class MailStatus:
    """A mail that waits, or was given up, as an operator sees it: without its link."""

    id: str
    user_id: str | None
    kind: str
    created_at: datetime
    attempts: int
    due_at: datetime | None
    failed_at: datetime | None
    reason: str | None
    """Why the last attempt failed."""
