"""Verifying JWTs that clients have signed.

Spec: RFC 9101 §6.2, RFC 7523 §3, RFC 9449 §4.3; attacks C13, C14
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gateway.domain.clients import Client
from gateway.domain.dpop_proofs import SignedProof
from gateway.domain.errors import InvalidToken


class NoUsableKey(InvalidToken):
    """No registered key of the client may have signed the JWT, or its keys cannot be read."""


@dataclass(frozen=True, slots=True)
class SignedClaims:
    """The claims of a JWT, and the algorithm of its signature; `none` for one without.

    `header_type` is the `typ` of its header, empty without one.
    """

    algorithm: str
    claims: Mapping[str, Any] = field(repr=False)
    header_type: str = ""


class ClientSignatures(Protocol):
    """Verifies with the keys that are registered for a client, or with its secret."""

    def read(self, token: str) -> SignedClaims:
        """Return the claims without verifying anything: they are only what the sender says.

        Raises InvalidToken where it is no JWT.
        """

    async def verify(self, client: Client, token: str) -> SignedClaims:
        """Return the claims when the signature holds, or when the JWT says that it has none.

        The caller decides which algorithms it accepts, and checks the claims. Raises InvalidToken.
        """


class ProofSignatures(Protocol):
    """Verifies DPoP proofs with the public key in their own header."""

    def verify(self, proof: str) -> SignedProof:
        """Return the claims where type, algorithm, key and signature are right.

        The caller bounds the length and checks the claims. Raises InvalidProof.
        """
