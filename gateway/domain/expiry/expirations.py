"""Something that expires, and when it is due to be renewed.

A revocation list of a week or a certificate of an hour is renewed all the time: whatever lives
shortly is due in the last third of its lifetime only, even where a longer time ahead is asked for.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from gateway.domain.expiry.renewal import Owner, Renewal

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
    """What of one kind and realm expires: the first instant, and the number due in each window.

    `counts` has a number for each of `WINDOWS`, in that order.
    """

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
