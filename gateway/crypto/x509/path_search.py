"""The search for a certification path from a client's certificate to a trust anchor.

Names only propose an issuer, the signature decides. Every step checks one signature, and their
number is bounded: authorities of the same name and loops of cross-certificates end the search.

Each certificate is checked by itself too. nginx makes most of these checks, except on a listener
with `optional_no_ca`, which passes on what OpenSSL rejects first: a server's certificate of an
unknown authority arrives there (attacks A7). Spec: RFC 5280 §4.2, §6.1; RFC 4158 §2.4, §3.5;
RFC 8705 §7.5; SP 800-131A (key sizes, hashes); attacks A8, A14
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from gateway.crypto.x509.parse import ParsedCertificate
from gateway.crypto.x509.path_constraints import NameConstraints, require_policies
from gateway.domain.certificates import (
    KEY_USAGES,
    AnchorOrigin,
    CertificateRefused,
    CertificateUsage,
    CertificationPath,
    PathResult,
)
from gateway.domain.distinguished_names import DistinguishedName
from gateway.domain.ports.certificates import OF_AN_AUTHORITY

SMALLEST_RSA_KEY = 2048
CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)

UNDERSTOOD = frozenset(
    {
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.KEY_USAGE,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
        ExtensionOID.NAME_CONSTRAINTS,
        ExtensionOID.CERTIFICATE_POLICIES,
        ExtensionOID.POLICY_CONSTRAINTS,
        ExtensionOID.INHIBIT_ANY_POLICY,
    }
)
"""Extensions that may be critical: all of them are checked."""


def require_client(parsed: ParsedCertificate) -> None:
    """Raise CertificateRefused unless an end entity may show this to a TLS server."""
    constraints = parsed.extension(x509.BasicConstraints)
    if constraints is not None and constraints.ca:
        kind = ": self-signed with CA:TRUE" if parsed.is_self_issued else ""
        raise CertificateRefused(f"{OF_AN_AUTHORITY}{kind}")
    key_usage = parsed.extension(x509.KeyUsage)
    if key_usage is not None and not key_usage.digital_signature:
        raise CertificateRefused("its key usage does not allow digital signatures")
    _require_client_purpose(parsed)
    _require_understood(parsed)
    _require_strong_key(parsed)
    require_strong_signature(parsed)


def require_authority(parsed: ParsedCertificate, authorities_below: int) -> None:
    """Raise CertificateRefused unless it may issue with that number of authorities below it.

    Self-issued authorities do not count. Spec: RFC 5280 §4.2.1.9
    """
    who = f"the authority {parsed.subject}"
    constraints = parsed.extension(x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        raise CertificateRefused(f"{who} is no authority")
    if constraints.path_length is not None and constraints.path_length < authorities_below:
        raise CertificateRefused(f"{who} allows fewer authorities below it")
    key_usage = parsed.extension(x509.KeyUsage)
    if key_usage is not None and not key_usage.key_cert_sign:
        raise CertificateRefused(f"{who} may not sign certificates")
    _require_client_purpose(parsed)
    _require_understood(parsed)
    _require_strong_key(parsed)


def require_strong_signature(parsed: ParsedCertificate) -> None:
    """Raise CertificateRefused for signatures over hashes that can be forged."""
    try:
        algorithm = parsed.certificate.signature_hash_algorithm
    except UnsupportedAlgorithm as error:
        raise CertificateRefused("its signature algorithm is not known") from error
    # Ed25519 names no hash of its own.
    if algorithm is not None and not isinstance(algorithm, HASHES):
        raise CertificateRefused(f"its signature is made with {algorithm.name}")


def _require_client_purpose(parsed: ParsedCertificate) -> None:
    purposes = parsed.extension(x509.ExtendedKeyUsage)
    if purposes is not None and ExtendedKeyUsageOID.CLIENT_AUTH not in purposes:
        raise CertificateRefused("its extended key usage does not allow client authentication")


def _require_understood(parsed: ParsedCertificate) -> None:
    for extension in parsed.extensions:
        if extension.critical and extension.oid not in UNDERSTOOD:
            raise CertificateRefused(f"critical extension {extension.oid.dotted_string}")


def _require_strong_key(parsed: ParsedCertificate) -> None:
    try:
        key = parsed.certificate.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise CertificateRefused("its key cannot be read") from error
    match key:
        case rsa.RSAPublicKey():
            strong = key.key_size >= SMALLEST_RSA_KEY
        case ec.EllipticCurvePublicKey():
            strong = isinstance(key.curve, CURVES)
        case _:
            strong = isinstance(key, ed25519.Ed25519PublicKey)
    if not strong:
        raise CertificateRefused("its key is weak or of a kind that is not accepted")


LONGEST_PATH: Final = 8
"""Certificates, with the leaf and the anchor."""
MOST_SIGNATURE_CHECKS: Final = 32
"""Of one search. The slowest key that is accepted takes about 1 ms each."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_INSTANT: Final = timedelta(microseconds=1)
_Chain = tuple[ParsedCertificate, ...]


