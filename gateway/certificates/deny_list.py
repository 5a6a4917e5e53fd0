"""A deny list in memory: finds a certificate by its thumbprint, or by issuer and serial number."""

import base64
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from gateway.domain.certificates import CertificateFacts
from gateway.domain.denied_certificates import DeniedCertificate, IssuedSerial
from gateway.domain.distinguished_names import DistinguishedName

_ENTRY_BYTES: Final = 400

_Until = datetime | None
"""None: without an end."""


class DenyList:
    """The entries of one realm."""

    __slots__ = ("_by_digest", "_by_serial")

    def __init__(self, entries: Iterable[DeniedCertificate] = ()) -> None:
        self._by_digest: dict[bytes, _Until] = {}
        self._by_serial: dict[int, tuple[tuple[DistinguishedName, _Until], ...]] = {}
        for entry in entries:
            named, until = entry.certificate, entry.expires_at
            if isinstance(named, IssuedSerial):
                others = self._by_serial.get(named.serial, ())
                self._by_serial[named.serial] = (*others, (named.issuer, until))
            else:
                self._by_digest[_digest(named)] = until

    @property
    def is_empty(self) -> bool:
        return not self._by_digest and not self._by_serial

    @property
    def size(self) -> int:
        """About the bytes that the list takes in memory."""
        return _ENTRY_BYTES * (1 + len(self._by_digest) + len(self._by_serial))

    def denies(self, certificate: CertificateFacts, now: datetime) -> bool:
        """Tell whether an entry names the certificate and has not expired."""
        if self._denies_digest(certificate.digest, now):
            return True
        of_serial = self._by_serial.get(certificate.serial, ())
        return any(
            issuer == certificate.issuer and _counts(until, now) for issuer, until in of_serial
        )

    def denies_thumbprint(self, thumbprint: str, now: datetime) -> bool:
        """Tell whether an entry names the certificate by that `x5t#S256` and has not expired."""
        return self._denies_digest(_digest(thumbprint), now)

    def _denies_digest(self, digest: bytes, now: datetime) -> bool:
        return digest in self._by_digest and _counts(self._by_digest[digest], now)


def _counts(until: _Until, now: datetime) -> bool:
    return until is None or now < until


def _digest(thumbprint: str) -> bytes:
    return base64.urlsafe_b64decode(thumbprint + "=")
