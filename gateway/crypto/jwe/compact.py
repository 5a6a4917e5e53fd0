"""Compact JWE: strict parsing before any key is used.

Five canonical base64url parts, at most 24 kB, a header that is one JSON object without a repeated
name. `crit` is refused because no extension is understood, `zip` because a few bytes would unpack
to any size. Spec: RFC 7516 §4.1, §5.2, §7.1; RFC 8725 §3.6
"""

from dataclasses import dataclass, field
from typing import Final

from gateway.crypto.jose_header import decoded, read_header
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