class Issuers(Protocol):
    """Authorities by name."""

    def named(self, name: DistinguishedName) -> Iterable[ParsedCertificate]:
        """Return the authorities with that subject, preferred ones first."""

    def anchor_origin(self, certificate: ParsedCertificate) -> AnchorOrigin | None:
        """Return who trusts it as an anchor; None where it is none."""

    @property
    def has_several_anchors(self) -> bool:
        """Whether anchors of different keys are trusted."""


class _TooManySignatures(Exception):
    pass


class PathSearch:
    """One search, at one instant. `sent` are certificates from the TLS client."""

    def __init__(
        self,
        issuers: Issuers,
        sent: Sequence[ParsedCertificate],
        policies: frozenset[str],
        now: datetime,
    ) -> None:
        self._issuers = issuers
        self._sent = sent
        self._policies = policies
        self._now = now
        self._since, self._until = _FIRST, _LAST
        self._signature_checks = 0
        self._refusal: str | None = None
        self._known_issuer: DistinguishedName | None = None
        """The first name on the way up that some authority has."""

    def run(self, leaf: ParsedCertificate) -> PathResult:
        """Return a path that is valid now if there is any, and until when the result holds."""
        self._consider(leaf)
        try:
            require_client(leaf)
            path = self._path(leaf)
        except CertificateRefused as refusal:
            return self._result(None, str(refusal))
        except _TooManySignatures:
            most = MOST_SIGNATURE_CHECKS
            return self._result(None, f"no path was found by checking {most} signatures")
        refusal_reason = self._refusal
        if refusal_reason is None and self._known_issuer is not None:
            refusal_reason = f"no path leads over {self._known_issuer} to a trusted root"
        return self._result(path, None if path is not None else refusal_reason)

    def _result(self, path: CertificationPath | None, refusal: str | None) -> PathResult:
        return PathResult(path, refusal, self._since, self._until)

    def _path(self, leaf: ParsedCertificate) -> CertificationPath | None:
        """Return the first path that is valid now, or else a path that is valid at another time."""
        dated: CertificationPath | None = None
        try:
            for chain, origin in self._chains((leaf,)):
                path = self._validated(chain, origin)
                if path is not None and path.holds_at(self._now):
                    return path
                dated = dated or path
        except _TooManySignatures:
            if dated is None and self._refusal is None:
                raise
        return dated

    def _validated(self, chain: _Chain, origin: AnchorOrigin) -> CertificationPath | None:
        try:
            _require_valid(chain, self._policies)
        except CertificateRefused as refusal:
            self._refusal = str(refusal)
            return None
        return CertificationPath.of(
            chain[0].facts,
            *chain[1:],
            origin=origin,
            reissued=_is_reissued(chain),
            issuer_key=chain[1].key_digest if len(chain) > 1 else b"",
            ambiguous_names=self._ambiguous_names(chain, origin),
        )

    def _ambiguous_names(self, chain: _Chain, origin: AnchorOrigin) -> frozenset[DistinguishedName]:
        """Return names of authorities that another authority may have.

        Another anchor can issue any name, so the name of a sent authority proves nothing, except
        for anchors of a client.
        """
        if origin is AnchorOrigin.CLIENT:
            return frozenset()
        found = set()
        for authority in chain[1:]:
            keys = {item.key_digest for item in self._issuers.named(authority.subject)}
            is_unknown = not keys and not self._issuers.has_several_anchors
            if keys != {authority.key_digest} and not is_unknown:
                found.add(authority.subject)
        return frozenset(found)

    def _chains(self, chain: _Chain) -> Iterator[tuple[_Chain, AnchorOrigin]]:
        last = chain[-1]
        origin = self._issuers.anchor_origin(last)
        if origin is not None:
            yield chain, origin
            return
        known = tuple(self._issuers.named(last.issuer))
        if known and self._known_issuer is None:
            self._known_issuer = last.issuer
        for issuer in self._ranked(last, known) if len(chain) < LONGEST_PATH else ():
            if not _repeats(issuer, chain, self._issuers) and self._is_issued_by(last, issuer):
                yield from self._chains((*chain, issuer))

    def _ranked(
        self, certificate: ParsedCertificate, known: Sequence[ParsedCertificate]
    ) -> list[ParsedCertificate]:
        """Return possible issuers, those with the named key first, sent ones last of their rank."""
        sent = (item for item in self._sent if item.subject == certificate.issuer)
        candidates = list({item.digest: item for item in (*known, *sent)}.values())
        for candidate in candidates:
            self._consider(candidate)
        if len(candidates) > 1:
            named = certificate.extension(x509.AuthorityKeyIdentifier)
            identifier = None if named is None else named.key_identifier
            candidates.sort(key=lambda item: (_mismatch(item, identifier), self._is_dated(item)))
        return candidates

    def _is_issued_by(self, certificate: ParsedCertificate, issuer: ParsedCertificate) -> bool:
        if self._signature_checks >= MOST_SIGNATURE_CHECKS:
            raise _TooManySignatures
        self._signature_checks += 1
        return is_issued_by(certificate, issuer)

    def _is_dated(self, certificate: ParsedCertificate) -> bool:
        return not certificate.not_before <= self._now <= certificate.not_after

    def _consider(self, certificate: ParsedCertificate) -> None:
        """Note when the result may change because the certificate begins or ends."""
        for change in (certificate.not_before, certificate.not_after + _INSTANT):
            if change <= self._now:
                self._since = max(self._since, change)
            else:
                self._until = min(self._until, change)


