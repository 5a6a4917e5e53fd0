"""Which standing a forwarded certificate has: trusted, good for binding only, or refused.

What does not change is judged once and remembered by thumbprint; time and revocation are judged on
each use, so that a certificate falls out of use the moment it expires or is revoked.

Spec: RFC 8705 §2, §3, §7.4; attacks A6 to A10, A17
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from gateway.crypto import base64url
from gateway.crypto.x509.authorities import AuthorityBundle, CertificationPath
from gateway.crypto.x509.parse import CertificateFacts, parse_certificate
from gateway.crypto.x509.requirements import CertificateRefused, require_client
from gateway.crypto.x509.revocation import RevocationLists
from gateway.domain.certificates import ClientCertificate, Standing
from gateway.domain.clock import Clock
from gateway.domain.limits.caches import SizedCache, size_of

REMEMBERED_BYTES: Final = 3 * 1024 * 1024
"""Memory of a worker for judgements: a thousand usual certificates, or fewer large ones."""


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What is known of a certificate apart from time and revocation.

    `certificate` has the standing it gets with the proxy's word, `unverified` without it. Of the
    leaf only what time and revocation ask for is kept: its parsed extensions take ten times the
    memory of its encoding. The authorities belong to the bundle.
    """

    certificate: ClientCertificate
    unverified: ClientCertificate
    path: CertificationPath


class X509CertificateReader:
    """Reads certificates against a bundle of authorities and, where given, revocation lists."""

    def __init__(
        self,
        bundle: AuthorityBundle,
        revocation: RevocationLists | None,
        clock: Clock,
        *,
        remembered_bytes: int = REMEMBERED_BYTES,
    ) -> None:
        """Believe the authorities of `bundle`; an empty one makes nothing TRUSTED."""
        self._bundle = bundle
        self._revocation = revocation
        self._clock = clock
        self._edition = bundle.edition
        self._judgements: SizedCache[bytes, _Judgement] = SizedCache(remembered_bytes, _weigh)

    def read(self, der: bytes, *, verified_by_proxy: bool) -> ClientCertificate:
        """Return the certificate with its standing now; raises MalformedCertificate."""
        now = self._clock.now()
        self._forget_when_authorities_change()
        judgement = self._judgement(der, now)
        if judgement.certificate.standing is Standing.REFUSED:
            return judgement.certificate
        refusal = _time_refusal(judgement.path, now) or self._revoked(judgement.path, now)
        if refusal is not None:
            return _refused(judgement.certificate, refusal)
        return judgement.certificate if verified_by_proxy else judgement.unverified

    def _forget_when_authorities_change(self) -> None:
        self._bundle.renew()
        if self._bundle.edition != self._edition:
            self._edition = self._bundle.edition
            self._judgements.clear()

    def _revoked(self, path: CertificationPath, now: datetime) -> str | None:
        return None if self._revocation is None else self._revocation.refusal(path, now)

    def _judgement(self, der: bytes, now: datetime) -> _Judgement:
        digest = hashlib.sha256(der).digest()
        known = self._judgements.get(digest)
        if known is not None and known.path.holds_at(now):
            return known
        judgement = self._judge(der, now)
        self._judgements.put(digest, judgement)
        return judgement

    def _judge(self, der: bytes, now: datetime) -> _Judgement:
        parsed = parse_certificate(der)
        certificate = ClientCertificate(
            thumbprint=base64url.encode(parsed.digest),
            standing=Standing.TRUSTED,
            subject=parsed.subject,
            serial=parsed.serial,
            issuer=parsed.issuer,
            der=der,
        )
        try:
            require_client(parsed)
            path = self._bundle.path(parsed, now)
        except CertificateRefused as refusal:
            refused = _refused(certificate, str(refusal))
            return _Judgement(refused, refused, CertificationPath.of(parsed.facts))
        if path is None:
            stranger = _untrusted(certificate, f"the issuer {parsed.issuer} is not known")
            return _Judgement(stranger, stranger, CertificationPath.of(parsed.facts))
        unverified = _untrusted(certificate, "the proxy did not verify it")
        return _Judgement(certificate, unverified, path)


def _weigh(_digest: bytes, judgement: _Judgement) -> int:
    leaf = judgement.path.certificates[0]
    return size_of((judgement.certificate, judgement.unverified, leaf))


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


def _refused(certificate: ClientCertificate, reason: str) -> ClientCertificate:
    return replace(certificate, standing=Standing.REFUSED, reason=reason)


def _untrusted(certificate: ClientCertificate, reason: str) -> ClientCertificate:
    return replace(certificate, standing=Standing.UNTRUSTED, reason=reason)
