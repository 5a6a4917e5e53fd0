"""A realm's symmetric keys: HMAC keys sign refresh tokens, and tokens where HS256 to HS512 is set.

The algorithm is that of the key record. Keycloak: the OCT keys of a realm, kid a UUID.
Spec: RFC 7518 §3.2
"""

import base64
import binascii
import hmac
import secrets
from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from gateway.crypto.keys import compact_jws
from gateway.domain import base64url
from gateway.domain.errors import SecretUnreadable
from gateway.domain.keys import (
    SHORTEST_SECRETS,
    EncryptionAlgorithm,
    HeaderType,
    KeyAlgorithm,
    RealmKey,
    SecretAlgorithm,
)
from gateway.domain.secrets import Secret

_HMAC_BYTES = 64
_AES_BYTES = 32
_DIGESTS: Final[Mapping[str, str]] = {
    SecretAlgorithm.HS256: "sha256",
    SecretAlgorithm.HS384: "sha384",
    SecretAlgorithm.HS512: "sha512",
}


def generate_secret_key(algorithm: KeyAlgorithm, size: int | None = None) -> tuple[str, Secret]:
    """Return kid and key material of `size` bytes, None for the standard size."""
    standard = _AES_BYTES if algorithm is EncryptionAlgorithm.AES else _HMAC_BYTES
    size = standard if size is None else size
    return str(uuid4()), Secret(base64.b64encode(secrets.token_bytes(size)).decode("ascii"))


class ParsedSecretKey:
    """One secret key of a realm, ready to sign and verify."""

    __slots__ = ("_digest_name", "_headers", "_secret", "record")

    def __init__(self, record: RealmKey) -> None:
        self.record = record
        self._secret = _material(record)
        self._digest_name = _DIGESTS[record.algorithm]
        self._headers = compact_jws.encoded_headers(record)

    def sign(self, payload: bytes, header_type: HeaderType = HeaderType.JWT) -> str:
        signing_input = f"{self._headers[header_type]}.{base64url.encode(payload)}"
        return f"{signing_input}.{base64url.encode(self._digest(signing_input.encode('ascii')))}"

    def verifies(self, token: compact_jws.CompactJws) -> bool:
        """Tell in constant time whether this key made the signature."""
        return hmac.compare_digest(self._digest(token.signing_input), token.signature)

    def _digest(self, message: bytes) -> bytes:
        return hmac.digest(self._secret, message, self._digest_name)


def _material(record: RealmKey) -> bytes:
    try:
        material = base64.b64decode(record.private_key.reveal(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SecretUnreadable(f"the secret key {record.kid} is not base64") from error
    if len(material) < SHORTEST_SECRETS[record.algorithm]:
        raise SecretUnreadable(f"the secret key {record.kid} is too short")
    return material
