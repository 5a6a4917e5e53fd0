"""The keys of a realm, generated or imported, parsed once: signing, verifying and decrypting.

The algorithm belongs to the key: `alg` of a token must equal it. `kid` chooses among the realm's
own keys; `jku`, `jwk`, `x5u` and `x5c` are not read, `crit` is refused because no extension is
understood. PyJWT's algorithms do the cryptography; the parts are joined here, since PyJWT encodes
the header for each token, in another order than Keycloak's {"alg","typ","kid"}. A JWE without
`kid` is decrypted with the active key for `alg`; a passive key still decrypts.

An imported key is checked in full once: stored keys are trusted. A key that is too short is
refused, and a key so long that signing would block a worker. Keycloak: CN is the realm's name, ten
years, kid from the public key; the key provider `rsa`, whose refusals have these texts and which
takes any length. Spec: RFC 5280 §4.1, RFC 7515 §5, RFC 7516 §5.2, RFC 8725 §3.1, §3.2, §3.10, §3.11
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final
from uuid import uuid4

import jwt
import orjson
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.crypto import jose, jwe
from gateway.crypto.der import CERTIFICATE_LABELS, unwrap
from gateway.crypto.jose import decoded
from gateway.crypto.private_keys import (
    ParsedSecretKey,
    PrivateKey,
    generate_private_key,
    generate_rsa_key,
    generate_secret_key,
    key_id,
    key_information,
    key_kind,
    load_private_key,
    parse_rsa_private_key,
    public_jwk,
    rsa_information,
    write_private_key,
)
from gateway.crypto.public_keys import (
    PublicKey,
    load_certificate,
    load_stored_certificate,
    self_signed,
)
from gateway.domain import base64url
from gateway.domain.errors import InvalidToken, UnusableSetting
from gateway.domain.keys import (
    INTERNAL_TYPES,
    EncryptionAlgorithm,
    HeaderType,
    KeyAlgorithm,
    KeyManagement,
    KeyStatus,
    RealmKey,
    SecretAlgorithm,
    SignatureAlgorithm,
    SigningAlgorithm,
    TokenEncryption,
    effective_status,
    is_symmetric,
    signing_key,
    verifies,
)
from gateway.domain.limits.caches import SizedCache
from gateway.domain.limits.input_sizes import LimitExceeded
from gateway.domain.ports.signing import PublicKeyData
from gateway.domain.secrets import Secret

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


_NO_KEY: Final = "kid names no key of this realm that verifies"
_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
_END: Final = datetime.max.replace(tzinfo=UTC)
_ACCEPTED_TYPES = frozenset({HeaderType.JWT, HeaderType.ACCESS_TOKEN})


class ParsedKey:
    """One key of a realm, ready to sign and verify."""

    __slots__ = (
        *("_algorithm", "_headers", "_private", "_public"),
        *("jwk", "record", "rsa_information"),
    )

    def __init__(self, record: RealmKey) -> None:
        algorithm = record.algorithm.value
        self.record = record
        self._algorithm = jwt.get_algorithm_by_name(algorithm)
        self._private: PrivateKey = load_private_key(record)
        self._public: PublicKey = self._private.public_key()
        self._headers = jose.encoded_headers(record)
        self.jwk = public_jwk(record, self._public)
        self.rsa_information = rsa_information(self._public)

    def sign(self, payload: bytes, header_type: HeaderType = HeaderType.JWT) -> str:
        signing_input = f"{self._headers[header_type]}.{base64url.encode(payload)}"
        signature = self._algorithm.sign(signing_input.encode("ascii"), self._private)
        return f"{signing_input}.{base64url.encode(signature)}"

    def verifies(self, token: jose.CompactJws) -> bool:
        return self._algorithm.verify(token.signing_input, self._public, token.signature)


class PyJwtKeyRing:
    """The KeyRing of one realm.

    Public-key algorithms, or chosen HMACs, sign tokens for clients. Encryption keys decrypt and
    verify nothing. `typ` distinguishes internal tokens: see INTERNAL_TYPES.
    """

    def __init__(self, records: tuple[RealmKey, ...]) -> None:
        usable = [record for record in records if record.status is not KeyStatus.DISABLED]
        self._records = tuple(usable)
        self._keys = {
            record.kid: ParsedKey(record)
            for record in usable
            if isinstance(record.algorithm, SignatureAlgorithm)
        }
        self._secret_keys = {
            record.kid: ParsedSecretKey(record)
            for record in usable
            if isinstance(record.algorithm, SecretAlgorithm)
        }
        self._encryption_keys = tuple(
            EncryptionKeyPair(record, _SUPPORTED[record.algorithm])
            for record in usable
            if isinstance(record.algorithm, EncryptionAlgorithm) and record.algorithm in _SUPPORTED
        )
        self._signers: dict[SigningAlgorithm, tuple[datetime, datetime, RealmKey]] = {}
        """The signing key of each algorithm, with the period in which it signs."""
        self._every_key: Mapping[str, ParsedKey | ParsedSecretKey] = {
            **self._secret_keys,
            **self._keys,
        }

    def sign(
        self,
        claims: Mapping[str, Any],
        algorithm: SigningAlgorithm,
        now: datetime,
        header_type: HeaderType = HeaderType.JWT,
    ) -> str:
        if _is_internal(claims):
            raise ValueError("a token with the typ of an internal one is not signed for a client")
        return _signed(claims, self._every_key, self._signer(algorithm, now), header_type)

    def sign_for_ourselves(self, claims: Mapping[str, Any], now: datetime) -> str:
        if not _is_internal(claims):
            raise ValueError("an internal token must have the typ of one")
        signer = self._signer(SecretAlgorithm.HS512, now)
        return _signed(claims, self._secret_keys, signer, HeaderType.JWT)

    def verify_token(self, token: str, now: datetime) -> Mapping[str, Any]:
        claims = _remembered(token, self._every_key, now)
        if _is_internal(claims):
            raise InvalidToken("an internal token")
        return claims

    def verify_of_ourselves(self, token: str, now: datetime) -> Mapping[str, Any]:
        claims = _verified(token, self._secret_keys, now)
        if not _is_internal(claims):
            raise InvalidToken("not an internal token")
        return claims

    def _signer(self, algorithm: SigningAlgorithm, now: datetime) -> RealmKey:
        known = self._signers.get(algorithm)
        if known is not None and known[0] <= now < known[1]:
            return known[2]
        record = signing_key(self._records, algorithm, now)
        if record is None:
            raise LookupError(f"the realm has no active {algorithm} key")
        self._signers[algorithm] = (*self.same_keys(now), record)
        return record

    def public_jwks(self, now: datetime) -> tuple[Mapping[str, Any], ...]:
        signing = (key.jwk for key in self._published(now))
        return (*signing, *(key.jwk for key in self._usable_encryption_keys(now)))

    def decrypt(self, token: str, now: datetime) -> tuple[bytes, TokenEncryption]:
        parts = jwe.parse_jwe(token)
        algorithm = parts.encryption.algorithm
        usable = [key for key in self._usable_encryption_keys(now) if key.algorithm is algorithm]
        named = parts.kid
        if named is None and usable:
            records = [key.record for key in usable]
            active = signing_key(records, records[0].algorithm, now)
            named = None if active is None else active.kid
        for key in usable:
            if key.record.kid == named:
                return key.decrypt(parts), parts.encryption
        raise InvalidToken("no key of the realm decrypts it: kid or alg is not that of one")

    def decryption_algorithms(self, now: datetime) -> tuple[KeyManagement, ...]:
        found = {key.algorithm for key in self._usable_encryption_keys(now)}
        return tuple(algorithm for algorithm in KeyManagement if algorithm in found)

    def public_key(self, now: datetime) -> str | None:
        signing = (key for key in self._published(now) if self._signs(key.record, now))
        return next((key.rsa_information for key in signing if key.rsa_information), None)

    def same_keys(self, now: datetime) -> tuple[datetime, datetime]:
        instants = {
            instant
            for record in self._records
            for instant in (record.active_from, record.retire_at)
            if instant is not None
        }
        begin = max((instant for instant in instants if instant <= now), default=_BEGINNING)
        return begin, min((instant for instant in instants if instant > now), default=_END)

    def _usable_encryption_keys(self, now: datetime) -> list[EncryptionKeyPair]:
        """Return the keys for encryption, and the keys that only decrypt."""
        return [key for key in self._encryption_keys if verifies(key.record, now)]

    def _published(self, now: datetime) -> list[ParsedKey]:
        published = [key for key in self._keys.values() if verifies(key.record, now)]
        published.sort(key=lambda key: key.record.active_from, reverse=True)
        published.sort(key=lambda key: not self._signs(key.record, now))
        return published

    def _signs(self, record: RealmKey, now: datetime) -> bool:
        return effective_status(record, self._records, now) is KeyStatus.ACTIVE


Keys = Mapping[str, ParsedSecretKey] | Mapping[str, ParsedKey | ParsedSecretKey]


def _is_internal(claims: Mapping[str, Any]) -> bool:
    kind = claims.get("typ")
    return isinstance(kind, str) and kind in INTERNAL_TYPES


def _signed(
    claims: Mapping[str, Any], keys: Keys, signer: RealmKey, header_type: HeaderType
) -> str:
    payload = orjson.dumps(claims, default=dict, option=orjson.OPT_PASSTHROUGH_DATETIME)
    return keys[signer.kid].sign(payload, header_type)


@dataclass(frozen=True, slots=True)
class _Proven:
    """The payload of a token whose signature was verified with the key."""

    key: ParsedKey | ParsedSecretKey
    payload: bytes = field(repr=False)


def _weigh(token: str, proven: _Proven) -> int:
    return len(token) + len(proven.payload)


_PROVEN: Final[SizedCache[str, _Proven]] = SizedCache(2 * 1024 * 1024, _weigh)
"""Tokens that clients present again and again; all other checks of a token always run."""


def _remembered(token: str, keys: Keys, now: datetime) -> Mapping[str, Any]:
    """Return the claims; the signature is verified once for each token and parsed key."""
    proven = _PROVEN.get(token)
    if proven is None or keys.get(proven.key.record.kid) is not proven.key:
        proven = _proven(token, keys, now)
        _PROVEN.put(token, proven)
    elif not verifies(proven.key.record, now):
        raise InvalidToken(_NO_KEY)
    return jose.parse_claims(proven.payload)


def _verified(token: str, keys: Keys, now: datetime) -> Mapping[str, Any]:
    return jose.parse_claims(_proven(token, keys, now).payload)


def _proven(token: str, keys: Keys, now: datetime) -> _Proven:
    parts = jose.parse_jws(token)
    key = _key_of(parts.header, keys, now)
    if not key.verifies(parts):
        raise InvalidToken("the signature is wrong")
    return _Proven(key, decoded(parts.payload, "payload"))


def _key_of(header: dict[str, Any], keys: Keys, now: datetime) -> ParsedKey | ParsedSecretKey:
    kid = header.get("kid")
    key = keys.get(kid) if isinstance(kid, str) else None
    if key is None or not verifies(key.record, now):
        raise InvalidToken(_NO_KEY)
    if header.get("alg") != key.record.algorithm.value:
        raise InvalidToken("alg is not the algorithm of the key")
    if "crit" in header:
        raise InvalidToken("crit demands an extension that is not understood")
    header_type = header.get("typ", HeaderType.JWT)
    if not isinstance(header_type, str) or header_type not in _ACCEPTED_TYPES:
        raise InvalidToken("typ is neither JWT nor at+jwt")
    return key


_CERTIFICATE_LIFE = timedelta(days=3652)
_KEY_LABELS = (b"PRIVATE KEY", b"RSA PRIVATE KEY")


class PyJwtKeyFactory:
    """The KeyFactory of the product; `rsa_key` makes RSA keys, which tests replace for speed."""

    def __init__(self, rsa_key: Callable[[], rsa.RSAPrivateKey] = generate_rsa_key) -> None:
        self._rsa_key = rsa_key

    def generate(
        self,
        realm_id: str,
        realm_name: str,
        algorithm: KeyAlgorithm,
        now: datetime,
        *,
        size: int | None = None,
        certified: bool = True,
    ) -> RealmKey:
        if is_symmetric(algorithm):
            kid, material = generate_secret_key(algorithm, size)
            return _record(realm_id, algorithm, now, kid=kid, material=material)
        make = self._rsa_key if size is None else partial(generate_rsa_key, size)
        made = _asymmetric(realm_id, algorithm, now, generate_private_key(algorithm, make))
        return self.certified(made, realm_name, now) if certified else made

    def imported(
        self,
        realm_id: str,
        realm_name: str,
        algorithm: KeyAlgorithm,
        now: datetime,
        *,
        private_key: Secret,
        certificate: str | None,
    ) -> RealmKey:
        key = _read_rsa_key(private_key)
        taken = _asymmetric(realm_id, algorithm, now, key)
        if certificate is None:
            return self.certified(taken, realm_name, now)
        return replace(taken, certificate=_pem(_read_certificate(certificate, key)))

    def certified(self, key: RealmKey, realm_name: str, now: datetime) -> RealmKey:
        return replace(key, certificate=_self_signed(load_private_key(key), realm_name, now))

    def apart(self, key: RealmKey) -> RealmKey:
        return replace(key, kid=key_id(load_private_key(key).public_key(), key.algorithm.value))

    def public_data(self, key: RealmKey) -> PublicKeyData:
        if is_symmetric(key.algorithm):
            return PublicKeyData("OCT")
        public = load_private_key(key).public_key()
        kind, information = key_kind(public), key_information(public)
        if key.certificate is None:
            return PublicKeyData(kind, information)
        certificate = load_stored_certificate(key.certificate)
        der = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode("ascii")
        return PublicKeyData(kind, information, der, certificate.not_valid_after_utc)

    def ring(self, keys: tuple[RealmKey, ...]) -> PyJwtKeyRing:
        return PyJwtKeyRing(keys)


def _asymmetric(realm_id: str, algorithm: KeyAlgorithm, now: datetime, key: PrivateKey) -> RealmKey:
    kid = key_id(key.public_key())
    return _record(realm_id, algorithm, now, kid=kid, material=write_private_key(key))


def _record(
    realm_id: str, algorithm: KeyAlgorithm, now: datetime, *, kid: str, material: Secret
) -> RealmKey:
    return RealmKey(
        id=str(uuid4()),
        realm_id=realm_id,
        kid=kid,
        algorithm=algorithm,
        status=KeyStatus.ACTIVE,
        created_at=now,
        active_from=now,
        private_key=material,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def _self_signed(key: PrivateKey, realm_name: str, now: datetime) -> str | None:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return None
    return _pem(self_signed(key, realm_name, now, now + _CERTIFICATE_LIFE))


def _read_rsa_key(given: Secret) -> rsa.RSAPrivateKey:
    try:
        return parse_rsa_private_key(unwrap(given.reveal().encode("ascii"), *_KEY_LABELS))
    except LimitExceeded as error:
        raise UnusableSetting(str(error)) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The cause may quote the input.
        raise UnusableSetting("Failed to decode private key") from None


def _read_certificate(text: str, key: rsa.RSAPrivateKey) -> x509.Certificate:
    try:
        certificate = load_certificate(unwrap(text.encode("ascii"), *CERTIFICATE_LABELS))
        certified = certificate.public_key()
    except LimitExceeded as error:
        raise UnusableSetting(str(error)) from None
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion):
        raise UnusableSetting("Failed to decode certificate") from None
    if certified != key.public_key():
        raise UnusableSetting("Certificate does not match private key")
    return certificate
