"""A deny list in memory: finds a certificate by its thumbprint, or by issuer and serial number."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from gateway.domain import base64url
from gateway.domain.certificates import CertificateFacts
from gateway.domain.denied_certificates import DeniedIdentity, IssuedSerial

_ENTRY_BYTES: Final = 400

_Until = datetime | None
"""None: without an end."""


class DenyList:
    """The entries of one realm, each of a size that does not depend on the names in it."""

    __slots__ = ("_by_digest", "_by_issued", "_serials")

    def __init__(self, entries: Iterable[DeniedIdentity] = ()) -> None:
        self._by_digest: dict[bytes, _Until] = {}
        self._by_issued: dict[bytes, _Until] = {}
        self._serials: set[int] = set()
        """Those of `_by_issued`: a digest is computed for few other certificates."""
        for entry in entries:
            if entry.serial is None:
                self._by_digest[_digest(entry.id)] = entry.expires_at
            else:
                self._by_issued[_digest(entry.id)] = entry.expires_at
                self._serials.add(entry.serial)

    @property
    def is_empty(self) -> bool:
        return not self._by_digest and not self._by_issued

    @property
    def size(self) -> int:
        """About the bytes that the list takes in memory."""
        return _ENTRY_BYTES * (1 + len(self._by_digest) + len(self._by_issued))

    def denies(self, certificate: CertificateFacts, now: datetime) -> bool:
        """Tell whether an entry names the certificate and has not expired."""
        if self._denies_digest(certificate.digest, now):
            return True
        if certificate.serial not in self._serials:
            return False
        named = IssuedSerial(certificate.issuer, certificate.serial)
        return _is_in(self._by_issued, _digest(named.digest), now)

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
