"""Password hashes made before a transaction opens: SQLite has one writer, and a hash takes long.

A hash that was not precomputed, because the realm has changed since, is made on demand.
"""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from gateway.domain.errors import InvalidInput
from gateway.domain.ports.passwords import PasswordMaker
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.representations.users import NewPassword


class PrecomputedHashes:
    """PasswordMaker that returns each hash once: two users with one password share no salt."""

    def __init__(self, passwords: PasswordMaker) -> None:
        self._passwords = passwords
        self._made = defaultdict[tuple[str, str | None, int | None], list[tuple[str, str]]](list)

    async def prepare_all(self, realm: Realm, new: Iterable[NewPassword]) -> None:
        """Make the hashes of passwords of one realm by its policy."""
        policy = realm.password_policy
        algorithm, iterations = policy.hash_algorithm, policy.hash_iterations
        for password in (credential.password for credential in new):
            with suppress(InvalidInput):  # `hash` raises it again, together with other errors
                made = await self._passwords.hash(
                    password, realm_id=realm.id, algorithm=algorithm, iterations=iterations
                )
                self._made[password.reveal(), algorithm, iterations].append(made)

    def clear(self) -> None:
        """Discard the hashes that were not used."""
        self._made.clear()

    async def hash(
        self,
        password: Secret,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> tuple[str, str]:
        made = self._made.get((password.reveal(), algorithm, iterations))
        if made:
            return made.pop()
        return await self._passwords.hash(
            password, realm_id=realm_id, algorithm=algorithm, iterations=iterations
        )
