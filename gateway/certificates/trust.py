"""Trust in client certificates: the authorities and revocation lists of the settings.

What does not change is evaluated once and cached by digest; time and revocation are checked at each
use, so that an expired or revoked certificate is refused at once.
Spec: RFC 8705 §2, §3, §7.4; attacks A6 to A10, A17
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from gateway.domain.certificates import (
    CertificateEvidence,
    CertificateFacts,
    CertificateRefused,
    CertificationPath,
    ClientCertificate,
    PresentedCertificate,
    ProxyVerdict,
    TrustLevel,
)
from gateway.domain.limits.caches import SizedCache, size_of
from gateway.domain.ports.certificates import Authorities, Revocations
from gateway.domain.realm import Realm

REMEMBERED_BYTES: Final = 5 * 512 * 1024
"""Memory of a worker for evaluations: a thousand usual certificates, or fewer large ones."""


class CertificateTrust(Protocol):
    """Decides what a certificate may be used for in a realm."""

    async def evaluate(
        self, evidence: CertificateEvidence, realm: Realm, now: datetime
    ) -> ClientCertificate:
        """Return the certificate with its trust level in `realm` at `now`.

        TRUSTED needs both the proxy's verdict and our own checks: path, validity, purpose, key
        strength and revocation.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """What is known of a certificate apart from time, revocation and the proxy's verdict.

    `path` holds the leaf alone where no path leads to an authority.
    """

    trust_level: TrustLevel
    reason: str | None
    path: CertificationPath


class GlobalAuthorities:
    """Evaluates certificates by one set of authorities and, where given, revocation lists."""

    def __init__(self, authorities: Authorities, revocations: Revocations | None) -> None:
        """Trust the clients of `authorities`; without any, no certificate is TRUSTED."""
        self._authorities = authorities
        self._revocations = revocations
        self._edition = authorities.edition
        self._evaluations: SizedCache[bytes, _Evaluation] = SizedCache(REMEMBERED_BYTES, _weigh)

    async def evaluate(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
    ) -> ClientCertificate:
        self._forget_when_authorities_change()
        evaluation = self._evaluation(evidence.leaf, now)
        if evaluation.trust_level is TrustLevel.REFUSED:
            return ClientCertificate(evidence, TrustLevel.REFUSED, evaluation.reason)
        refusal = _time_refusal(evaluation.path, now)
        if refusal is None and self._revocations is not None:
            refusal = await self._revocations.refusal(evaluation.path, realm, now)
        if refusal is not None:
            return ClientCertificate(evidence, TrustLevel.REFUSED, refusal)
        if evaluation.trust_level is not TrustLevel.TRUSTED:
            return ClientCertificate(evidence, evaluation.trust_level, evaluation.reason)
        if evidence.verdict is not ProxyVerdict.VERIFIED:
            return ClientCertificate(evidence, TrustLevel.UNTRUSTED, "the proxy did not verify it")
        return ClientCertificate(evidence, TrustLevel.TRUSTED, path=evaluation.path)

    def _forget_when_authorities_change(self) -> None:
        self._authorities.renew()
        if self._authorities.edition != self._edition:
            self._edition = self._authorities.edition
            self._evaluations.clear()

    def _evaluation(self, leaf: PresentedCertificate, now: datetime) -> _Evaluation:
        known = self._evaluations.get(leaf.digest)
        if known is not None and known.path.holds_at(now):
            return known
        evaluation = self._evaluate(leaf, now)
        self._evaluations.put(leaf.digest, evaluation)
        return evaluation

    def _evaluate(self, leaf: PresentedCertificate, now: datetime) -> _Evaluation:
        try:
            path = self._authorities.path(leaf, now)
        except CertificateRefused as refusal:
            return _Evaluation(TrustLevel.REFUSED, str(refusal), CertificationPath.of(leaf))
        if path is None:
            reason = f"the issuer {leaf.issuer} is not known"
            return _Evaluation(TrustLevel.UNTRUSTED, reason, CertificationPath.of(leaf))
        return _Evaluation(TrustLevel.TRUSTED, None, path)


def _weigh(_digest: bytes, evaluation: _Evaluation) -> int:
    # The other certificates of the path belong to the authorities.
    return size_of((evaluation.reason, evaluation.path.certificates[0]))


def _time_refusal(path: CertificationPath, now: datetime) -> str | None:
    if path.holds_at(now):
        return None
    late = next((item for item in path.certificates if item.not_after < now), None)
    if late is not None:
        return _dated(late, path, f"expired at {late.not_after}")
    early = next(item for item in path.certificates if item.not_before > now)
    return _dated(early, path, f"is not valid before {early.not_before}")


def _dated(certificate: CertificateFacts, path: CertificationPath, what: str) -> str:
    who = "it" if certificate is path.certificates[0] else f"the authority {certificate.subject}"
    return f"{who} {what}"
