"""Compact JWE: encrypted for clients, and decrypted where it was encrypted for a realm.

joserfc implements the algorithms and the encryption. Ours are the parts that its callers decide:
a strict parser with bounds before any key is used, and one reason for every failure with a key.
joserfc is imported with the first encrypted token, since it takes 1 MB and 20 ms.

Parsing: five canonical base64url parts, at most 24 kB, a header that is one JSON object without a
repeated name. `crit` is refused because no extension is understood, `zip` because a few bytes would
unpack to any size. Spec: RFC 7516 §4.1, §5.2, §7.1; RFC 8725 §3.6

Encryption: RSA-OAEP or ECDH-ES for the key, AES-GCM or AES-CBC with HMAC for the content.
Spec: RFC 7516 §5.1; RFC 7518 §4.3, §4.6, §5.2, §5.3; RFC 7519 §5.2 (`cty`)

Decryption for an RSA key of a realm. Spec: RFC 7516 §5.2, §11.5
"""

from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from gateway.crypto.jose import decoded, read_header
from gateway.crypto.public_keys import PublicKey
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import ContentEncryption, KeyManagement, TokenEncryption

MAX_JWE_LENGTH: Final = 24 * 1024
"""A signed JWT of 16 kB, encrypted."""
_PARTS: Final = 5
_MAX_KEY_LENGTH: Final = 1024
_REFUSED: Final = ("crit", "zip")


@dataclass(frozen=True, slots=True)
class CompactJwe:
    """A parsed JWE; `associated_data` is its encoded header, `ciphertext` is not decoded yet."""

    encryption: TokenEncryption
    kid: str | None
    associated_data: bytes
    encrypted_key: bytes = field(repr=False)
    iv: bytes
    ciphertext: str = field(repr=False)
    tag: bytes


def parse_jwe(token: str) -> CompactJwe:
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


EncryptionKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

_ALGORITHMS: Final = frozenset((*KeyManagement, *ContentEncryption))
"""joserfc knows RSA1_5, PBES2, `dir` and `zip` too: they are refused."""


def fits(key: PublicKey, algorithm: KeyManagement) -> bool:
    """Return whether content can be encrypted for `key` by `algorithm`."""
    wanted = rsa.RSAPublicKey if algorithm.uses_rsa else ec.EllipticCurvePublicKey
    return isinstance(key, wanted)


def encrypt(
    content: bytes,
    key: EncryptionKey,
    encryption: TokenEncryption,
    *,
    kid: str | None,
    content_type: str | None,
) -> str:
    """Return the JWE under `kid`, with `content_type` as `cty`; `key` fits the algorithm.

    Keycloak: header {"alg", "enc", "typ", "cty", "kid"}
    """
    from joserfc.jwe import JWERegistry, encrypt_compact  # noqa: PLC0415 - see above
    from joserfc.jwk import ECKey, RSAKey  # noqa: PLC0415 - see above

    recipient: RSAKey | ECKey
    if isinstance(key, rsa.RSAPublicKey):
        recipient = RSAKey.import_key(key)
    else:
        recipient = ECKey.import_key(key)
    header = {
        "alg": encryption.algorithm.value,
        "enc": encryption.content.value,
        **({"cty": content_type} if content_type else {}),
        **({"kid": kid} if kid else {}),
    }
    return encrypt_compact(header, content, recipient, registry=JWERegistry(algorithms=_ALGORITHMS))


CANNOT_DECRYPT: Final = "it cannot be decrypted"
"""The one reason for every failure with a key: a sender must not learn how far it came."""
_OAEP_HASHES: Final[dict[KeyManagement, hashes.HashAlgorithm]] = {
    KeyManagement.RSA_OAEP: hashes.SHA1(),  # noqa: S303 - OAEP needs no collision resistance
    KeyManagement.RSA_OAEP_256: hashes.SHA256(),
}


def decrypt(jwe: CompactJwe, key: rsa.RSAPrivateKey) -> bytes:
    """Return the content; raises InvalidToken. The caller has checked the algorithm.

    A random key replaces an encrypted key that does not open, so that all failures look alike;
    `decrypt_compact` of joserfc stops earlier.
    """
    from joserfc.errors import JoseError  # noqa: PLC0415 - see above
    from joserfc.jwe import JWERegistry  # noqa: PLC0415 - see above

    ciphertext = decoded(jwe.ciphertext, "ciphertext")
    content = JWERegistry(algorithms=_ALGORITHMS).get_enc(jwe.encryption.content)
    content_key = content.generate_cek()
    digest = _OAEP_HASHES[jwe.encryption.algorithm]
    try:
        found = key.decrypt(jwe.encrypted_key, padding.OAEP(padding.MGF1(digest), digest, None))
    except ValueError:
        found = b""
    if len(found) == len(content_key):
        content_key = found
    try:
        content.check_iv(jwe.iv)
        return content.decrypt(ciphertext, jwe.tag, content_key, jwe.iv, jwe.associated_data)
    except (JoseError, ValueError):
        raise InvalidToken(CANNOT_DECRYPT) from None
