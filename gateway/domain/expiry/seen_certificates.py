"""Client certificates that were presented and trusted: what is kept of each, and for how long.

The certificate itself is not kept.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.certificates import PresentedCertificate

MOST_SEEN: Final = 10_000
"""Certificates of one realm that are kept; those that were presented last."""
KEPT_AFTER_EXPIRY: Final = timedelta(days=7)
"""How long a certificate is listed that has expired."""
LONGEST_NAME: Final = 1_000
"""Characters of a subject or issuer that are kept."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A certificate that was presented on a day, and what it was used as.

    `seen_at` is the beginning of the day. `client` is a public name, `user_id` an internal id.
    """

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
    """Return a digest of issuer and all names: a certificate and its renewal have the same.

    Devices of one client often have the same subject, and differ in an alternative name alone.
    """
    names = f"{leaf.issuer}\0{leaf.subject}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(names + b"\0" + leaf.names_digest).hexdigest()
