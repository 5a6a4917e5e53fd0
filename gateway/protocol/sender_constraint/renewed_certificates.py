"""Whether a certificate is a renewed one of the certificate that a token is bound to.

A thumbprint says nothing of the certificate behind it, so a token that is issued while an overlap
is allowed says the rest in a claim of its own. The gateway reads it from tokens that it has
verified, and nothing of it from the request. Nothing is stored.

The renewed certificate is trusted, has the same subject, the same alternative names, and the same
issuer by name and key, begins later, and counts for a limited time from its start. The certificate
of the token must be valid still, as a revocation list may omit what has expired, and is checked
for revocation at each use. docs/trust-in-certificates.md describes the rule.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from gateway.domain import base64url
from gateway.domain.certificates import CertificateFacts, CertificationPath, ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.ports.certificates import Revocations
from gateway.domain.realm import Realm, renewal_overlap_of
from gateway.protocol.claims.protocol_claims import RENEWAL
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sender_constraint.certificate_binding import THUMBPRINT

_HEXADECIMAL: Final = 16
_NO_OVERLAP: Final = timedelta()


@dataclass(frozen=True, slots=True)
class BoundCertificate:
    """What a token says of its certificate. `identity` is a digest of names and issuer."""

    identity: str
    serial: int
    not_before: datetime
    not_after: datetime

    @classmethod
    def from_claims(cls, claims: Mapping[str, Any]) -> Self | None:
        """Return what the claims of a verified token say; None where they say nothing."""
        found = claims.get(RENEWAL)
        if not isinstance(found, dict):
            return None
        return cls(
            str(found["id"]),
            int(str(found["serial"]), _HEXADECIMAL),
            datetime.fromtimestamp(found["nbf"], UTC),
            datetime.fromtimestamp(found["exp"], UTC),
        )


class RenewedCertificates:
    """Finds out whether the certificate of a request is the renewed one of a token."""

    def __init__(self, revocations: Revocations) -> None:
        self._revocations = revocations

    async def accepts(
        self,
        request: ProtocolRequest,
        certificate: ClientCertificate,
        client: Client,
        claims: Mapping[str, Any],
        thumbprint: str,
    ) -> bool:
        """Tell whether `certificate`, that of the request, may replace that with `thumbprint`.

        `claims` are those of a verified token of the client, which is bound to `thumbprint`.
        Raises StoreUnavailable.
        """
        overlap = overlap_of(request.realm.realm, client)
        if certificate.path is None or not overlap:
            return False
        bound, leaf = BoundCertificate.from_claims(claims), certificate.leaf
        if bound is None or bound.identity != _identity(certificate):
            return False
        if not bound.not_before < leaf.not_before <= request.now < leaf.not_before + overlap:
            return False
        if request.now > bound.not_after:
            return False
        path = _path_of(bound, thumbprint, certificate.path)
        refusal = await self._revocations.refusal(path, request.realm.realm, request.now)
        return refusal is None


def overlap_of(realm: Realm, client: Client) -> timedelta:
    """Return the client's own overlap, or else the realm's; zero: there is none."""
    own = client.tokens.renewal_overlap
    return renewal_overlap_of(realm) if own is None else own


def renewal_claim(
    request: ProtocolRequest, client: Client, confirmation: Mapping[str, str] | None
) -> Mapping[str, Mapping[str, str | int]]:
    """Return the claim of a token that `confirmation` binds to the request's certificate.

    Empty where no overlap is allowed, and for a certificate that is not trusted: such a claim would
    only enlarge the token.
    """
    certificate = request.certificate
    if certificate is None or confirmation is None:
        return {}
    if confirmation.get(THUMBPRINT) != certificate.thumbprint:
        return {}
    if overlap_of(request.realm.realm, client) == _NO_OVERLAP:
        return {}
    identity, leaf = _identity(certificate), certificate.leaf
    if identity is None:
        return {}
    return {
        RENEWAL: {
            "id": identity,
            "serial": f"{leaf.serial:x}",
            "nbf": int(leaf.not_before.timestamp()),
            "exp": int(leaf.not_after.timestamp()),
        }
    }


def _identity(certificate: ClientCertificate) -> str | None:
    """Return the digest of names and issuer; None for a certificate that cannot be renewed.

    That is one that is not trusted, one without names, and one that is an anchor itself.
    """
    leaf, path = certificate.leaf, certificate.path
    if not certificate.identifies or path is None or not path.issuer_key or not leaf.names_digest:
        return None
    issuer = str(leaf.issuer).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(leaf.names_digest + path.issuer_key + issuer).digest()
    return base64url.encode(digest)


def _path_of(
    bound: BoundCertificate, thumbprint: str, renewed: CertificationPath
) -> CertificationPath:
    """Return the path of the token's certificate, which has the issuer of the renewed one."""
    leaf, *authorities = renewed.certificates
    facts = CertificateFacts(
        issuer=leaf.issuer,
        subject=leaf.subject,
        serial=bound.serial,
        not_before=bound.not_before,
        not_after=bound.not_after,
        digest=base64url.decode(thumbprint),
    )
    return CertificationPath.of(facts, *authorities, origin=renewed.origin)
