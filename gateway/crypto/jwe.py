"""Compact JWE: made for clients, and opened where it was encrypted for a realm. Spec: RFC 7516.

Compact JWE: strict parsing before any key is used.

Five canonical base64url parts, at most 24 kB, a header that is one JSON object without a repeated
name. `crit` is refused because no extension is understood, `zip` because a few bytes would unpack
to any size. Spec: RFC 7516 §4.1, §5.2, §7.1; RFC 8725 §3.6

The content of a JWE: authenticated encryption by AES-GCM, or by AES-CBC with HMAC.

Spec: RFC 7518 §5.2 (CBC: MAC key first, then the cipher's), §5.3 (GCM); NIST SP 800-38D §5.2.1.2

How the content encryption key reaches the recipient: RSA-OAEP, or agreement on a curve.

Spec: RFC 7518 §4.3 (RSAES OAEP), §4.6 (ECDH-ES: Concat KDF, direct or with key wrapping)

Making a compact JWE for one recipient. Spec: RFC 7516 §5.1, §7.1; RFC 7519 §5.2 (`cty`).

Opening a compact JWE that was encrypted for an RSA key of ours. Spec: RFC 7516 §5.2, §11.5.
"""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.concatkdf import ConcatKDFHash
from cryptography.hazmat.primitives.keywrap import aes_key_wrap
from cryptography.hazmat.primitives.padding import PKCS7

from gateway.crypto.jose import decoded, read_header
from gateway.crypto.public_keys import PublicKey
from gateway.domain import base64url
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import ContentEncryption, KeyManagement, TokenEncryption

MAX_JWE_LENGTH: Final = 24 * 1024
"""A signed JWT of 16 kB, encrypted."""
_PARTS: Final = 5
_MAX_KEY_LENGTH: Final = 1024
_REFUSED: Final = ("crit", "zip")


@dataclass(frozen=True, slots=True)
class CompactJwe:
    """The parts of a JWE; `associated_data` is its encoded header, which the tag covers.

    `ciphertext` is not decoded before the key is known.
    """

    encryption: TokenEncryption
    kid: str | None
    associated_data: bytes
    encrypted_key: bytes = field(repr=False)
    iv: bytes
    ciphertext: str = field(repr=False)
    tag: bytes


def parse(token: str) -> CompactJwe:
    """Parse a compact JWE; raises InvalidToken, whose reason does not depend on any key."""
    if len(token) > MAX_JWE_LENGTH:
        raise InvalidToken(f"longer than {MAX_JWE_LENGTH} characters")
    if not token.isascii():
        raise InvalidToken("not ASCII")
    parts = token.split(".")
    if len(parts) != _PARTS:
        raise InvalidToken("not five parts separated by dots")
    encoded_header, encrypted_key, iv, ciphertext, tag = parts
    if max(len(encrypted_key), len(iv), len(tag)) > _MAX_KEY_LENGTH:
        raise InvalidToken("the encrypted key, initialization vector or tag is too long")
    header = read_header(encoded_header)
    if any(name in header for name in _REFUSED):
        raise InvalidToken("crit and zip are not supported")
    kid = header.get("kid")
    return CompactJwe(
        encryption=_encryption(header.get("alg"), header.get("enc")),
        kid=kid if isinstance(kid, str) else None,
        associated_data=encoded_header.encode("ascii"),
        encrypted_key=decoded(encrypted_key, "encrypted key"),
        iv=decoded(iv, "initialization vector"),
        ciphertext=ciphertext,
        tag=decoded(tag, "tag"),
    )


def _encryption(algorithm: object, content: object) -> TokenEncryption:
    if not isinstance(algorithm, str) or algorithm not in set(KeyManagement):
        raise InvalidToken("alg is not one that is supported")
    if not isinstance(content, str) or content not in set(ContentEncryption):
        raise InvalidToken("enc is not one that is supported")
    return TokenEncryption(KeyManagement(algorithm), ContentEncryption(content))


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


def encrypt(
    content: bytes,
    key: EncryptionKey,
    encryption: TokenEncryption,
    *,
    kid: str | None,
    content_type: str | None,
) -> str:
    """Return the JWE; `kid` is the recipient's name of its key, `content_type` the header's `cty`.

    Keycloak: header {"alg", "enc", "typ", "cty", "kid"}
    """
    content_key = new_content_key(key, encryption)
    header = {
        "alg": encryption.algorithm,
        "enc": encryption.content,
        **({"cty": content_type} if content_type else {}),
        **({"kid": kid} if kid else {}),
        **content_key.members,
    }
    encoded_header = base64url.encode(orjson.dumps(header))
    sealed = seal(encryption.content, content_key.key, content, encoded_header.encode("ascii"))
    parts = (content_key.encrypted, sealed.iv, sealed.ciphertext, sealed.tag)
    return ".".join((encoded_header, *map(base64url.encode, parts)))


CANNOT_DECRYPT: Final = "it cannot be decrypted"
"""The one reason for every failure with a key: a sender must not learn how far it came."""


def decrypt(jwe: CompactJwe, key: rsa.RSAPrivateKey) -> bytes:
    """Return the content; raises InvalidToken. The caller has checked that `alg` is the key's."""
    ciphertext = decoded(jwe.ciphertext, "ciphertext")
    encryption = jwe.encryption
    opened = open_content_key(key, encryption.algorithm, encryption.content, jwe.encrypted_key)
    sealed = Sealed(jwe.iv, ciphertext, jwe.tag)
    try:
        return unseal(encryption.content, opened, sealed, jwe.associated_data)
    except NotAuthentic:
        raise InvalidToken(CANNOT_DECRYPT) from None