def is_issued_by(certificate: ParsedCertificate, issuer: ParsedCertificate) -> bool:
    """Return whether the key of `issuer` made the signature, and the names agree."""
    try:
        certificate.certificate.verify_directly_issued_by(issuer.certificate)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True


def _require_valid(chain: _Chain, policies: frozenset[str]) -> None:
    authorities_below = 0
    for authority in chain[1:]:
        require_authority(authority, authorities_below)
        authorities_below += not authority.is_self_issued
    # The anchor is trusted because it was registered, so its own signature does not matter.
    for authority in chain[1:-1]:
        require_strong_signature(authority)
    constraints = NameConstraints()
    for certificate in reversed(chain):
        if certificate is not chain[-1]:
            constraints.require(certificate, is_leaf=certificate is chain[0])
        constraints.add_authority(certificate)
    require_policies(chain, policies)


def _is_reissued(chain: _Chain) -> bool:
    """Return whether the certificate below the anchor renews it with the same key."""
    if len(chain) < 3:  # noqa: PLR2004 - leaf, new and old certificate of the anchor
        return False
    anchor, below = chain[-1], chain[-2]
    return below.key_digest == anchor.key_digest and below.subject == anchor.subject


def _repeats(issuer: ParsedCertificate, chain: _Chain, issuers: Issuers) -> bool:
    """Return whether the path has that name and key, but for a new own one. RFC 4158 §2.4.1."""
    same = [
        item
        for item in chain
        if item.subject == issuer.subject and item.key_digest == issuer.key_digest
    ]
    if not same:
        return False
    return (
        same != [chain[-1]]
        or chain[-1].digest == issuer.digest
        or issuers.anchor_origin(issuer) is None
    )


def _mismatch(candidate: ParsedCertificate, identifier: bytes | None) -> int:
    """Return 0 where the key identifiers agree, 1 where one is missing, 2 where they differ."""
    own = candidate.extension(x509.SubjectKeyIdentifier)
    if own is None or identifier is None:
        return 1
    return 0 if own.digest == identifier else 2


_LIBRARY_NAMES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
    *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)
"""The library's names of KEY_USAGES."""


def certificate_usage(parsed: ParsedCertificate) -> CertificateUsage:
    """Return the usage in the extensions of a certificate."""
    purposes = parsed.extension(x509.ExtendedKeyUsage)
    policies = parsed.extension(x509.CertificatePolicies)
    return CertificateUsage(
        _key_usages(parsed.extension(x509.KeyUsage)),
        _dotted(purposes or ()),
        _dotted(each.policy_identifier for each in policies or ()),
    )


def _key_usages(found: x509.KeyUsage | None) -> tuple[str, ...] | None:
    if found is None:
        return None
    # The last two have a meaning, and a value, only with key agreement.
    asked = zip(KEY_USAGES, _LIBRARY_NAMES, strict=True)
    ends = len(KEY_USAGES) if found.key_agreement else len(KEY_USAGES) - 2
    return tuple(name for name, attribute in list(asked)[:ends] if getattr(found, attribute))


def _dotted(identifiers: Iterable[x509.ObjectIdentifier]) -> tuple[str, ...]:
    # Certificates of one authority share them: thousands are cached.
    return tuple(sys.intern(each.dotted_string) for each in identifiers)
