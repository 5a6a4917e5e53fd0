"""Tokens that are bound to a TLS client certificate, also to a renewed one. Spec: RFC 8705 §3."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, Self

from gateway.domain import base64url
from gateway.domain.certificates import CertificateFacts, CertificationPath, ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.domain.ports.certificates import Revocations
from gateway.domain.realm import Realm
from gateway.protocol.claims.protocol_claims import ISSUED_SERIAL, RENEWAL, TWIN_THUMBPRINT
from gateway.protocol.errors import OAuthError, refused
from gateway.protocol.requests import ProtocolRequest

THUMBPRINT: Final = "x5t#S256"
_REFUSED_CERTIFICATE: Final = "Client Certification refused for MTLS HoK Token Binding"
_OTHER_CERTIFICATE: Final = (
    "Client certificate missing, or its thumbprint and one in the token did NOT match"
)


def thumbprint_to_bind(certificate: ClientCertificate | None) -> str:
    """Return the thumbprint for a token; raises invalid_request for an unusable certificate."""
    if certificate is None:
        raise _unbound("Client Certification missing for MTLS HoK Token Binding")
    if not certificate.binds:
        raise _unbound(f"{_REFUSED_CERTIFICATE}: {certificate.reason_for_caller}")
    return certificate.thumbprint


def bound_certificate(client: Client, certificate: ClientCertificate | None) -> str | None:
    """Return the thumbprint that the code of a client is bound to, or None. Spec: RFC 8705 §3."""
    if not client.tokens.certificate_bound or certificate is None or not certificate.binds:
        return None
    return certificate.thumbprint


def presents_certificate(certificate: ClientCertificate | None, thumbprint: str | None) -> bool:
    """Return whether a request has the certificate with `thumbprint`; True where that is None."""
    if thumbprint is None:
        return True
    if certificate is None or not certificate.binds:
        return False
    return secrets.compare_digest(certificate.thumbprint.encode(), thumbprint.encode())


def certificate_bound_to(claims: Mapping[str, Any]) -> str | None:
    """Return the thumbprint that the token names in `cnf`; None for a token that names none."""
    confirmation = claims.get("cnf")
    return confirmation.get(THUMBPRINT) if isinstance(confirmation, dict) else None


def certificate_identity_claims(
    certificate: ClientCertificate | None, confirmation: Mapping[str, str] | None
) -> Mapping[str, str]:
    """Return the claims that deny lists name a bound certificate by.

    They are the digest of issuer and serial number, and the thumbprint of the twin, if any.
    """
    if certificate is None or confirmation is None or THUMBPRINT not in confirmation:
        return {}
    leaf = certificate.evidence.leaf
    twin = {TWIN_THUMBPRINT: base64url.encode(leaf.twin_digest)} if leaf.twin_digest else {}
    return {ISSUED_SERIAL: leaf.issued_serial, **twin}


def require_bound(client: Client, claims: Mapping[str, Any]) -> None:
    """Raise OAuthError for an unbound, older token of a client with bound tokens."""
    if client.tokens.certificate_bound and certificate_bound_to(claims) is None:
        raise _unproved(_OTHER_CERTIFICATE)


def require_certificate(expected: object, certificate: ClientCertificate | None) -> None:
    """Raise OAuthError unless the request has the certificate with the thumbprint `expected`."""
    if certificate is None or certificate.thumbprint != expected:
        raise _unproved(_OTHER_CERTIFICATE)
    if not certificate.binds:
        raise _unproved(f"Client certificate refused: {certificate.reason_for_caller}")


def _unbound(text: str) -> OAuthError:
    return refused("invalid_request", text, EventError.INVALID_REQUEST)


def _unproved(text: str) -> OAuthError:
    return refused("invalid_token", text, EventError.NOT_ALLOWED, status=HTTPStatus.UNAUTHORIZED)


_HEXADECIMAL: Final = 16
_NO_OVERLAP: Final = timedelta()


@dataclass(frozen=True, slots=True)
class BoundCertificate:
    """The claims of a token about its certificate. `identity` is a digest of names and issuer."""

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
    """Decides whether the certificate of a request is the renewed one of a token.

    A thumbprint does not describe its certificate, so tokens that are issued while an overlap is
    allowed have a claim that does. The renewed certificate is trusted, has the same names and
    issuer, begins later, and counts for a limited time. That of the token must still be valid and
    unrevoked. docs/trust-in-certificates.md describes the rule.
    """

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
        """Return whether `certificate` may replace that of verified `claims`."""
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
        path = _path_of(bound, thumbprint, str(claims.get(TWIN_THUMBPRINT, "")), certificate.path)
        return (await self._revocations.refusal(path, request.realm.realm, request.now)) is None


def overlap_of(realm: Realm, client: Client) -> timedelta:
    """Return the client's own overlap, or else the realm's; zero: there is none."""
    own = client.tokens.renewal_overlap
    return realm.certificates.renewal_overlap if own is None else own


def renewal_claim(
    request: ProtocolRequest, client: Client, confirmation: Mapping[str, str] | None
) -> Mapping[str, Mapping[str, str | int]]:
    """Return the claim that describes the certificate; empty without overlap, path or binding."""
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
    """Return the digest of names and issuer; None for a certificate that cannot be renewed."""
    leaf, path = certificate.leaf, certificate.path
    if not certificate.identifies or path is None or not path.issuer_key or not leaf.names_digest:
        return None
    issuer = str(leaf.issuer).encode("utf-8", "surrogatepass")
    return base64url.encode(hashlib.sha256(leaf.names_digest + path.issuer_key + issuer).digest())


def _path_of(
    bound: BoundCertificate, thumbprint: str, twin: str, renewed: CertificationPath
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
        twin_digest=base64url.decode(twin),
    )
    return CertificationPath.of(facts, *authorities, origin=renewed.origin)
