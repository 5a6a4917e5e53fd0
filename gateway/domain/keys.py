"""Keys of a realm: what is stored, which of them sign and verify, rotation, encryption algorithms.

A key is what Keycloak calls a key provider: `provider` names its maker; of several keys that may
sign, the one of the highest `priority` does, of equals the youngest. Encryption keys are stored
beside them: they decrypt request objects, and neither sign nor verify.

A key's life in order: published (it verifies, but does not sign before `active_from`, so that
verifiers have time to fetch it), signing, superseded (it verifies until `retire_at`), gone. Nothing
has to happen at `active_from` or `retire_at`: each gateway reads the keys with a clock and sees the
change at the same instant, without a message and without a job. A superseded key stays ACTIVE in
storage until its `retire_at`, because it signs while its successor is only published;
`effective_status` is its status at an instant.

RSA1_5 is missing because its padding is an oracle (RFC 8725 §3.2), PBES2 and `dir` because clients
have no shared key. Spec: RFC 7518 §4.1, §5.1 Keycloak: KeysMetadata (ACTIVE signs and verifies,
PASSIVE verifies, DISABLED neither), components
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Final

from gateway.domain.secrets import Secret


class KeyManagement(StrEnum):
    """How the content encryption key reaches the recipient: the header's `alg`."""

    RSA_OAEP = "RSA-OAEP"
    RSA_OAEP_256 = "RSA-OAEP-256"
    ECDH_ES = "ECDH-ES"
    ECDH_ES_A128KW = "ECDH-ES+A128KW"
    ECDH_ES_A192KW = "ECDH-ES+A192KW"
    ECDH_ES_A256KW = "ECDH-ES+A256KW"

    @property
    def uses_rsa(self) -> bool:
        return self in {KeyManagement.RSA_OAEP, KeyManagement.RSA_OAEP_256}


class ContentEncryption(StrEnum):
    """How the content is encrypted and authenticated: the header's `enc`."""

    A128CBC_HS256 = "A128CBC-HS256"
    A192CBC_HS384 = "A192CBC-HS384"
    A256CBC_HS512 = "A256CBC-HS512"
    A128GCM = "A128GCM"
    A192GCM = "A192GCM"
    A256GCM = "A256GCM"


@dataclass(frozen=True, slots=True)
class TokenEncryption:
    """The two algorithms of an encrypted JWT."""

    algorithm: KeyManagement
    content: ContentEncryption = ContentEncryption.A128CBC_HS256
    """The default is that of OpenID Connect Registration §2."""


