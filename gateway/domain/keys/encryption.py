"""Algorithms of encrypted JWTs, those that are supported alone.

RSA1_5 is missing because its padding is an oracle (RFC 8725 §3.2), PBES2 and `dir` because clients
have no shared key. Spec: RFC 7518 §4.1, §5.1
"""

from dataclasses import dataclass
from enum import StrEnum


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
