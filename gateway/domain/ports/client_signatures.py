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
class UnverifiedClaims:
    """What a JWT says, which anybody may have written.

    `algorithm` is the one that its header names, `header_type` its `typ`, empty without one.
    """

    algorithm: str
    claims: Mapping[str, Any] = field(repr=False)
    header_type: str = ""


@dataclass(frozen=True, slots=True)
class VerifiedClaims:
    """The claims of a JWT whose signature holds under a key of the client, or under its secret.

    Created by `ClientSignatures.verify` alone. `algorithm` is that of the signature, never `none`.
    """

    algorithm: str
    claims: Mapping[str, Any] = field(repr=False)
    header_type: str = ""


class ClientSignatures(Protocol):
    """Verifies with the keys that are registered for a client, or with its secret."""

    def read(self, token: str) -> UnverifiedClaims:
        """Return the claims without verifying anything: they are only what the sender says.

        Raises InvalidToken where it is no JWT.
        """

    def read_unsigned(self, token: str) -> UnverifiedClaims:
        """Return the claims of a JWT with the algorithm `none` and without a signature.

        Raises InvalidToken for any other JWT.
        """

    async def verify(self, client: Client, token: str) -> VerifiedClaims:
        """Return the claims when the signature holds; one without a signature is refused.

        The caller decides which algorithms it accepts, and checks the claims. Raises InvalidToken.
        """


class ProofSignatures(Protocol):
    """Verifies DPoP proofs with the public key in their own header."""

    def verify(self, proof: str) -> SignedProof:
        """Return the claims where type, algorithm, key and signature are right.

        The caller bounds the length and checks the claims. Raises InvalidProof.
        """
