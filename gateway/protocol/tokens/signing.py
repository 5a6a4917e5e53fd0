"""Signing and encrypting for a client, which chooses the algorithms of each kind of response.

A client chooses for access tokens, ID tokens, userinfo and authorization responses separately. A
signed JWT is encrypted after it was signed. The key is looked up before a code or refresh token is
used up. Without a key the client gets an error, never a token in plain text; Keycloak 26.7.3
answers with the same error where the client has no key, by another text. Spec: RFC 7518 §3.1, RFC
7519 §11.2, OpenID Connect Core §3.1.3.6, §10.2, JARM §2.2
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from gateway.domain import base64url
from gateway.domain.clients import (
    ChosenAlgorithm,
    ChosenContentEncryption,
    ChosenKeyManagement,
    Client,
)
from gateway.domain.keys import (
    ALGORITHMS_OF_CLIENTS,
    ContentEncryption,
    HeaderType,
    KeyManagement,
    SecretAlgorithm,
    SignatureAlgorithm,
    SigningAlgorithm,
    TokenEncryption,
)
from gateway.domain.ports.client_keys import ClientEncrypters, Encrypter, NoEncryptionKey
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
        raise _no_key_of_realm(chosen)
    return chosen


def sign_for_client(
    request: ProtocolRequest,
    chosen: ChosenAlgorithm,
    claims: Mapping[str, Any],
    header_type: HeaderType = HeaderType.JWT,
) -> str:
    """Return the compact JWS by the chosen algorithm; raises OAuthError without a key.

    HMACs use a secret key of the realm, as in Keycloak, which only gateways can check.
    Spec: RFC 7518 §3.1, OpenID Connect Core §3.1.3.6
    """
    algorithm = signing_algorithm(request, chosen)
    try:
        return request.realm.key_ring.sign(claims, algorithm, request.now, header_type)
    except (ValueError, LookupError) as error:
        raise _no_key_of_realm(algorithm) from error


def sign_access_token(request: ProtocolRequest, client: Client, claims: Mapping[str, Any]) -> str:
    """Return the access token, its header's `typ` at+jwt where the client asks for it.

    Spec: RFC 9068 §2.1. Raises OAuthError.
    """
    signing = client.signing
    header_type = HeaderType.ACCESS_TOKEN if signing.rfc9068_header else HeaderType.JWT
    return sign_for_client(request, signing.access_token, claims, header_type)


def token_hash(request: ProtocolRequest, client: Client, text: str) -> str:
    """Return `at_hash`, `c_hash` or `s_hash`. Spec: OpenID Connect Core §3.1.3.6, §3.3.2.11."""
    algorithm = signing_algorithm(request, client.signing.id_token)
    digest = hashlib.new(_HASHES[algorithm], text.encode()).digest()
    return base64url.encode(digest[: len(digest) // 2])


def _no_key_of_realm(algorithm: str) -> OAuthError:
    return OAuthError("invalid_request", f"The realm has no active key for {algorithm}")


_NESTED = "JWT"


async def id_token_encrypter(keys: ClientEncrypters, client: Client) -> Encrypter | None:
    """Return what encrypts ID tokens, None where the client wants none; raises OAuthError."""
    wanted = client.encryption
    return await _encrypter(keys, client, wanted.id_token, wanted.id_token_content)


async def encrypt_userinfo(
    keys: ClientEncrypters, client: Client, claims: Mapping[str, Any], signed: str | None
) -> str | None:
    """Return the encrypted JWT or JSON, None where the client wants none; raises OAuthError."""
    wanted = client.encryption
    encrypter = await _encrypter(keys, client, wanted.userinfo, wanted.userinfo_content)
    if encrypter is None:
        return None
    if signed is None:
        return encrypter.encrypt(json.dumps(claims, default=dict, ensure_ascii=False))
    return encrypter.encrypt(signed, _NESTED)


async def encrypt_authorization_response(
    keys: ClientEncrypters, client: Client, signed: str
) -> str:
    """Return the signed response, encrypted where the client wants it; raises OAuthError."""
    wanted = client.encryption
    encrypter = await _encrypter(
        keys, client, wanted.authorization_response, wanted.authorization_response_content
    )
    return signed if encrypter is None else encrypter.encrypt(signed, _NESTED)


def encrypt_id_token(client: Client, encrypter: Encrypter | None, signed: str) -> str:
    """Return the signed token, encrypted where wanted; raises OAuthError without the encrypter."""
    if client.encryption.id_token is None:
        return signed
    if encrypter is None:
        raise _no_key_of_client(client.encryption.id_token, "its key was not looked up")
    return encrypter.encrypt(signed, _NESTED)


async def _encrypter(
    keys: ClientEncrypters,
    client: Client,
    algorithm: ChosenKeyManagement,
    content: ChosenContentEncryption,
) -> Encrypter | None:
    if algorithm is None:
        return None
    chosen = ContentEncryption.A128CBC_HS256 if content is None else content
    if not isinstance(algorithm, KeyManagement) or not isinstance(chosen, ContentEncryption):
        raise _no_key_of_client(algorithm, f"{algorithm} with {chosen} is not supported")
    try:
        return await keys.encrypter(client, TokenEncryption(algorithm, chosen))
    except NoEncryptionKey as error:
        raise _no_key_of_client(algorithm, str(error)) from error


def _no_key_of_client(algorithm: str, reason: str) -> OAuthError:
    text = f"The client has no key that can be encrypted for by {algorithm}"
    return OAuthError("invalid_request", text, reason=reason)
