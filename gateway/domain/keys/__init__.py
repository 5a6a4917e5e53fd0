"""Keys of a realm and their life cycle."""

from gateway.domain.keys.encryption import ContentEncryption, KeyManagement, TokenEncryption
from gateway.domain.keys.key import (
    ALGORITHMS_OF_CLIENTS,
    FALLBACK_PRIORITY,
    IMPORTERS,
    INTERNAL_TYPES,
    PROOF_NONCE,
    SHORTEST_SECRETS,
    EncryptionAlgorithm,
    HeaderType,
    KeyAlgorithm,
    KeyProvider,
    KeyStatus,
    RealmKey,
    SecretAlgorithm,
    SignatureAlgorithm,
    SigningAlgorithm,
    is_symmetric,
    key_algorithm,
    maker,
)
from gateway.domain.keys.lifecycle import (
    effective_status,
    foremost,
    lasting,
    signing_key,
    superseded,
    verifies,
)
