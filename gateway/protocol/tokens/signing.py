"""Signing for a client: by the algorithm that the client chose, or else the realm's default.

A client chooses for access tokens, ID tokens, userinfo and authorization responses separately.
HS256, HS384 and HS512 use a secret key of the realm, as in Keycloak, not the client's secret: only
the gateways can check such a signature. Spec: RFC 7518 §3.1, OpenID Connect Core §3.1.3.6
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from gateway.domain import base64url
from gateway.domain.clients import ChosenAlgorithm, Client
from gateway.domain.keys import (
    ALGORITHMS_OF_CLIENTS,
    HeaderType,
    SecretAlgorithm,
    SignatureAlgorithm,
    SigningAlgorithm,
)
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import ProtocolRequest

_HASHES: Final[Mapping[str, str]] = {
    algorithm: "sha512" if algorithm is SignatureAlgorithm.EDDSA else f"sha{algorithm[-3:]}"
    for algorithm in ALGORITHMS_OF_CLIENTS
}
"""The hash of each algorithm; that of EdDSA is the one of Ed25519 (RFC 8032 §5.1)."""


def signing_algorithm(request: ProtocolRequest, chosen: ChosenAlgorithm) -> SigningAlgorithm:
    """Return the client's choice, or else the realm's default; raises OAuthError."""
    if chosen is None:
        return request.realm.realm.signature_algorithm
    if not isinstance(chosen, SignatureAlgorithm | SecretAlgorithm):
        raise _no_key(chosen)
    return chosen


def sign_for_client(
    request: ProtocolRequest,
    chosen: ChosenAlgorithm,
    claims: Mapping[str, Any],
    header_type: HeaderType = HeaderType.JWT,
) -> str:
    """Return the compact JWS by the algorithm that the client chose.

    Raises OAuthError when the realm has no active key for it.
    """
    algorithm = signing_algorithm(request, chosen)
    return _sign(request, claims, algorithm, header_type)


def sign_by_default(
    request: ProtocolRequest, claims: Mapping[str, Any], header_type: HeaderType
) -> str:
    """Return the compact JWS by the realm's default algorithm; raises OAuthError."""
    algorithm = request.realm.realm.signature_algorithm
    return _sign(request, claims, algorithm, header_type)


def sign_access_token(request: ProtocolRequest, client: Client, claims: Mapping[str, Any]) -> str:
    """Return the access token, its header's `typ` at+jwt where the client asks for it.

    Spec: RFC 9068 §2.1. Raises OAuthError.
    """
    signing = client.signing
    header_type = HeaderType.ACCESS_TOKEN if signing.rfc9068_header else HeaderType.JWT
    return sign_for_client(request, signing.access_token, claims, header_type)


def sign_authorization_response(
    request: ProtocolRequest, client: Client, claims: Mapping[str, Any]
) -> str:
    """Return the parameters of an authorization response as a JWT. Spec: JARM §2.2.

    Raises OAuthError.
    """
    return sign_for_client(request, client.signing.authorization_response, claims)


def token_hash(request: ProtocolRequest, client: Client, text: str) -> str:
    """Return `at_hash`, `c_hash` or `s_hash`: half of the hash that the ID token's algorithm uses.

    Spec: OpenID Connect Core §3.1.3.6, §3.3.2.11; Keycloak 26.7. Raises OAuthError.
    """
    algorithm = signing_algorithm(request, client.signing.id_token)
    digest = hashlib.new(_HASHES[algorithm], text.encode()).digest()
    return base64url.encode(digest[: len(digest) // 2])


def _sign(
    request: ProtocolRequest,
    claims: Mapping[str, Any],
    algorithm: SigningAlgorithm,
    header_type: HeaderType,
) -> str:
    try:
        return request.realm.key_ring.sign(claims, algorithm, request.now, header_type)
    except (ValueError, LookupError) as error:
        raise _no_key(algorithm) from error


def _no_key(algorithm: str) -> OAuthError:
    return OAuthError("invalid_request", f"The realm has no active key for {algorithm}")
