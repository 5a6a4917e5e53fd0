"""Opening a compact JWE that was encrypted for an RSA key of ours. Spec: RFC 7516 §5.2, §11.5."""

from typing import Final

from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.crypto.jose_header import decoded
from gateway.crypto.jwe.compact import CompactJwe
from gateway.crypto.jwe.content_encryption import NotAuthentic, Sealed, unseal
from gateway.crypto.jwe.key_management import open_content_key
from gateway.domain.errors import InvalidToken

CANNOT_DECRYPT: Final = "it cannot be decrypted"
"""The one reason for every failure with a key: a sender must not learn how far it came."""


def decrypt(jwe: CompactJwe, key: rsa.RSAPrivateKey) -> bytes:
    """Return the content; raises InvalidToken. The caller has checked that `alg` is the key's."""
    ciphertext = decoded(jwe.ciphertext, "ciphertext")
    encryption = jwe.encryption
    opened = open_content_key(key, encryption.algorithm, encryption.content, jwe.encrypted_key)
    sealed = Sealed(jwe.iv, ciphertext, jwe.tag)
    try:
        return unseal(encryption.content, opened, sealed, jwe.associated_data)
    except NotAuthentic:
        raise InvalidToken(CANNOT_DECRYPT) from None
