"""Trust in client certificates: a path to an anchor that counts in the realm, and no revocation.

The search for the path is done once for a certificate, the authorities and what was sent with it;
the result is cached as long as it is true. Revocation is checked at each use.
Spec: RFC 8705 §2, §3, §7.4; attacks A6 to A10, A14, A17; decision 0020
"""

import hashlib
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from gateway.domain.certificates import (
    AnchorOrigin,
    CertificateEvidence,
    CertificateFacts,
    CertificationPath,
    ClientCertificate,
    PathResult,
    ProxyVerdict,
    TrustLevel,
)
from gateway.domain.distinguished_names import DistinguishedName
from gateway.domain.limits.caches import SizedCache, size_of
from gateway.domain.ports.certificates import Authorities, AuthoritySelection, Revocations
from gateway.domain.realm import Realm, certificate_trust_of

REMEMBERED_BYTES: Final = 16 * 1024 * 1024
"""Memory of a worker for paths: those of 10,000 certificates in use, and as many old ones."""
REFUSED_BYTES: Final = 2 * 1024 * 1024
"""Memory of a worker for searches that found no path: anybody can make up certificates."""
_RESULT_BYTES: Final = 600
"""Bytes of a result with its key, without texts and what authorities share."""
_Key = tuple[bytes, Hashable, frozenset[str], bytes]
"""Digest of the leaf, edition of the authorities, policies of the realm, digest of the chain."""


class CertificateTrust(Protocol):
    """Decides what a certificate may be used for in a realm."""

    async def evaluate(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
        *,
        client: str | None = None,
    ) -> ClientCertificate:
        """Return the certificate with its trust level in `realm` at `now`.

        `client` is the internal id of the client that the certificate is to authenticate: its own
        anchors replace those of the realm. TRUSTED needs our own checks: path, validity, purpose,
        names, policies, key strength and revocation; and the proxy's verdict too where the path
        ends at an anchor of the settings. Raises StoreUnavailable.
        """
        ...


