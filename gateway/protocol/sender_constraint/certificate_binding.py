"""Tokens that only work together with a TLS client certificate.

Spec: RFC 8705 §3; Keycloak: `tls.client.certificate.bound.access.tokens`
"""

import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.protocol.claims.protocol_claims import ISSUED_SERIAL
from gateway.protocol.errors import OAuthError, refused

THUMBPRINT: Final = "x5t#S256"
_MISSING: Final = "Client Certification missing for MTLS HoK Token Binding"
_REFUSED: Final = "Client Certification refused for MTLS HoK Token Binding"
_MISMATCH: Final = (
    "Client certificate missing, or its thumbprint and one in the token did NOT match"
)


def certificate_to_bind(client: Client, certificate: ClientCertificate | None) -> str | None:
    """Return the thumbprint for a new token, None where the client asks for no such tokens.

    Raises invalid_request when the client asks for them and presents no certificate, or one that
    must not be used; the description names the reason.
    """
    if not client.tokens.certificate_bound:
        return None
    if certificate is None:
        raise _unbound(_MISSING)
    if not certificate.binds:
        raise _unbound(f"{_REFUSED}: {certificate.reason_for_caller}")
    return certificate.thumbprint


def bound_certificate(client: Client, certificate: ClientCertificate | None) -> str | None:
    """Return the thumbprint that a client's request is bound to; None for an unbound request.

    A client with certificate-bound tokens that asks for a code with its certificate redeems it with
    the same one. Spec: RFC 8705 §3
    """
    if not client.tokens.certificate_bound or certificate is None or not certificate.binds:
        return None
    return certificate.thumbprint


def presents(certificate: ClientCertificate | None, thumbprint: str | None) -> bool:
    """Tell whether a request has the certificate with `thumbprint`; True where that is None."""
    if thumbprint is None:
        return True
    if certificate is None or not certificate.binds:
        return False
    return secrets.compare_digest(certificate.thumbprint.encode(), thumbprint.encode())


def bound_to(claims: Mapping[str, Any]) -> str | None:
    """Return the thumbprint that the token names in `cnf`; None for a token that names none."""
    confirmation = claims.get("cnf")
    return confirmation.get(THUMBPRINT) if isinstance(confirmation, dict) else None


def issued_serial_claim(
    certificate: ClientCertificate | None, confirmation: Mapping[str, str] | None
) -> Mapping[str, str]:
    """Return the claim that names the certificate of a bound token by issuer and serial number.

    Introspection compares it with deny lists: a resource server does not send the certificate, and
    a thumbprint says nothing of the issuer. Without a certificate in `cnf` there is no claim.
    """
    if certificate is None or confirmation is None or THUMBPRINT not in confirmation:
        return {}
    return {ISSUED_SERIAL: certificate.evidence.leaf.issued_serial}


def require_bound(client: Client, claims: Mapping[str, Any]) -> None:
    """Raise OAuthError where the client has bound tokens and this one is bound to no certificate.

    Such a token was issued before the client had them.
    """
    if client.tokens.certificate_bound and bound_to(claims) is None:
        raise _unproved(_MISMATCH)


def require_certificate(expected: object, certificate: ClientCertificate | None) -> None:
    """Raise OAuthError unless the request has the certificate with the thumbprint `expected`."""
    if certificate is None or certificate.thumbprint != expected:
        raise _unproved(_MISMATCH)
    if not certificate.binds:
        raise _unproved(f"Client certificate refused: {certificate.reason_for_caller}")


def _unbound(text: str) -> OAuthError:
    return refused("invalid_request", text, EventError.INVALID_REQUEST)


def _unproved(text: str) -> OAuthError:
    status = HTTPStatus.UNAUTHORIZED
    return refused("invalid_token", text, EventError.NOT_ALLOWED, status=status)
