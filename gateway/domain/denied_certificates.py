"""Entries of deny lists: certificates that a realm refuses whatever proxy and lists say of them.

The deny list of the realm master counts in every realm.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gateway.domain import base64url
from gateway.domain.distinguished_names import DistinguishedName

MOST_DENIED: Final = 10_000
"""Entries of one realm; a revocation list holds more."""


@dataclass(frozen=True, slots=True)
class IssuedSerial:
    """A certificate by its issuer and the serial number that the issuer gave it."""

    issuer: DistinguishedName
    serial: int

    @property
    def digest(self) -> str:
        """The SHA-256 of both, in base64url."""
        named = f"{self.serial:x} {self.issuer}"
        hashed = hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()
        return base64url.encode(hashed)


@dataclass(frozen=True, slots=True)
class DeniedCertificate:
    """One entry: `certificate` is `x5t#S256` (base64url of the SHA-256), or issuer and serial.

    It counts until `expires_at`, without one until it is removed. `reason` is for administrators.
    """

    certificate: str | IssuedSerial
    created_at: datetime
    reason: str | None = None
    expires_at: datetime | None = None

    @property
    def id(self) -> str:
        """The thumbprint, or the digest of issuer and serial: one certificate, one entry."""
        named = self.certificate
        return named if isinstance(named, str) else named.digest


@dataclass(frozen=True, slots=True)
class DeniedIdentity:
    """What a certificate is compared with: an entry without what only administrators read.

    `serial` is None for an entry that is a thumbprint.
    """

    id: str
    serial: int | None = None
    expires_at: datetime | None = None
