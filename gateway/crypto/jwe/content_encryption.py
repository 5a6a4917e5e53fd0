"""The content of a JWE: authenticated encryption by AES-GCM, or by AES-CBC with HMAC.

Spec: RFC 7518 §5.2 (CBC: MAC key first, then the cipher's), §5.3 (GCM); NIST SP 800-38D §5.2.1.2
"""

import hmac
import secrets
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.padding import PKCS7

from gateway.domain.keys import ContentEncryption

_GCM_IV_BYTES: Final = 12
_GCM_TAG_BYTES: Final = 16
_BLOCK_BYTES: Final = 16
_BITS_OF_A_BYTE: Final = 8
_GCM_KEYS: Final = {
    ContentEncryption.A128GCM: 16,
    ContentEncryption.A192GCM: 24,
    ContentEncryption.A256GCM: 32,
}
_CBC_KEYS: Final = {
    ContentEncryption.A128CBC_HS256: (16, "sha256"),
    ContentEncryption.A192CBC_HS384: (24, "sha384"),
    ContentEncryption.A256CBC_HS512: (32, "sha512"),
}
"""The length of each of the two keys, and of the tag, in bytes; the hash of the MAC."""


class NotAuthentic(ValueError):
    """Key, initialization vector, ciphertext, tag and associated data do not fit each other."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Encrypted content."""

    iv: bytes
    ciphertext: bytes
    tag: bytes


def key_bytes(algorithm: ContentEncryption) -> int:
    """Return the length of the content encryption key."""
    if algorithm in _GCM_KEYS:
        return _GCM_KEYS[algorithm]
    half, _ = _CBC_KEYS[algorithm]
    return 2 * half


def seal(algorithm: ContentEncryption, key: bytes, content: bytes, associated: bytes) -> Sealed:
    """Encrypt; `key` is used for this content alone."""
    if algorithm in _GCM_KEYS:
        iv = secrets.token_bytes(_GCM_IV_BYTES)
        sealed = AESGCM(key).encrypt(iv, content, associated)
        return Sealed(iv, sealed[:-_GCM_TAG_BYTES], sealed[-_GCM_TAG_BYTES:])
    half, digest = _CBC_KEYS[algorithm]
    iv = secrets.token_bytes(_BLOCK_BYTES)
    padder = PKCS7(_BLOCK_BYTES * _BITS_OF_A_BYTE).padder()
    encryptor = Cipher(algorithms.AES(key[half:]), modes.CBC(iv)).encryptor()
    padded = padder.update(content) + padder.finalize()
    ciphertext = encryptor.update(padded) + encryptor.finalize()
    return Sealed(iv, ciphertext, _cbc_tag(key[:half], digest, associated, iv + ciphertext))


def unseal(algorithm: ContentEncryption, key: bytes, sealed: Sealed, associated: bytes) -> bytes:
    """Return the content; raises NotAuthentic. A shortened tag or another IV is refused."""
    if algorithm in _GCM_KEYS:
        if len(sealed.iv) != _GCM_IV_BYTES or len(sealed.tag) != _GCM_TAG_BYTES:
            raise NotAuthentic
        try:
            return AESGCM(key).decrypt(sealed.iv, sealed.ciphertext + sealed.tag, associated)
        except InvalidTag as error:
            raise NotAuthentic from error
    half, digest = _CBC_KEYS[algorithm]
    expected = _cbc_tag(key[:half], digest, associated, sealed.iv + sealed.ciphertext)
    # The tag comes first: padding is looked at only where the sender knew the key.
    if not hmac.compare_digest(expected, sealed.tag) or len(sealed.iv) != _BLOCK_BYTES:
        raise NotAuthentic
    decryptor = Cipher(algorithms.AES(key[half:]), modes.CBC(sealed.iv)).decryptor()
    unpadder = PKCS7(_BLOCK_BYTES * _BITS_OF_A_BYTE).unpadder()
    try:
        padded = decryptor.update(sealed.ciphertext) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()
    except ValueError as error:
        raise NotAuthentic from error


def _cbc_tag(key: bytes, digest: str, associated: bytes, sealed: bytes) -> bytes:
    length = (len(associated) * _BITS_OF_A_BYTE).to_bytes(8, "big")
    return hmac.digest(key, associated + sealed + length, digest)[: len(key)]
