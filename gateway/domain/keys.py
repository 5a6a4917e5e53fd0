"""Realm keys as they are stored: who signs, who only verifies, who is gone.

Keycloak: KeysMetadata (ACTIVE signs and verifies, PASSIVE verifies, DISABLED neither).
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

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
    """Algorithms of tokens that only we read: refresh tokens. Spec: RFC 7518 §3.2."""

    HS512 = "HS512"


KeyAlgorithm = SignatureAlgorithm | SecretAlgorithm


def key_algorithm(name: str) -> KeyAlgorithm:
    """Return the algorithm of that name; raises ValueError."""
    if name in set(SecretAlgorithm):
        return SecretAlgorithm(name)
    return SignatureAlgorithm(name)


class KeyStatus(StrEnum):
    """What a key may still do."""

    ACTIVE = "ACTIVE"
    PASSIVE = "PASSIVE"
    DISABLED = "DISABLED"


@dataclass(frozen=True, slots=True)
class RealmKey:
    """A signing key of one realm: `algorithm` is pinned to it for life.

    `private_key` is PKCS#8 PEM, base64 of random bytes for a secret algorithm; `certificate` is
    PEM (self-signed, CN=realm; None for EdDSA and for secret algorithms).
    `active_from` lets a new key be published before it signs.
    `retire_at` is when a PASSIVE key leaves the JWKS; None for an ACTIVE one.
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
