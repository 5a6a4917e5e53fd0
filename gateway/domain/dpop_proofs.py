"""DPoP proofs: what a request carries of one, and what a verified one says.

A proof is a JWT that the client signs for one request with a key of its own. Spec: RFC 9449 §4
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from gateway.domain.errors import InvalidToken
from gateway.domain.keys import SignatureAlgorithm

PROOF_ALGORITHMS: Final = (
    SignatureAlgorithm.PS256,
    SignatureAlgorithm.PS384,
    SignatureAlgorithm.PS512,
    SignatureAlgorithm.ES256,
    SignatureAlgorithm.ES384,
    SignatureAlgorithm.ES512,
    SignatureAlgorithm.EDDSA,
)
"""In the order of discovery. FAPI 2.0 forbids RSASSA-PKCS1-v1_5 (RS256), which Keycloak accepts."""
LONGEST_PROOF: Final = 8 * 1024
"""Characters; a longer proof is refused unread."""


class TokenScheme(StrEnum):
    """How the Authorization header presents an access token. Spec: RFC 6750 §2.1, RFC 9449 §7.1."""

    BEARER = "Bearer"
    DPOP = "DPoP"


@dataclass(frozen=True, slots=True)
class SentProof:
    """The header `DPoP` of a request, and the request that the proof has to name.

    `text` is None without the header, and empty where it was sent twice. `urls` are the addresses
    under which clients reach the endpoint.
    """

    text: str | None = field(default=None, repr=False)
    method: str = ""
    urls: tuple[str, ...] = ()
    is_repeated: bool = False
    """A proxy asks a second time for the same request, only to show why it was refused."""


NO_PROOF: Final = SentProof()


@dataclass(frozen=True, slots=True)
class SignedProof:
    """The claims of a proof whose signature holds.

    `thumbprint` is that of the key in its header, the value of `jkt`. Spec: RFC 9449 §6.1, RFC 7638
    """

    thumbprint: str
    claims: Mapping[str, Any] = field(repr=False)


class InvalidProof(InvalidToken):
    """A proof that proves nothing; `str()` is public, and quotes at most a few characters of it."""