class SignatureAlgorithm(StrEnum):
    """JWS algorithms a realm can sign with. Spec: RFC 7518 §3.1, RFC 8037 §3.1."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"
    EDDSA = "EdDSA"


class SecretAlgorithm(StrEnum):
    """HMAC algorithms: HS512 for refresh tokens; clients may choose any of them.

    The key is the realm's and never leaves the gateways. Spec: RFC 7518 §3.2.
    """

    HS512 = "HS512"
    HS256 = "HS256"
    HS384 = "HS384"


SHORTEST_SECRETS: Final[Mapping[str, int]] = {
    SecretAlgorithm.HS256: 32,
    SecretAlgorithm.HS384: 48,
    SecretAlgorithm.HS512: 64,
}
"""The least length of a secret in bytes: that of the hash. Spec: RFC 7518 §3.2."""


class EncryptionAlgorithm(StrEnum):
    """What a key is for that encrypts.

    The public key of an RSA algorithm is published, so that clients can encrypt request objects.
    Nothing is encrypted with an AES key or decrypted with an RSA1_5 one (RFC 8725 §3.2): they are
    kept as Keycloak's. Spec: RFC 7518 §4.1. Keycloak: KeysMetadata (use ENC)
    """

    RSA_OAEP = "RSA-OAEP"
    RSA_OAEP_256 = "RSA-OAEP-256"
    RSA1_5 = "RSA1_5"
    AES = "AES"


SigningAlgorithm = SignatureAlgorithm | SecretAlgorithm
KeyAlgorithm = SigningAlgorithm | EncryptionAlgorithm


def key_algorithm(name: str) -> KeyAlgorithm:
    """Return the algorithm of that name; raises ValueError."""
    if name in set(EncryptionAlgorithm):
        return EncryptionAlgorithm(name)
    if name in set(SecretAlgorithm):
        return SecretAlgorithm(name)
    return SignatureAlgorithm(name)


def is_symmetric(algorithm: KeyAlgorithm) -> bool:
    """Return whether the key is secret random bytes, of which nothing is published."""
    return isinstance(algorithm, SecretAlgorithm) or algorithm is EncryptionAlgorithm.AES


ALGORITHMS_OF_CLIENTS: Final[tuple[SigningAlgorithm, ...]] = (*SignatureAlgorithm, *SecretAlgorithm)
"""What a client may choose for its tokens and signed responses: never `none`."""


class HeaderType(StrEnum):
    """The `typ` of a JOSE header. Spec: RFC 8725 §3.11, RFC 9068 §2.1, RFC 9701 §5."""

    JWT = "JWT"
    ACCESS_TOKEN = "at+jwt"  # noqa: S105 - a media type
    INTROSPECTION = "token-introspection+jwt"
    LOGOUT = "logout+jwt"


PROOF_NONCE: Final = "DPoP-Nonce"
INTERNAL_TYPES: Final = frozenset(
    {
        PROOF_NONCE,
        *("Refresh", "Offline", "RegistrationAccessToken", "InitialAccessToken"),
        "Serialized-ID",
        *("verify-email", "execute-actions", "reset-credentials", "update-email"),
    }
)
"""The claim `typ` of tokens that only the gateways read.

A client may choose the algorithm of these tokens (HS512), and the realm has one key for it. So the
key ring signs such a `typ` for the gateways alone, and accepts no other from them.
"""


class KeyStatus(StrEnum):
    """What a key may still do."""

    ACTIVE = "ACTIVE"
    PASSIVE = "PASSIVE"
    DISABLED = "DISABLED"


class KeyProvider(StrEnum):
    """Where a key comes from: generated here, of one of six kinds, or imported."""

    AES_GENERATED = "aes-generated"
    RSA_ENC_GENERATED = "rsa-enc-generated"
    RSA_GENERATED = "rsa-generated"
    ECDSA_GENERATED = "ecdsa-generated"
    EDDSA_GENERATED = "eddsa-generated"
    HMAC_GENERATED = "hmac-generated"
    RSA = "rsa"
    RSA_ENC = "rsa-enc"


IMPORTERS: Final = frozenset({KeyProvider.RSA, KeyProvider.RSA_ENC})
"""Providers whose key was made elsewhere."""


def maker(algorithm: KeyAlgorithm) -> KeyProvider:
    """Return who makes keys for `algorithm`."""
    if isinstance(algorithm, EncryptionAlgorithm):
        symmetric = algorithm is EncryptionAlgorithm.AES
        return KeyProvider.AES_GENERATED if symmetric else KeyProvider.RSA_ENC_GENERATED
    if isinstance(algorithm, SecretAlgorithm):
        return KeyProvider.HMAC_GENERATED
    if algorithm is SignatureAlgorithm.EDDSA:
        return KeyProvider.EDDSA_GENERATED
    elliptic = algorithm.startswith("ES")
    return KeyProvider.ECDSA_GENERATED if elliptic else KeyProvider.RSA_GENERATED


STANDARD_PRIORITY: Final = 100
"""Of the keys that a realm is created with, and of those that take over from them."""
FALLBACK_PRIORITY: Final = -100
"""Of a key that is made because none is left: any that an administrator adds comes before it."""


@dataclass(frozen=True, slots=True)
class RealmKey:
    """A key of one realm, which signs or is for encryption: `algorithm` is pinned to it.

    `private_key` is PKCS#8 PEM, base64 of random bytes for a symmetric algorithm; `certificate` is
    PEM (self-signed, CN=realm; None for EdDSA and for symmetric algorithms).
    `active_from` lets a new key be published before it signs.
    `retire_at` is when a PASSIVE key leaves the JWKS; None for an ACTIVE one.
    `config` is what an administrator has set of it, as it was written; may be empty.
    """

    id: str
    realm_id: str
    kid: str
    algorithm: KeyAlgorithm
    status: KeyStatus
    created_at: datetime
    active_from: datetime
    private_key: Secret = field(repr=False)
    certificate: str | None = field(default=None, repr=False)
    retire_at: datetime | None = None
    name: str | None = None
    provider: KeyProvider | None = None
    priority: int = STANDARD_PRIORITY
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def made_by(self) -> KeyProvider:
        """Where the key comes from; one without a provider was made by the program itself."""
        return self.provider or maker(self.algorithm)


def verifies(key: RealmKey, now: datetime) -> bool:
    """Tell whether tokens signed by `key` are accepted at `now`, and the key is published."""
    return key.status is not KeyStatus.DISABLED and (key.retire_at is None or now < key.retire_at)


def signing_key(
    keys: Iterable[RealmKey], algorithm: KeyAlgorithm, now: datetime
) -> RealmKey | None:
    """Return the key that signs: of those that have begun, the foremost that began last.

    Where none has begun, the first to begin signs at once: after a compromised key was
    disabled, or on a gateway whose clock is behind, an early signature is better than none.
    """
    able = [
        key
        for key in keys
        if key.algorithm is algorithm and key.status is KeyStatus.ACTIVE and verifies(key, now)
    ]
    begun = [key for key in able if key.active_from <= now]
    if begun:
        return max(begun, key=_rank)
    return min(able, key=_beginning, default=None)


def effective_status(key: RealmKey, keys: Iterable[RealmKey], now: datetime) -> KeyStatus:
    """Return what `key` may do at `now` among its realm's `keys`."""
    if not verifies(key, now):
        return KeyStatus.DISABLED
    signer = signing_key(keys, key.algorithm, now)
    signs = signer is not None and signer.id == key.id
    return KeyStatus.ACTIVE if signs else KeyStatus.PASSIVE


