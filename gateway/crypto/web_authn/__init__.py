"""WebAuthn by Yubico's fido2, which is loaded with the first key: it takes 4 MB.

docs/decisions/0018-passkeys-by-fido2.md
"""

from collections.abc import Sequence
from typing import Final

from gateway.domain.web_authn import (
    AssertionResponse,
    CeremonyRules,
    RegistrationResponse,
    RegistrationRules,
    VerifiedKey,
)

ALGORITHMS: Final = {
    "ES256": -7,
    "Ed25519": -8,
    "EdDSA": -8,
    "ES384": -35,
    "ES512": -36,
    "RS256": -257,
    "RS384": -258,
    "RS512": -259,
}
"""Keycloak's names, and the numbers of COSE. Without RS1, whose hash is SHA-1."""


def numbers_of(names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers in the order of the names; ES256 if no name is known."""
    found = dict.fromkeys(ALGORITHMS[name] for name in names if name in ALGORITHMS)
    return tuple(found) or (ALGORITHMS["ES256"],)


class Fido2WebAuthn:
    """WebAuthn by fido2."""

    def algorithms(self, names: Sequence[str]) -> tuple[int, ...]:
        return numbers_of(names)

    def register(self, response: RegistrationResponse, rules: RegistrationRules) -> VerifiedKey:
        from gateway.crypto.web_authn import ceremonies  # noqa: PLC0415 - see above

        return ceremonies.register(response, rules, numbers_of(rules.algorithms))

    def verify_assertion(
        self, response: AssertionResponse, rules: CeremonyRules, public_key: bytes
    ) -> int:
        from gateway.crypto.web_authn import ceremonies  # noqa: PLC0415 - see above

        return ceremonies.verify_assertion(response, rules, public_key)
