"""The library behind the ports of certificates: parsing, and the search of paths.

A certificate that a client presents repeatedly is parsed once. The cache has the values that checks
need, not the parsed extensions, which take ten times the memory of the encoding. Callers can
generate any number of certificates: those without a path to an anchor share a small part of the
memory.
"""

import hashlib
import sys
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Final

from cryptography import x509

from gateway.crypto.der import CERTIFICATE_LABELS, pem_blocks
from gateway.crypto.public_keys import signed_fields
from gateway.crypto.x509.authorities import AuthorityBundle, RegisteredBundle
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.crypto.x509.path_search import (
    LONGEST_PATH,
    PathSearch,
    certificate_usage,
    is_issued_by,
    require_authority,
)
from gateway.domain.certificates import (
    AnchorOrigin,
    Authority,
    AuthorityDescription,
    AuthorityKind,
    IssuedSerial,
    PathResult,
    PresentedCertificate,
)
from gateway.domain.distinguished_names import (
    DistinguishedName,
    decode_value,
    read_element,
    read_elements,
)
from gateway.domain.limits.caches import SizedCache
from gateway.domain.limits.input_sizes import MAX_CERTIFICATE_BYTES, in_slices
from gateway.domain.ports.certificates import MalformedCertificate

_PRINCIPAL_NAME: Final = x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3")
REMEMBERED_BYTES: Final = 64 * 1024 * 1024
"""Memory of a worker for certificates with a path: 10,000 usual ones in use, as many old ones."""
UNPROVEN_BYTES: Final = 4 * 1024 * 1024
"""Memory of a worker for certificates without a path and in the queue of the search."""
_PARSED_BYTES: Final = 970
"""Bytes of a parsed certificate besides its encoding and its names."""
_ATTRIBUTE_BYTES: Final = 170
"""Bytes of one attribute of a name besides its text."""


_Presented = SizedCache[bytes, PresentedCertificate]


class X509CertificateParser:
    """CertificateParser that remembers certificates by the SHA-256 of their encoding."""

    def __init__(self, *, unproven_bytes: int = UNPROVEN_BYTES) -> None:
        self._proven: _Presented = SizedCache(REMEMBERED_BYTES, _weigh)
        self._unproven: _Presented = SizedCache(unproven_bytes, _weigh)
        self._latest: ParsedCertificate | None = None

    def parse_certificate(self, der: bytes) -> PresentedCertificate:
        digest = hashlib.sha256(der).digest()
        known = self._proven.get(digest) or self._unproven.get(digest)
        if known is None:
            self._latest = parse_certificate(der)
            known = _presented(self._latest, der)
            self._unproven.put(known.digest, known)
        return known

    def keep(self, certificate: PresentedCertificate) -> None:
        """Remember a certificate for which a path to an anchor was found."""
        self._unproven.drop(certificate.digest)
        self._proven.put(certificate.digest, certificate)

    @property
    def remembered_bytes(self) -> int:
        """Approximate memory of all cached certificates."""
        return self._proven.bytes + self._unproven.bytes

    def parse_sent(self, chain: Sequence[bytes]) -> tuple[ParsedCertificate, ...]:
        """Return the intermediates that a client sent; unreadable certificates are skipped."""
        if sum(map(len, chain)) > MAX_CERTIFICATE_BYTES:
            return ()
        return tuple(
            parsed for parsed in map(_parsed_or_none, chain[:LONGEST_PATH]) if parsed is not None
        )

    def parsed(self, certificate: PresentedCertificate) -> ParsedCertificate:
        """Return the certificate with its extensions; the latest one is kept parsed."""
        latest = self._latest
        if latest is not None and latest.digest == certificate.digest:
            return latest
        return parse_certificate(certificate.der)


def _weigh(_digest: bytes, leaf: PresentedCertificate) -> int:
    """Return about how many bytes a certificate keeps alive, cheaper than `size_of`."""
    names = (leaf.legacy_subject, leaf.legacy_issuer) * 2
    other = (leaf.emails, leaf.principal_names, leaf.dns_names, leaf.uris, leaf.ip_addresses)
    texts = chain(names, *other, leaf.usage.extended, leaf.usage.policies)
    attributes = sum(map(len, chain(leaf.subject.relative_names, leaf.issuer.relative_names)))
    known = _PARSED_BYTES + len(leaf.der) + _ATTRIBUTE_BYTES * attributes
    return known + sum(map(sys.getsizeof, texts))


def _parsed_or_none(der: bytes) -> ParsedCertificate | None:
    try:
        return parse_certificate(der)
    except MalformedCertificate:
        return None


_NO_NAMES: Final = x509.SubjectAlternativeName([])


def _presented(parsed: ParsedCertificate, der: bytes) -> PresentedCertificate:
    names = parsed.extension(x509.SubjectAlternativeName) or _NO_NAMES
    return PresentedCertificate(
        issuer=parsed.issuer,
        subject=parsed.subject,
        serial=parsed.serial,
        not_before=parsed.not_before,
        not_after=parsed.not_after,
        digest=parsed.digest,
        twin_digest=parsed.twin_digest,
        der=der,
        emails=tuple(names.get_values_for_type(x509.RFC822Name)),
        principal_names=_principal_names(names),
        dns_names=tuple(names.get_values_for_type(x509.DNSName)),
        uris=tuple(names.get_values_for_type(x509.UniformResourceIdentifier)),
        ip_addresses=tuple(map(str, names.get_values_for_type(x509.IPAddress))),
        key_digest=hashlib.sha256(signed_fields(der)[1]).digest(),
        usage=certificate_usage(parsed),
        names_digest=_names_digest(parsed),
        issued_serial=IssuedSerial(parsed.issuer, parsed.serial).digest,
        legacy_subject=parsed.subject.legacy_rendering(),
        legacy_issuer=sys.intern(parsed.issuer.legacy_rendering()),
    )