def superseded(
    keys: Iterable[RealmKey], successor: RealmKey, now: datetime, longest_token: timedelta
) -> tuple[RealmKey, ...]:
    """Return the keys that `successor` replaces, each with the instant at which it retires.

    The last token of an old key may be signed just before the successor begins, and lives for
    `longest_token`. A key that was to begin only after the successor never signs: it would take
    over from it. A key that was superseded before keeps its end, unless it is the one that signs
    (its first successor was disabled, or begins later still).
    """
    others = [
        key for key in keys if key.id != successor.id and key.algorithm is successor.algorithm
    ]
    signer = signing_key(others, successor.algorithm, now)
    return tuple(
        _retiring(key, successor, longest_token)
        for key in others
        if key is signer or lasting(key) or _would_overtake(key, successor)
    )


def foremost(keys: Iterable[RealmKey], algorithm: KeyAlgorithm) -> int:
    """Return the priority that a successor needs to come before all that may sign."""
    priorities = (
        key.priority
        for key in keys
        if key.algorithm is algorithm and key.status is KeyStatus.ACTIVE
    )
    return max(priorities, default=STANDARD_PRIORITY)


def lasting(key: RealmKey) -> bool:
    """Tell whether `key` signs, or will, until it is rotated or disabled."""
    return key.status is KeyStatus.ACTIVE and key.retire_at is None


def _retiring(key: RealmKey, successor: RealmKey, longest_token: timedelta) -> RealmKey:
    end = successor.active_from + longest_token
    return replace(
        key,
        status=KeyStatus.PASSIVE if _would_overtake(key, successor) else key.status,
        retire_at=end if key.retire_at is None else max(end, key.retire_at),
    )


def _would_overtake(key: RealmKey, successor: RealmKey) -> bool:
    return key.status is KeyStatus.ACTIVE and key.active_from >= successor.active_from


_beginning: Final = attrgetter("active_from", "created_at", "id")
_rank: Final = attrgetter("priority", "active_from", "created_at", "id")
