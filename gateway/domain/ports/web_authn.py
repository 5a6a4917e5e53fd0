"""Verifying what authenticators sign. Spec: WebAuthn Level 3 §7."""

from collections.abc import Sequence
from typing import Protocol

from gateway.domain.web_authn import (
    AssertionResponse,
    CeremonyRules,
    RegistrationResponse,
    RegistrationRules,
    VerifiedKey,
)


class WebAuthn(Protocol):
    """Verifies the responses of browsers."""

    def algorithms(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the COSE algorithms of Keycloak's names that new keys may have.

        Names that no new key may have are left out; ES256 where none is left.
        """

    def register(self, response: RegistrationResponse, rules: RegistrationRules) -> VerifiedKey:
        """Return the new key; raises WebAuthnRejected."""

    def verify(self, response: AssertionResponse, rules: CeremonyRules, public_key: bytes) -> int:
        """Return the signature counter of a response that the key has signed.

        Raises WebAuthnRejected.
        """
