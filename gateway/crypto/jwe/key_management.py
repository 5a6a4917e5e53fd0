"""How the content encryption key reaches the recipient: RSA-OAEP, or agreement on a curve.

Spec: RFC 7518 §4.3 (RSAES OAEP), §4.6 (ECDH-ES: Concat KDF, direct or with key wrapping)
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.kdf.concatkdf import ConcatKDFHash
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

from gateway.crypto.jwe.content_encryption import key_bytes
from gateway.crypto.public_keys import PublicKey
from gateway.domain import base64url
from gateway.domain.keys import ContentEncryption, KeyManagement, TokenEncryption

EncryptionKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

_OAEP_HASHES: Final[Mapping[KeyManagement, hashes.HashAlgorithm]] = {
    KeyManagement.RSA_OAEP: hashes.SHA1(),  # noqa: S303 - OAEP needs no collision resistance
    KeyManagement.RSA_OAEP_256: hashes.SHA256(),
}
_WRAPPING_KEYS: Final[Mapping[KeyManagement, int]] = {
    KeyManagement.ECDH_ES_A128KW: 16,
    KeyManagement.ECDH_ES_A192KW: 24,
    KeyManagement.ECDH_ES_A256KW: 32,
}
_CURVES: Final = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
_BITS_OF_A_BYTE: Final = 8


@dataclass(frozen=True, slots=True)
class ContentKey:
    """A new content encryption key, and what the recipient finds it by."""

    key: bytes = field(repr=False)
    encrypted: bytes
    members: Mapping[str, Any] = field(default_factory=dict)
    """Of the header: the ephemeral public key."""


def fits(key: PublicKey, algorithm: KeyManagement) -> bool:
    """Tell whether content can be encrypted for `key` by `algorithm`."""
    wanted = rsa.RSAPublicKey if algorithm.uses_rsa else ec.EllipticCurvePublicKey
    return isinstance(key, wanted)


def new_content_key(key: EncryptionKey, encryption: TokenEncryption) -> ContentKey:
    """Return a new key for one JWE; `key` fits the algorithm."""
    if isinstance(key, rsa.RSAPublicKey):
        made = secrets.token_bytes(key_bytes(encryption.content))
        return ContentKey(made, key.encrypt(made, _oaep(encryption.algorithm)))
    ephemeral = ec.generate_private_key(key.curve)
    agreed = _derived(ephemeral.exchange(ec.ECDH(), key), encryption)
    members = {"epk": _public_jwk(ephemeral.public_key())}
    if encryption.algorithm is KeyManagement.ECDH_ES:
        return ContentKey(agreed, b"", members)
    made = secrets.token_bytes(key_bytes(encryption.content))
    return ContentKey(made, aes_key_wrap(agreed, made), members)


def open_content_key(
    key: rsa.RSAPrivateKey, algorithm: KeyManagement, content: ContentEncryption, encrypted: bytes
) -> bytes:
    """Return the content encryption key; a random one where it cannot be decrypted.

    So a wrong key and a wrong tag end at the same place. Spec: RFC 7516 §11.5
    """
    other = secrets.token_bytes(key_bytes(content))
    try:
        found = key.decrypt(encrypted, _oaep(algorithm))
    except ValueError:
        return other
    return found if len(found) == len(other) else other


def _oaep(algorithm: KeyManagement) -> padding.OAEP:
    digest = _OAEP_HASHES[algorithm]
    return padding.OAEP(padding.MGF1(digest), digest, None)


def _derived(shared: bytes, encryption: TokenEncryption) -> bytes:
    """Return the agreed key: of the content for ECDH-ES, else the one that wraps it."""
    wrapping = _WRAPPING_KEYS.get(encryption.algorithm)
    length = key_bytes(encryption.content) if wrapping is None else wrapping
    name = encryption.content if wrapping is None else encryption.algorithm
    parties = _prefixed(name.encode("ascii")) + _prefixed(b"") + _prefixed(b"")
    info = parties + (length * _BITS_OF_A_BYTE).to_bytes(4, "big")
    return ConcatKDFHash(hashes.SHA256(), length, info).derive(shared)


def _prefixed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _public_jwk(key: ec.EllipticCurvePublicKey) -> dict[str, str]:
    point, width = key.public_numbers(), (key.curve.key_size + 7) // _BITS_OF_A_BYTE
    x, y = (base64url.encode(number.to_bytes(width, "big")) for number in (point.x, point.y))
    return {"kty": "EC", "crv": _CURVES[key.curve.name], "x": x, "y": y}
