"""Hashing and checking passwords. Keycloak: the two JSON strings of a password credential.

Methods that hash raise Overloaded where too many hashes of the realm wait already: the realms
share the threads by `realm_id`.
"""

from collections.abc import Sequence
from typing import Protocol

from gateway.domain.limits.password_hashing import HashCost
from gateway.domain.secrets import Secret


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

    async def check(
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
