"""Encrypting for a client, which chooses for ID tokens, userinfo and authorization responses apart.

A signed JWT is encrypted after it was signed. The key is looked up before a code or refresh token
is used up. Without a key the client gets an error, never a token in plain text.
Spec: OpenID Connect Core §10.2, RFC 7519 §11.2, JARM §2.2. Keycloak 26.7.3 answers with the same
error where the client has no key, by another text
"""

import json
from collections.abc import Mapping
from typing import Any

from gateway.domain.clients import ChosenContentEncryption, ChosenKeyManagement, Client
from gateway.domain.keys import ContentEncryption, KeyManagement, TokenEncryption
from gateway.domain.ports.client_encryption import ClientEncrypters, Encrypter, NoEncryptionKey
from gateway.protocol.errors import OAuthError

_NESTED = "JWT"


async def id_token_encrypter(keys: ClientEncrypters, client: Client) -> Encrypter | None:
    """Return what encrypts ID tokens, None where the client wants none; raises OAuthError."""
    wanted = client.encryption
    return await _encrypter(keys, client, wanted.id_token, wanted.id_token_content)


async def encrypt_userinfo(
    keys: ClientEncrypters, client: Client, claims: Mapping[str, Any], signed: str | None
) -> str | None:
    """Return the encrypted userinfo: the signed JWT, or else the claims in JSON.

    None where the client wants none; raises OAuthError.
    """
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
    """Return the signed token, encrypted where the client wants it.

    Raises OAuthError where the caller did not look the encrypter up.
    """
    if client.encryption.id_token is None:
        return signed
    if encrypter is None:
        raise _no_key(client.encryption.id_token, "its key was not looked up")
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
        raise _no_key(algorithm, f"{algorithm} with {chosen} is not supported")
    try:
        return await keys.encrypter(client, TokenEncryption(algorithm, chosen))
    except NoEncryptionKey as error:
        raise _no_key(algorithm, str(error)) from error


def _no_key(algorithm: str, reason: str) -> OAuthError:
    text = f"The client has no key that can be encrypted for by {algorithm}"
    return OAuthError("invalid_request", text, reason=reason)
