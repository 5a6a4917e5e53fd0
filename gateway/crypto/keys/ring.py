"""Signing and verifying a realm's JWTs with keys parsed once.

The algorithm belongs to the key: `alg` of a token must equal it. `kid` chooses among the realm's
own keys; `jku`, `jwk`, `x5u` and `x5c` are not read, `crit` is refused because no extension is
understood. PyJWT's algorithms do the cryptography; the parts are joined here, since PyJWT encodes
the header for each token, in another order than Keycloak's {"alg","typ","kid"}.
Spec: RFC 7515 §5; RFC 8725 §3.1, §3.10, §3.11
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import jwt
import orjson

from gateway.crypto.jose_header import decoded
from gateway.crypto.keys import compact_jws
from gateway.crypto.keys.decryption import RealmDecryption
from gateway.crypto.keys.jwk import public_jwk, rsa_information
from gateway.crypto.keys.private import PrivateKey, load_private_key
from gateway.crypto.keys.secret import ParsedSecretKey
from gateway.crypto.public_keys import PublicKey
from gateway.domain import base64url
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import (
    INTERNAL_TYPES,
    HeaderType,
    KeyManagement,
    KeyStatus,
    RealmKey,
    SecretAlgorithm,
    SignatureAlgorithm,
    SigningAlgorithm,
    TokenEncryption,
    effective_status,
    signing_key,
    verifies,
)
from gateway.domain.limits.caches import SizedCache

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
        self._headers = compact_jws.encoded_headers(record)
        self.jwk = public_jwk(record, self._public)
        self.rsa_information = rsa_information(self._public)

    def sign(self, payload: bytes, header_type: HeaderType = HeaderType.JWT) -> str:
        signing_input = f"{self._headers[header_type]}.{base64url.encode(payload)}"
        signature = self._algorithm.sign(signing_input.encode("ascii"), self._private)
        return f"{signing_input}.{base64url.encode(signature)}"

    def verifies(self, token: compact_jws.CompactJws) -> bool:
        return self._algorithm.verify(token.signing_input, self._public, token.signature)


class PyJwtKeyRing:
    """The KeyRing of one realm.

    Tokens for clients are signed by public-key algorithms or, where client or realm chose it, by
    HMAC. Encryption keys are published and decrypt what senders encrypted; they verify nothing.
    Tokens for the gateways are distinguished by the claim `typ`: see INTERNAL_TYPES.
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
        self._decryption = RealmDecryption(usable)
        self._signers: dict[SigningAlgorithm, tuple[datetime, datetime, RealmKey]] = {}
        """What signs with each algorithm, and from when until before when it does."""
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

    def verify(self, token: str, now: datetime) -> Mapping[str, Any]:
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
        return (*signing, *(key.jwk for key in self._decryption.published(now)))

    def decrypt(self, token: str, now: datetime) -> tuple[bytes, TokenEncryption]:
        return self._decryption.open(token, now)

    def decryption_algorithms(self, now: datetime) -> tuple[KeyManagement, ...]:
        return self._decryption.algorithms(now)

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
"""Tokens that clients present again and again; what else makes a token valid is always checked."""


def _remembered(token: str, keys: Keys, now: datetime) -> Mapping[str, Any]:
    """Return the claims; the signature is verified once for each token and parsed key."""
    proven = _PROVEN.get(token)
    if proven is None or keys.get(proven.key.record.kid) is not proven.key:
        proven = _proven(token, keys, now)
        _PROVEN.put(token, proven)
    elif not verifies(proven.key.record, now):
        raise InvalidToken(_NO_KEY)
    return _claims(proven)


def _verified(token: str, keys: Keys, now: datetime) -> Mapping[str, Any]:
    return _claims(_proven(token, keys, now))


def _proven(token: str, keys: Keys, now: datetime) -> _Proven:
    parts = compact_jws.parse(token)
    key = _key_of(parts.header, keys, now)
    if not key.verifies(parts):
        raise InvalidToken("the signature is wrong")
    return _Proven(key, decoded(parts.payload, "payload"))


def _claims(proven: _Proven) -> Mapping[str, Any]:
    try:
        claims = orjson.loads(proven.payload)
    except orjson.JSONDecodeError as error:
        raise InvalidToken("the payload is not JSON") from error
    if not isinstance(claims, dict):
        raise InvalidToken("the payload is not a JSON object")
    return claims


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
