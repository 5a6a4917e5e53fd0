"""Password hashes computed before a transaction opens: SQLite has one writer, and each takes long.

A hash that was not precomputed, because the realm changed meanwhile, is computed on demand.
"""

from collections import defaultdict
from collections.abc import Iterable

from gateway.domain.errors import InvalidInput
from gateway.domain.ports.passwords import PasswordMaker
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.representations.users import NewPassword


class PrecomputedHashes:
    """PasswordMaker that returns each hash once: two users of one password share no salt."""

    def __init__(self, passwords: PasswordMaker) -> None:
        self._passwords = passwords
        self._hashes: defaultdict[tuple[str, str | None, int | None], list[tuple[str, str]]]
        self._hashes = defaultdict(list)

    async def compute(self, realm: Realm, new: Iterable[NewPassword]) -> None:
        """Compute the hashes of passwords of one realm, by its policy."""
        algorithm = realm.password_policy.hash_algorithm
        iterations = realm.password_policy.hash_iterations
        for credential in new:
            try:
                made = await self._passwords.hash(
                    credential.password,
                    realm_id=realm.id,
                    algorithm=algorithm,
                    iterations=iterations,
                )
            except InvalidInput:
                # `hash` reports it, together with what else is wrong.
                continue
            self._hashes[credential.password.reveal(), algorithm, iterations].append(made)

    def clear(self) -> None:
        """Remove the hashes that were not used."""
        self._hashes.clear()

    async def hash(
        self,
        password: Secret,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> tuple[str, str]:
        made = self._hashes.get((password.reveal(), algorithm, iterations))
        if made:
            return made.pop()
        return await self._passwords.hash(
            password, realm_id=realm_id, algorithm=algorithm, iterations=iterations
        )
