"""Trust in client certificates: a path to an anchor that counts in the realm, and no revocation.

The search for the path is done once for a certificate, the authorities and what was sent with it;
the result is cached as long as it is true. Revocation is checked at each use.
Spec: RFC 8705 §2, §3, §7.4; attacks A6 to A10, A14, A17; decision 0020
"""

import hashlib
from collections.abc import Hashable, Sequence
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
from gateway.domain.limits.caches import SizedCache, size_of
from gateway.domain.ports.certificates import Authorities, AuthoritySelection, Revocations
from gateway.domain.realm import Realm, certificate_trust_of

REMEMBERED_BYTES: Final = 5 * 512 * 1024
"""Memory of a worker for results: a thousand usual certificates, or fewer large ones."""
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

    async def has_own_anchors(self, realm: Realm, client: str) -> bool:
        """Return whether other anchors than the realm's count for the client with that internal id.

        Raises StoreUnavailable.
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
    if not await trust.has_own_anchors(realm, client):
        return certificate
    return await trust.evaluate(certificate.evidence, realm, now, client=client)


class AnchoredTrust:
    """Evaluates certificates by the authorities of the realm and, where given, revocation."""

    def __init__(self, selection: AuthoritySelection, revocations: Revocations | None) -> None:
        """Trust what leads to anchors of `selection`; without any, no certificate is TRUSTED."""
        self._selection = selection
        self._revocations = revocations
        self._results: SizedCache[_Key, PathResult] = SizedCache(REMEMBERED_BYTES, _weigh)

    async def evaluate(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
        *,
        client: str | None = None,
    ) -> ClientCertificate:
        authorities = await self._selection.authorities_of(realm, client)
        result = self._result(evidence, authorities, certificate_trust_of(realm).policies, now)
        if result.refusal is not None:
            return ClientCertificate(evidence, TrustLevel.REFUSED, result.refusal)
        path = result.path
        held = CertificationPath.of(evidence.leaf) if path is None else path
        refusal = None if held.holds_at(now) else _time_refusal(held, now)
        if refusal is None and self._revocations is not None:
            refusal = await self._revocations.refusal(held, realm, now)
        if refusal is not None:
            return ClientCertificate(evidence, TrustLevel.REFUSED, refusal)
        if path is None:
            reason = f"the issuer {evidence.leaf.issuer} is not known"
            return ClientCertificate(evidence, TrustLevel.UNTRUSTED, reason)
        if path.origin is AnchorOrigin.SETTINGS and evidence.verdict is not ProxyVerdict.VERIFIED:
            return ClientCertificate(evidence, TrustLevel.UNTRUSTED, "the proxy did not verify it")
        return ClientCertificate(evidence, TrustLevel.TRUSTED, path=path)

    async def find_path(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
        *,
        client: str | None = None,
    ) -> PathResult:
        """Return the search that `evaluate` judges by; raises StoreUnavailable."""
        authorities = await self._selection.authorities_of(realm, client)
        return self._result(evidence, authorities, certificate_trust_of(realm).policies, now)

    async def has_own_anchors(self, realm: Realm, client: str) -> bool:
        return await self._selection.has_own_anchors(realm, client)

    def _result(
        self,
        evidence: CertificateEvidence,
        authorities: Authorities,
        policies: frozenset[str],
        now: datetime,
    ) -> PathResult:
        leaf, chain = evidence.leaf, evidence.chain
        key = (leaf.digest, authorities.edition, policies, _digest(chain) if chain else b"")
        known = self._results.get(key)
        if known is not None and known.holds_at(now):
            return known
        result = authorities.find_path(leaf, chain, policies, now)
        self._results.put(key, result)
        return result


def _digest(chain: Sequence[bytes]) -> bytes:
    hashed = hashlib.sha256()
    for certificate in chain:
        hashed.update(len(certificate).to_bytes(4))
        hashed.update(certificate)
    return hashed.digest()


def _weigh(key: _Key, result: PathResult) -> int:
    if result.path is None or key[-1]:
        return size_of((key[0], result))
    # Without a chain the other certificates of the path belong to the authorities.
    return size_of((key[0], result.refusal, result.path.certificates[0]))


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
