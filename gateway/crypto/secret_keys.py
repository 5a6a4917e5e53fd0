"""A realm's secret key: signs what only the gateways read, such as refresh tokens.

Keycloak: the OCT key of a realm, HS512, kid a UUID. Spec: RFC 7518 §3.2
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from uuid import uuid4

import orjson

from gateway.crypto import base64url, compact_jws
from gateway.domain.errors import SecretUnreadable
from gateway.domain.keys import RealmKey
from gateway.domain.secrets import Secret

_BYTES = 64


def generate_secret_key(size: int = _BYTES) -> tuple[str, Secret]:
    """Return kid and key material of `size` bytes."""
    return str(uuid4()), Secret(base64.b64encode(secrets.token_bytes(size)).decode("ascii"))


class ParsedSecretKey:
    """One secret key of a realm, ready to sign and verify."""

    __slots__ = ("_header", "_secret", "record")

    def __init__(self, record: RealmKey) -> None:
        self.record = record
        self._secret = _material(record)
        header = {"alg": record.algorithm.value, "typ": "JWT", "kid": record.kid}
        self._header = base64url.encode(orjson.dumps(header))

    def sign(self, payload: bytes) -> str:
        """Return the compact JWS over `payload`."""
        signing_input = f"{self._header}.{base64url.encode(payload)}"
        return f"{signing_input}.{base64url.encode(self._digest(signing_input.encode('ascii')))}"

    def verifies(self, token: compact_jws.CompactJws) -> bool:
        """Tell in constant time whether this key made the signature."""
        return hmac.compare_digest(self._digest(token.signing_input), token.signature)

    def _digest(self, message: bytes) -> bytes:
        return hmac.digest(self._secret, message, hashlib.sha512)


def _material(record: RealmKey) -> bytes:
    try:
        material = base64.b64decode(record.private_key.reveal(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SecretUnreadable(f"the secret key {record.kid} is not base64") from error
    if len(material) < _BYTES:
        raise SecretUnreadable(f"the secret key {record.kid} is too short")
    return material
