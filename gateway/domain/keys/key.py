"""Realm keys as they are stored: who signs, who only verifies, who is gone.

Encryption keys are stored beside them: they decrypt request objects, and neither sign nor verify.

A key is what Keycloak calls a key provider: who makes it is named by `provider`, which of several
signs by `priority`.
Keycloak: KeysMetadata (ACTIVE signs and verifies, PASSIVE verifies, DISABLED neither), components
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from gateway.domain.secrets import Secret


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
    """HMAC algorithms: refresh tokens are signed by HS512, clients may choose any of them.

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
