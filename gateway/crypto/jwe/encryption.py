"""Making a compact JWE for one recipient. Spec: RFC 7516 §5.1, §7.1; RFC 7519 §5.2 (`cty`)."""

import orjson

from gateway.crypto.jwe.content_encryption import seal
from gateway.crypto.jwe.key_management import EncryptionKey, new_content_key
from gateway.domain import base64url
from gateway.domain.keys import TokenEncryption


def encrypt(
    content: bytes,
    key: EncryptionKey,
    encryption: TokenEncryption,
    *,
    kid: str | None,
    content_type: str | None,
) -> str:
    """Return the JWE; `kid` is the recipient's name of its key, `content_type` the header's `cty`.

    Keycloak: header {"alg", "enc", "typ", "cty", "kid"}
    """
    content_key = new_content_key(key, encryption)
    header = {
        "alg": encryption.algorithm,
        "enc": encryption.content,
        **({"cty": content_type} if content_type else {}),
        **({"kid": kid} if kid else {}),
        **content_key.members,
    }
    encoded_header = base64url.encode(orjson.dumps(header))
    sealed = seal(encryption.content, content_key.key, content, encoded_header.encode("ascii"))
    parts = (content_key.encrypted, sealed.iv, sealed.ciphertext, sealed.tag)
    return ".".join((encoded_header, *map(base64url.encode, parts)))
