"""A realm's keys for encryption: published for senders, and used to open what they encrypted.

The algorithm belongs to the key: `alg` of a JWE must equal it. `kid` chooses among the realm's own
keys; without one the active key for `alg` is used. A passive key still opens what was encrypted
for it. Spec: RFC 7516 §5.2, RFC 8725 §3.1, §3.2
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.crypto import jwe
from gateway.crypto.keys.jwk import public_jwk
from gateway.crypto.keys.private import load_private_key
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import (
    EncryptionAlgorithm,
    KeyManagement,
    RealmKey,
    TokenEncryption,
    signing_key,
    verifies,
)

_SUPPORTED: Final[Mapping[EncryptionAlgorithm, KeyManagement]] = {
    EncryptionAlgorithm.RSA_OAEP: KeyManagement.RSA_OAEP,
    EncryptionAlgorithm.RSA_OAEP_256: KeyManagement.RSA_OAEP_256,
}
"""Not RSA1_5: a key of it stays in the store, unpublished and unused."""


class EncryptionKeyPair:
    """One RSA key. It is parsed when it is first needed: tokens are issued without it."""

    __slots__ = ("_jwk", "_private", "algorithm", "record")

    def __init__(self, record: RealmKey, algorithm: KeyManagement) -> None:
        self.record = record
        self.algorithm = algorithm
        self._private: rsa.RSAPrivateKey | None = None
        self._jwk: Mapping[str, Any] | None = None

    @property
    def jwk(self) -> Mapping[str, Any]:
        if self._jwk is None:
            self._jwk = public_jwk(self.record, self._key().public_key())
        return self._jwk

    def decrypt(self, encrypted: jwe.CompactJwe) -> bytes:
        return jwe.decrypt(encrypted, self._key())

    def _key(self) -> rsa.RSAPrivateKey:
        if self._private is None:
            key = load_private_key(self.record)
            if not isinstance(key, rsa.RSAPrivateKey):
                raise TypeError("a key for RSA-OAEP is an RSA key")  # `load_private_key` checks it
            self._private = key
        return self._private


class RealmDecryption:
    """The encryption keys of one realm."""

    def __init__(self, records: Iterable[RealmKey]) -> None:
        self._keys = tuple(
            EncryptionKeyPair(record, _SUPPORTED[record.algorithm])
            for record in records
            if isinstance(record.algorithm, EncryptionAlgorithm) and record.algorithm in _SUPPORTED
        )

    def published(self, now: datetime) -> tuple[EncryptionKeyPair, ...]:
        """Return the keys that senders may encrypt for, and those that still decrypt."""
        return tuple(key for key in self._keys if verifies(key.record, now))

    def algorithms(self, now: datetime) -> tuple[KeyManagement, ...]:
        """Return what senders may use, in the order of the algorithms."""
        found = {key.algorithm for key in self.published(now)}
        return tuple(algorithm for algorithm in KeyManagement if algorithm in found)

    def open(self, token: str, now: datetime) -> tuple[bytes, TokenEncryption]:
        """Return the content and the algorithms; raises InvalidToken."""
        parts = jwe.parse(token)
        return self._key_of(parts, now).decrypt(parts), parts.encryption

    def _key_of(self, parts: jwe.CompactJwe, now: datetime) -> EncryptionKeyPair:
        usable = [key for key in self.published(now) if key.algorithm is parts.encryption.algorithm]
        if parts.kid is None:
            records = [key.record for key in usable]
            active = signing_key(records, records[0].algorithm, now) if records else None
            named = None if active is None else active.kid
        else:
            named = parts.kid
        for key in usable:
            if key.record.kid == named:
                return key
        raise InvalidToken("no key of the realm decrypts it: kid or alg is not that of one")
