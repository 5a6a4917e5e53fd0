"""Signing for a client: by the algorithm that the client chose, or else the realm's default.

Each of the three choices of a client (access token, ID token, userinfo) is an attribute of its own.
HS256, HS384 and HS512 use a secret key of the realm, as in Keycloak, not the client's secret: only
the gateways can check such a signature. Spec: RFC 7518 §3.1, OpenID Connect Core §3.1.3.6
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.keys import (
    ACCESS_TOKEN_ALGORITHM,
    ALGORITHMS_OF_CLIENTS,
    ID_TOKEN_ALGORITHM,
    HeaderType,
    KeyAlgorithm,
    SignatureAlgorithm,
    key_algorithm,
)
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import ProtocolRequest

RFC_9068_HEADER: Final = "access.token.header.type.rfc9068"

_HASHES: Final[Mapping[str, str]] = {
    algorithm: "sha512" if algorithm is SignatureAlgorithm.EDDSA else f"sha{algorithm[-3:]}"
    for algorithm in ALGORITHMS_OF_CLIENTS
}
"""The hash of each algorithm; that of EdDSA is the one of Ed25519 (RFC 8032 §5.1)."""


def signing_algorithm(request: ProtocolRequest, client: Client, attribute: str) -> KeyAlgorithm:
    """Return the client's choice, or else the realm's default; raises OAuthError."""
    chosen = client.attributes.get(attribute)
    if not chosen:
        return request.realm.realm.default_signature_algorithm
    if chosen not in ALGORITHMS_OF_CLIENTS:
        raise _no_key(chosen)
    return key_algorithm(chosen)


def sign_for_client(
    request: ProtocolRequest,
    client: Client,
    claims: Mapping[str, Any],
    attribute: str,
    header_type: HeaderType = HeaderType.JWT,
) -> str:
    """Return the compact JWS by the algorithm that `attribute` of the client names.

    Raises OAuthError when the realm has no active key for it.
    """
    algorithm = signing_algorithm(request, client, attribute)
    return _sign(request, claims, algorithm, header_type)


def sign_by_default(
    request: ProtocolRequest, claims: Mapping[str, Any], header_type: HeaderType
) -> str:
    """Return the compact JWS by the realm's default algorithm; raises OAuthError."""
    algorithm = request.realm.realm.default_signature_algorithm
    return _sign(request, claims, algorithm, header_type)


def sign_access_token(request: ProtocolRequest, client: Client, claims: Mapping[str, Any]) -> str:
    """Return the access token, its header's `typ` at+jwt where the client asks for it.

    Spec: RFC 9068 §2.1. Raises OAuthError.
    """
    wanted = client.attributes.get(RFC_9068_HEADER, "").lower() == "true"
    header_type = HeaderType.ACCESS_TOKEN if wanted else HeaderType.JWT
    return sign_for_client(request, client, claims, ACCESS_TOKEN_ALGORITHM, header_type)


def access_token_hash(request: ProtocolRequest, client: Client, access_token: str) -> str:
    """Return `at_hash`: half of the hash that the ID token's algorithm uses.

    Spec: OpenID Connect Core §3.1.3.6; Keycloak 26.7. Raises OAuthError.
    """
    algorithm = signing_algorithm(request, client, ID_TOKEN_ALGORITHM)
    digest = hashlib.new(_HASHES[algorithm], access_token.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode("ascii")


def _sign(
    request: ProtocolRequest,
    claims: Mapping[str, Any],
    algorithm: KeyAlgorithm,
    header_type: HeaderType,
) -> str:
    try:
        return request.realm.key_ring.sign(claims, algorithm, request.now, header_type)
    except (ValueError, LookupError) as error:
        raise _no_key(algorithm) from error


def _no_key(algorithm: str) -> OAuthError:
    return OAuthError("invalid_request", f"The realm has no active key for {algorithm}")