def _names_digest(parsed: ParsedCertificate) -> bytes:
    """Return the SHA-256 of subject and alternative names; empty where there are none to encode."""
    names = parsed.extension(x509.SubjectAlternativeName)
    try:
        found = () if names is None else read_elements(read_element(names.public_bytes()).content)
        encoded = sorted(bytes((element.tag,)) + element.content for element in found)
    except ValueError:  # a name of another kind whose value is no DER
        return b""
    if not encoded and not parsed.subject.relative_names:
        return b""
    hashed = hashlib.sha256()
    for part in (str(parsed.subject).encode("utf-8", "surrogatepass"), *encoded):
        hashed.update(len(part).to_bytes(4))
        hashed.update(part)
    return hashed.digest()


def _principal_names(names: x509.SubjectAlternativeName) -> tuple[str, ...]:
    """Return the user principal names; names that are not text are skipped."""
    others = names.get_values_for_type(x509.OtherName)
    values = (_decoded(other.value) for other in others if other.type_id == _PRINCIPAL_NAME)
    return tuple(value for value in values if isinstance(value, str))


def _decoded(encoded: bytes) -> str | bytes:
    try:
        return decode_value(encoded)
    except ValueError:
        return encoded


class X509Authorities:
    """Authorities, which searches take paths from."""

    def __init__(
        self, bundle: AuthorityBundle | RegisteredBundle, parser: X509CertificateParser
    ) -> None:
        self._bundle = bundle
        self._parser = parser

    @property
    def edition(self) -> Hashable:
        return self._bundle.edition

    def find_path(
        self,
        leaf: PresentedCertificate,
        chain: Sequence[bytes],
        policies: frozenset[str],
        now: datetime,
    ) -> PathResult:
        sent = self._parser.parse_sent(chain)
        found = PathSearch(self._bundle, sent, policies, now).run(self._parser.parsed(leaf))
        if found.path is None:
            return found
        self._parser.keep(leaf)
        # The leaf equals `parsed.facts`: keep one of them in memory.
        others = found.path.certificates[1:]
        return replace(found, path=found.path._replace(certificates=(leaf, *others)))

    def shared_names(self) -> Sequence[DistinguishedName]:
        keys: dict[DistinguishedName, set[bytes]] = {}
        for authority in self._bundle:
            keys.setdefault(authority.subject, set()).add(authority.key_digest)
        return sorted((name for name, found in keys.items() if len(found) > 1), key=str)


class X509AuthorityFactory:
    """AuthorityFactory over the bundle of the settings."""

    def __init__(self, bundle: AuthorityBundle, parser: X509CertificateParser) -> None:
        self._bundle = bundle
        self._gateway = X509Authorities(bundle, parser)
        self._parser = parser

    async def gateway(self) -> X509Authorities:
        await self._bundle.renew()
        return self._gateway

    async def prepare(
        self, entries: Sequence[Authority], origin: AnchorOrigin, *, with_gateway: bool
    ) -> X509Authorities:
        parsed: list[ParsedCertificate] = []
        anchors: set[bytes] = set()
        # A thousand of them take a part of a second: other requests go on meanwhile.
        async for entry in in_slices(entries):
            certificate = _registered(entry)
            if certificate is None:
                continue
            parsed.append(certificate)
            if entry.kind is AuthorityKind.ANCHOR:
                anchors.add(certificate.digest)
        bundle = self._bundle if with_gateway else None
        return X509Authorities(
            RegisteredBundle(parsed, frozenset(anchors), origin, bundle), self._parser
        )


def _registered(authority: Authority) -> ParsedCertificate | None:
    try:
        return parse_certificate(authority.der)
    except MalformedCertificate as error:
        import structlog  # noqa: PLC0415 - 40 ms of a command, which seldom logs

        structlog.get_logger().error(
            "registered authority cannot be read", sha256=authority.sha256, reason=str(error)
        )
        return None


class X509AuthorityParser:
    """AuthorityParser: checks of certificates that are registered as authorities."""

    def parse_authority(self, pem: str) -> AuthorityDescription:
        try:
            (der,) = pem_blocks(pem.encode(), *CERTIFICATE_LABELS)
        except ValueError as error:
            raise MalformedCertificate("not one certificate in PEM") from error
        require_authority(parse_certificate(der), 0)
        return self.describe_authority(der)

    def describe_authority(self, der: bytes) -> AuthorityDescription:
        parsed = parse_certificate(der)
        return AuthorityDescription(
            sha256=parsed.digest.hex(),
            key_sha256=parsed.key_digest.hex(),
            subject=parsed.subject.rfc4514(),
            issuer=parsed.issuer.rfc4514(),
            serial=f"{parsed.serial:x}",
            not_before=parsed.not_before,
            not_after=parsed.not_after,
            self_signed=parsed.is_self_issued and is_issued_by(parsed, parsed),
            der=der,
        )
