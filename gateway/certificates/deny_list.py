"""A deny list in memory: finds a certificate by its thumbprint, or by issuer and serial number."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from gateway.domain import base64url
from gateway.domain.certificates import CertificateFacts
from gateway.domain.denied_certificates import DeniedCertificate, IssuedSerial
from gateway.domain.distinguished_names import DistinguishedName

_ENTRY_BYTES: Final = 400

_Until = datetime | None
"""None: without an end."""


class DenyList:
    """The entries of one realm."""

    __slots__ = ("_by_digest", "_by_issued", "_by_serial")

    def __init__(self, entries: Iterable[DeniedCertificate] = ()) -> None:
        self._by_digest: dict[bytes, _Until] = {}
        self._by_issued: dict[bytes, _Until] = {}
        self._by_serial: dict[int, tuple[tuple[DistinguishedName, _Until], ...]] = {}
        for entry in entries:
            named, until = entry.certificate, entry.expires_at
            if isinstance(named, IssuedSerial):
                self._by_issued[_digest(entry.id)] = until
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

    def denies_id(self, identity: str, now: datetime) -> bool:
        """Tell whether an entry has that id and has not expired."""
        digest = _digest(identity)
        return self._denies_digest(digest, now) or _is_in(self._by_issued, digest, now)

    def _denies_digest(self, digest: bytes, now: datetime) -> bool:
        return _is_in(self._by_digest, digest, now)


def _is_in(entries: Mapping[bytes, _Until], digest: bytes, now: datetime) -> bool:
    return digest in entries and _counts(entries[digest], now)


def _counts(until: _Until, now: datetime) -> bool:
    return until is None or now < until


def _digest(thumbprint: str) -> bytes:
    return base64url.decode(thumbprint)
