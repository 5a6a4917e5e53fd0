"""Certificates, revocation lists and keys that expire: when, who renews them, who gets mail.

A revocation list of a week or a certificate of an hour is renewed all the time: a thing with a
short life is due in the last third of its lifetime only, even where a longer time ahead is asked
for. Of client certificates that were presented and trusted, only the facts are kept. Own attributes
of a realm decide about mails; docs/keys-and-expiry.md describes them.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import uuid4

from gateway.domain.certificates import PresentedCertificate
from gateway.domain.localization import LocalePreferences, select_locale
from gateway.domain.mail import Mail, MailKind, mail_time
from gateway.domain.realm import Realm


class OwnerKind(StrEnum):
    """What an owner is; SETTINGS has no name."""

    CLIENT = "client"
    USER = "user"
    REALM = "realm"
    KEY = "key"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Owner:
    """One owner; `name` is a public name, or the `kid` of a key."""

    kind: OwnerKind
    name: str = ""


class RenewalKind(StrEnum):
    """Where a thing is renewed, which says what the value of a `Renewal` is."""

    COMMAND = "command"
    """By a command of the gateway, the value."""
    SOURCE = "source"
    """In the files and at the URLs of the settings, the value."""
    ISSUER = "issuer"
    """At the issuer of the certificate, whose subject is the value."""
    CLIENT_ATTRIBUTES = "client-attributes"
    """In the attributes of the client that hold its certificates; no value."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """Where a thing is renewed."""

    kind: RenewalKind
    value: str = ""


PART_OF_LIFETIME: Final = 3
"""What is left of a lifetime when its end is reported: one part of so many."""
LONGEST_WINDOW: Final = timedelta(days=3650)
"""The longest time ahead that can be asked for."""
WINDOWS: Final[Mapping[str, timedelta]] = {
    "0d": timedelta(),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
"""The times ahead that metrics count: `0d` has expired."""


class ExpiryKind(StrEnum):
    """What expires."""

    CLIENT_CERTIFICATE = "client-certificate"
    """A certificate that clients or users have presented, and that was trusted."""
    REGISTERED_CERTIFICATE = "registered-certificate"
    """A certificate that a client has registered, in its attributes or its JWKS."""
    AUTHORITY = "authority"
    """A trust anchor or intermediate: of the settings, of a realm or of a client."""
    REVOCATION_LIST = "revocation-list"
    REALM_KEY = "realm-key"
    """The certificate of a realm's key that signs or decrypts."""
    SERVER_CERTIFICATE = "server-certificate"
    """The certificate of the proxy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiration:
    """One thing that expires.

    `id` is the `x5t#S256` of a certificate; of a revocation list it names the issuer and the end.
    `realm` is the name of a realm, None for what the settings name. Without `owners` it is not
    known whose it is.
    """

    kind: ExpiryKind
    id: str
    realm: str | None
    subject: str
    issuer: str
    begins_at: datetime
    expires_at: datetime
    owners: tuple[Owner, ...]
    renewal: Renewal
    last_seen_at: datetime | None = None
    """The day on which a client certificate was presented last."""

    @property
    def order(self) -> tuple[datetime, str, str]:
        """The place in a list: what expires first comes first."""
        return self.expires_at, self.kind.value, self.id

    def is_due(self, now: datetime, within: timedelta) -> bool:
        """Tell whether it expires within the time, and lives in the last third of its lifetime."""
        ends_soon = self.expires_at - now <= within
        return ends_soon and watched_from(self.begins_at, self.expires_at) <= now


def watched_from(begins_at: datetime, expires_at: datetime) -> datetime:
    """Return the instant from which the end of a lifetime is reported."""
    return expires_at - max(expires_at - begins_at, timedelta()) / PART_OF_LIFETIME


@dataclass(frozen=True, slots=True)
class StoredCertificate:
    """A certificate of a realm as it is stored: PEM, base64 of DER, or a JWKS with `x5c`.

    `client` is the public name of the client that has it, None for the realm itself. `name` is the
    `kid` of a key. What leaves the realm at `ends_at` need not be renewed after that.
    """

    kind: ExpiryKind
    realm: str
    content: str = field(repr=False)
    client: str | None = None
    name: str = ""
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExpirySummary:
    """The first expiry of a kind and realm, and how many are due in each of `WINDOWS`."""

    kind: ExpiryKind
    realm: str | None
    first: datetime
    counts: tuple[int, ...]


def summarize(expirations: Iterable[Expiration], now: datetime) -> tuple[ExpirySummary, ...]:
    """Return a summary for each kind and realm."""
    found: defaultdict[tuple[ExpiryKind, str | None], list[Expiration]] = defaultdict(list)
    for each in expirations:
        found[each.kind, each.realm].append(each)
    return tuple(
        ExpirySummary(
            kind, realm, min(each.expires_at for each in together), _counts(together, now)
        )
        for (kind, realm), together in found.items()
    )


def _counts(expirations: Sequence[Expiration], now: datetime) -> tuple[int, ...]:
    return tuple(
        sum(each.is_due(now, window) for each in expirations) for window in WINDOWS.values()
    )


MOST_SEEN: Final = 10_000
"""Certificates of one realm that are kept; those that were presented last."""
KEPT_AFTER_EXPIRY: Final = timedelta(days=7)
"""How long a certificate is listed that has expired."""
LONGEST_NAME: Final = 1_000
"""Characters of a subject or issuer that are kept."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A certificate presented on the day `seen_at`; `client` is public, `user_id` internal."""

    realm_id: str
    leaf: PresentedCertificate
    seen_at: datetime
    client: str | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class SeenCertificate:
    """What is kept of a certificate; `id` is its `x5t#S256`, `realm` the name of the realm."""

    id: str
    realm: str
    subject: str
    issuer: str
    begins_at: datetime
    expires_at: datetime
    last_seen_at: datetime
    client: str | None
    username: str | None


def name_digest(leaf: PresentedCertificate) -> str:
    """Return a digest of issuer and all names: a certificate and its renewal have the same."""
    names = f"{leaf.issuer}\0{leaf.subject}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(names + b"\0" + leaf.names_digest).hexdigest()


MOST_MAILED: Final = 50
"""Lines of one mail; the others are counted."""
_DAY: Final = timedelta(days=1)


def expiry_mail(
    realm: Realm, recipient: str, expiring: Sequence[Expiration], now: datetime
) -> Mail:
    """Return a mail about what expires.

    Its first argument is the number of things; the others are lists in JSON, one for each of the
    first ones: kind, end, days left, subject, the owners as pairs of kind and name, and the renewal
    as a pair of kind and value.
    """
    return Mail(
        id=str(uuid4()),
        realm_id=realm.id,
        realm_title=realm.display_name or realm.name,
        recipient=recipient,
        locale=select_locale(realm.localization, LocalePreferences()),
        kind=MailKind.CERTIFICATES_EXPIRE,
        created_at=now,
        arguments=(str(len(expiring)), *(_line(each, now) for each in expiring[:MOST_MAILED])),
        theme=realm.email_theme or "",
    )


def _line(each: Expiration, now: datetime) -> str:
    left = max((each.expires_at - now) // _DAY, 0)
    return json.dumps(
        [
            each.kind.value,
            mail_time(each.expires_at),
            str(left),
            each.subject,
            [(owner.kind.value, owner.name) for owner in each.owners],
            (each.renewal.kind.value, each.renewal.value),
        ]
    )
