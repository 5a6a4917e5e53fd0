"""Verifying JWTs that clients have signed. Spec: RFC 9101 §6.2; attacks C13, C14."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class SignedClaims:
    """The claims of a JWT, and the algorithm of its signature; `none` for one without."""

    algorithm: str
    claims: Mapping[str, Any] = field(repr=False)


class ClientSignatures(Protocol):
    """Verifies with the keys that are registered for a client, or with its secret."""

    def verify(self, client: Client, token: str) -> SignedClaims:
        """Return the claims when the signature holds, or when the JWT says that it has none.

        The caller decides which algorithms it accepts, and checks the claims. Raises InvalidToken.
        """
