"""The library behind the ports of certificates: parsing, and the path to an authority.

A certificate that a client presents repeatedly is parsed once. Cached is what the checks need, not
its parsed extensions, which take ten times the memory of its encoding.
"""

import hashlib
from dataclasses import replace
from datetime import datetime
from typing import Final

from cryptography import x509

from gateway.crypto import base64url
from gateway.crypto.certificates import signed_fields
from gateway.crypto.x509.authorities import AuthorityBundle
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.crypto.x509.requirements import require_client
from gateway.domain.certificates import CertificationPath, PresentedCertificate
from gateway.domain.distinguished_names.der import decode_value
from gateway.domain.limits.caches import SizedCache

_PRINCIPAL_NAME: Final = x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3")
REMEMBERED_BYTES: Final = 5 * 512 * 1024
"""Memory of a worker for parsed certificates: a thousand usual ones, or fewer large ones."""


class X509CertificateParser:
    """CertificateParser that remembers certificates by the SHA-256 of their encoding."""

    def __init__(self, *, remembered_bytes: int = REMEMBERED_BYTES) -> None:
        self._presented: SizedCache[bytes, PresentedCertificate] = SizedCache(remembered_bytes)
        self._latest: ParsedCertificate | None = None

    def parse(self, der: bytes) -> PresentedCertificate:
        digest = hashlib.sha256(der).digest()
        known = self._presented.get(digest)
        if known is None:
            self._latest = parse_certificate(der)
            known = _presented(self._latest, der)
            self._presented.put(digest, known)
        return known

    def parsed(self, certificate: PresentedCertificate) -> ParsedCertificate:
        """Return the certificate with its extensions.

        A new certificate is checked right after it was parsed: the latest one is kept for that.
        """
        latest = self._latest
        if latest is not None and latest.digest == certificate.digest:
            return latest
        return parse_certificate(certificate.der)


def _presented(parsed: ParsedCertificate, der: bytes) -> PresentedCertificate:
    return PresentedCertificate(
        issuer=parsed.issuer,
        subject=parsed.subject,
        serial=parsed.serial,
        not_before=parsed.not_before,
        not_after=parsed.not_after,
        digest=parsed.digest,
        thumbprint=base64url.encode(parsed.digest),
        der=der,
        emails=_alternative_names(parsed, x509.RFC822Name),
        principal_names=_principal_names(parsed),
        dns_names=_alternative_names(parsed, x509.DNSName),
        uris=_alternative_names(parsed, x509.UniformResourceIdentifier),
        ip_addresses=_ip_addresses(parsed),
        key_digest=hashlib.sha256(signed_fields(der)[1]).digest(),
    )


def _alternative_names(
    parsed: ParsedCertificate,
    kind: type[x509.RFC822Name | x509.DNSName | x509.UniformResourceIdentifier],
) -> tuple[str, ...]:
    names = parsed.extension(x509.SubjectAlternativeName)
    return () if names is None else tuple(names.get_values_for_type(kind))


def _ip_addresses(parsed: ParsedCertificate) -> tuple[str, ...]:
    names = parsed.extension(x509.SubjectAlternativeName)
    return () if names is None else tuple(map(str, names.get_values_for_type(x509.IPAddress)))


def _principal_names(parsed: ParsedCertificate) -> tuple[str, ...]:
    """Return the user principal names; one that is not text is left out."""
    names = parsed.extension(x509.SubjectAlternativeName)
    others = () if names is None else names.get_values_for_type(x509.OtherName)
    values = (_decoded(other.value) for other in others if other.type_id == _PRINCIPAL_NAME)
    return tuple(value for value in values if isinstance(value, str))


def _decoded(encoded: bytes) -> str | bytes:
    try:
        return decode_value(encoded)
    except ValueError:
        return encoded


class X509Authorities:
    """Authorities of a bundle."""

    def __init__(self, bundle: AuthorityBundle, parser: X509CertificateParser) -> None:
        self._bundle = bundle
        self._parser = parser

    @property
    def edition(self) -> int:
        return self._bundle.edition

    def renew(self) -> None:
        self._bundle.renew()

    def path(self, leaf: PresentedCertificate, now: datetime) -> CertificationPath | None:
        parsed = self._parser.parsed(leaf)
        require_client(parsed)
        path = self._bundle.path(parsed, now)
        # The leaf equals `parsed.facts`: keep one of them in memory.
        return None if path is None else replace(path, certificates=(leaf, *path.certificates[1:]))
