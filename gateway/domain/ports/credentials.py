"""Verifying credentials of users: passwords, one-time passwords, security keys; used values.

Methods that hash raise Overloaded where too many hashes of the realm wait already: the realms share
the threads by `realm_id`.
Spec: RFC 4226 §5, RFC 6238 §4 and §5.2, WebAuthn Level 3 §7. Keycloak: 6 (OTP policy), the two JSON
strings of a password credential
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from gateway.domain.limits.password_hashing import HashCost
from gateway.domain.secrets import Secret
from gateway.domain.web_authn import (
    AssertionResponse,
    CeremonyRules,
    RegistrationResponse,
    RegistrationRules,
    VerifiedKey,
)


@dataclass(frozen=True, slots=True)
class CodeMatch:
    """A code that is right."""

    step: int
    """Which of the credential's codes it is: its number in time, or its counter."""
    advanced: str | None
    """The credential data to store, so that it matches no more; None where it may be used again."""


class OneTimePasswords(Protocol):
    """Computes codes."""

    def match(
        self,
        code: Secret,
        credential_data: str,
        secret_data: str,
        *,
        look_ahead_window: int,
        now: datetime,
        reusable: bool,
    ) -> CodeMatch | None:
        """Return which code of the stored credential it is, or None.

        Codes before one that was accepted do not match; `reusable` are those of the time.

        Raises SecretUnreadable for a credential that no code can be computed from.
        """


class OneTimeMarks(Protocol):
    """Marks used values, for all gateways."""

    async def claim(self, realm_id: str, name: str, lifespan: timedelta) -> bool:
        """Mark `name` for `lifespan`; False if it is marked. Raises StoreUnavailable."""

    async def remaining(self, realm_id: str, name: str) -> timedelta:
        """Return how long `name` stays marked, zero where it is not; raises StoreUnavailable."""


class PasswordMaker(Protocol):
    """Hashes new passwords; slow on purpose, so off the event loop."""

    async def hash(
        self,
        password: Secret,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> tuple[str, str]:
        """Return `(credential_data, secret_data)`; None takes the strongest default.

        `algorithm` and `iterations` are the arguments of the realm's rules `hashAlgorithm` and
        `hashIterations`.
        Raises ValueError for an unknown algorithm, InvalidInput for text that cannot be a password.
        """


class PasswordHasher(PasswordMaker, Protocol):
    """Hashes and checks passwords; slow on purpose, so off the event loop."""

    async def check_password(
        self,
        password: Secret,
        stored: tuple[str, str] | None,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
        costs: Sequence[HashCost] = (),
    ) -> bool:
        """Return whether the stored credential was made from `password`.

        A failing check costs as much as a new hash and as the dearest of `costs`, also where
        nothing is stored, so that timing reveals nothing.
        """

    def needs_rehash(
        self,
        credential_data: str,
        secret_data: str,
        *,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> bool:
        """Return whether `hash` would now use another algorithm or cost."""


class WebAuthn(Protocol):
    """Verifies the responses of browsers."""

    def algorithms(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the COSE algorithms of Keycloak's names for new keys; ES256 if none is left."""

    def register(self, response: RegistrationResponse, rules: RegistrationRules) -> VerifiedKey:
        """Return the new key; raises WebAuthnRejected."""

    def verify_assertion(
        self, response: AssertionResponse, rules: CeremonyRules, public_key: bytes
    ) -> int:
        """Return the signature counter of a signed response; raises WebAuthnRejected."""