async def evaluate_for_client(
    trust: CertificateTrust,
    certificate: ClientCertificate,
    realm: Realm,
    client: str,
    now: datetime,
) -> ClientCertificate:
    """Return a certificate of the realm, with its trust level by the client's anchors.

    `client` is the internal id. Without anchors of its own the client has those of the realm: the
    result is the same. Raises StoreUnavailable.
    """
    if client not in certificate.clients_with_anchors:
        return certificate
    return await trust.evaluate(certificate.evidence, realm, now, client=client)


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A PathResult without the leaf, which is much larger than the rest.

    `authorities` are those of the path, from the issuer to the anchor; None without a path.
    """

    authorities: tuple[CertificateFacts, ...] | None
    begin: datetime
    end: datetime
    origin: AnchorOrigin
    issuer_key: bytes
    ambiguous_names: frozenset[DistinguishedName]
    refusal: str | None
    since: datetime
    until: datetime

    def path_of(self, leaf: CertificateFacts) -> CertificationPath | None:
        if self.authorities is None:
            return None
        certificates = (leaf, *self.authorities)
        dates, key = (self.begin, self.end), self.issuer_key
        return CertificationPath(certificates, *dates, self.origin, key, self.ambiguous_names)


class AnchoredTrust:
    """Evaluates certificates by the authorities of the realm and, where given, revocation."""

    def __init__(self, selection: AuthoritySelection, revocations: Revocations | None) -> None:
        """Trust what leads to anchors of `selection`; without any, no certificate is TRUSTED."""
        self._selection = selection
        self._revocations = revocations
        self._paths: SizedCache[_Key, _Remembered] = SizedCache(REMEMBERED_BYTES, _weigh)
        self._refusals: SizedCache[_Key, _Remembered] = SizedCache(REFUSED_BYTES, _weigh)

    async def evaluate(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
        *,
        client: str | None = None,
    ) -> ClientCertificate:
        selected = await self._selection.select(realm, client)
        result = self._result(evidence, selected.authorities, realm, now)
        level, reason, path = TrustLevel.TRUSTED, result.refusal, result.path_of(evidence.leaf)
        if reason is None:
            held = CertificationPath.of(evidence.leaf) if path is None else path
            reason = None if held.begin <= now <= held.end else _time_refusal(held, now)
            if reason is None and self._revocations is not None:
                reason = await self._revocations.refusal(held, realm, now)
        if reason is not None:
            level = TrustLevel.REFUSED
        elif path is None:
            level, reason = TrustLevel.UNTRUSTED, f"the issuer {evidence.leaf.issuer} is not known"
        elif path.origin is AnchorOrigin.SETTINGS and evidence.verdict is not ProxyVerdict.VERIFIED:
            level, reason = TrustLevel.UNTRUSTED, "the proxy did not verify it"
        trusted = path if level is TrustLevel.TRUSTED else None
        return ClientCertificate(evidence, level, reason, trusted, selected.clients_with_anchors)

    @property
    def remembered_bytes(self) -> int:
        """About the memory that results take, paths and searches without one."""
        return self._paths.bytes + self._refusals.bytes

    async def find_path(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
        *,
        client: str | None = None,
    ) -> PathResult:
        """Return the search that `evaluate` judges by; raises StoreUnavailable."""
        selected = await self._selection.select(realm, client)
        found = self._result(evidence, selected.authorities, realm, now)
        path = found.path_of(evidence.leaf)
        return PathResult(path, found.refusal, found.since, found.until)

    def _result(
        self,
        evidence: CertificateEvidence,
        authorities: Authorities,
        realm: Realm,
        now: datetime,
    ) -> _Remembered:
        leaf, chain = evidence.leaf, evidence.chain
        policies = certificate_trust_of(realm).policies
        key = (leaf.digest, authorities.edition, policies, _digest(chain) if chain else b"")
        known = self._paths.get(key) or self._refusals.get(key)
        if known is not None and known.since <= now < known.until:
            return known
        result = _remembered(authorities.find_path(leaf, chain, policies, now))
        # What was found before does not count any more, whichever of them it was.
        self._paths.drop(key)
        (self._refusals if result.authorities is None else self._paths).put(key, result)
        return result


def _remembered(found: PathResult) -> _Remembered:
    path, refusal, since, until = found.path, found.refusal, found.since, found.until
    if path is None:
        origin = AnchorOrigin.SETTINGS
        return _Remembered(None, since, until, origin, b"", frozenset(), refusal, since, until)
    others, origin = path.certificates[1:], path.origin
    dates = path.begin, path.end
    of_issuer = path.issuer_key, path.ambiguous_names
    return _Remembered(others, *dates, origin, *of_issuer, refusal, since, until)


def _digest(chain: Sequence[bytes]) -> bytes:
    hashed = hashlib.sha256()
    for certificate in chain:
        hashed.update(len(certificate).to_bytes(4))
        hashed.update(certificate)
    return hashed.digest()


def _weigh(key: _Key, result: _Remembered) -> int:
    if key[-1]:
        return _RESULT_BYTES + size_of(result)
    # Without a chain the certificates of the path belong to the authorities.
    return _RESULT_BYTES + sys.getsizeof(result.refusal)


def _time_refusal(path: CertificationPath, now: datetime) -> str:
    """Return why a path does not hold at `now`."""
    late = next((item for item in path.certificates if item.not_after < now), None)
    if late is not None:
        return _dated(late, path, f"expired at {late.not_after}")
    early = next(item for item in path.certificates if item.not_before > now)
    return _dated(early, path, f"is not valid before {early.not_before}")


def _dated(certificate: CertificateFacts, path: CertificationPath, what: str) -> str:
    who = "it" if certificate is path.certificates[0] else f"the authority {certificate.subject}"
    return f"{who} {what}"
