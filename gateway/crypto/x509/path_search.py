"""The search for a certification path from a client's certificate to a trust anchor.

Names only propose an issuer, the signature decides. Every step checks one signature, and their
number is bounded: authorities of the same name and loops of cross-certificates end the search.
Spec: RFC 5280 §6.1; RFC 4158 §2.4, §3.5; attacks A8, A14
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from gateway.crypto.x509.certificate_policies import require_policies
from gateway.crypto.x509.name_constraints import NameConstraints
from gateway.crypto.x509.parse import ParsedCertificate
from gateway.crypto.x509.requirements import (
    require_authority,
    require_client,
    require_strong_signature,
)
from gateway.domain.certificates import (
    AnchorOrigin,
    CertificateRefused,
    CertificationPath,
    PathResult,
)
from gateway.domain.distinguished_names import DistinguishedName

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
        """Return the first path that is valid now, or else one that is valid at another time."""
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
        """Return the names of authorities that another authority has, or may have.

        Another anchor can issue certificates of any name, so among several anchors the name of an
        authority that only the client sent tells nothing. The anchors of a client are all its own.
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
    """Tell whether the key of `issuer` made the signature, and the names agree."""
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
    # The anchor is trusted because it was registered, whatever its own signature is made with.
    for authority in chain[1:-1]:
        require_strong_signature(authority)
    constraints = NameConstraints()
    for certificate in reversed(chain):
        if certificate is not chain[-1]:
            constraints.require(certificate, is_leaf=certificate is chain[0])
        constraints.add(certificate)
    require_policies(chain, policies)


def _is_reissued(chain: _Chain) -> bool:
    """Tell whether the certificate below the anchor is a new one of the anchor for the same key."""
    if len(chain) < 3:  # noqa: PLR2004 - leaf, new and old certificate of the anchor
        return False
    anchor, below = chain[-1], chain[-2]
    return below.key_digest == anchor.key_digest and below.subject == anchor.subject


def _repeats(issuer: ParsedCertificate, chain: _Chain, issuers: Issuers) -> bool:
    """Tell whether the path has an authority of that name and key already. Spec: RFC 4158 §2.4.1.

    An anchor that has issued itself a new certificate may follow that one.
    """
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
