"""Tokens that only work together with a TLS client certificate.

Spec: RFC 8705 §3; Keycloak: `tls.client.certificate.bound.access.tokens`
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.event_errors import INVALID_REQUEST, NOT_ALLOWED
from gateway.protocol.errors import EventFailure, OAuthError

BOUND_ACCESS_TOKENS: Final = "tls.client.certificate.bound.access.tokens"
_THUMBPRINT: Final = "x5t#S256"


def confirmation_claim(
    client: Client, certificate: ClientCertificate | None
) -> Mapping[str, str] | None:
    """Return `cnf` where the client asks for bound tokens, None where it does not.

    Raises invalid_request when the client asks for them and shows no usable certificate.
    """
    if client.attributes.get(BOUND_ACCESS_TOKENS, "").lower() != "true":
        return None
    if certificate is None or not certificate.binds:
        text = "Client Certification missing for MTLS HoK Token Binding"
        raise OAuthError("invalid_request", text, event=EventFailure(INVALID_REQUEST, text))
    return {_THUMBPRINT: certificate.thumbprint}


def require_binding(claims: Mapping[str, Any], certificate: ClientCertificate | None) -> None:
    """Refuse a bound token that comes with another certificate, or with none."""
    confirmation = claims.get("cnf")
    if confirmation is None:
        return
    expected = confirmation.get(_THUMBPRINT) if isinstance(confirmation, dict) else None
    if certificate is None or not certificate.binds or certificate.thumbprint != expected:
        text = "Client certificate missing, or its thumbprint and one in the token did NOT match"
        failure = EventFailure(NOT_ALLOWED, text)
        raise OAuthError("invalid_token", text, status=HTTPStatus.UNAUTHORIZED, event=failure)
