"""Hashing and checking passwords. Keycloak: the two JSON strings of a password credential.

Whatever hashes raises Overloaded where too many hashes of the realm wait already: the threads are
shared among realms by `realm_id`.
"""

from typing import Protocol

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

        The two are the arguments of the realm's rules `hashAlgorithm` and `hashIterations`.
        Raises ValueError when no such algorithm exists, InvalidInput for what is no password.
        """


class PasswordHasher(PasswordMaker, Protocol):
    """Turns passwords into what may be stored; slow on purpose, so off the event loop."""

    async def check(
        self,
        password: Secret,
        stored: tuple[str, str] | None,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> bool:
        """Tell whether the stored credential was made from `password`.

        A check that fails costs what a new hash costs, also where nothing is stored: how long it
        takes tells nothing.
        """

    def needs_rehash(
        self,
        credential_data: str,
        secret_data: str,
        *,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> bool:
        """Tell whether the stored credential was made otherwise than `hash` would make it now."""
