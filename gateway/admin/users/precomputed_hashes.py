"""Password hashes made before a transaction opens: SQLite has one writer, and each takes long.

A hash that was not foreseen, because the realm changed meanwhile, is made when it is asked for.
"""

from collections import defaultdict
from collections.abc import Iterable

from gateway.domain.errors import InvalidInput
from gateway.domain.ports.passwords import PasswordMaker
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.representations.users import NewPassword


class PrecomputedHashes:
    """PasswordMaker that gives out each hash once: two users of one password share no salt."""

    def __init__(self, passwords: PasswordMaker) -> None:
        self._passwords = passwords
        self._made: defaultdict[tuple[str, str | None, int | None], list[tuple[str, str]]]
        self._made = defaultdict(list)

    async def prepare(
        self, password: Secret, *, realm_id: str, algorithm: str | None, iterations: int | None
    ) -> None:
        """Make a hash that `hash` will be asked for."""
        try:
            made = await self._passwords.hash(
                password, realm_id=realm_id, algorithm=algorithm, iterations=iterations
            )
        except InvalidInput:
            # Told when it is asked for, together with what else is wrong.
            return
        self._made[password.reveal(), algorithm, iterations].append(made)

    async def prepare_all(self, realm: Realm, new: Iterable[NewPassword]) -> None:
        """Make the hashes of passwords of one realm, as its policy wants them."""
        policy = realm.password_policy
        for credential in new:
            await self.prepare(
                credential.password,
                realm_id=realm.id,
                algorithm=policy.hash_algorithm,
                iterations=policy.hash_iterations,
            )

    def forget(self) -> None:
        """Forget the hashes that nobody asked for."""
        self._made.clear()

    async def hash(
        self,
        password: Secret,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> tuple[str, str]:
        """Return `(credential_data, secret_data)`."""
        made = self._made.get((password.reveal(), algorithm, iterations))
        if made:
            return made.pop()
        return await self._passwords.hash(
            password, realm_id=realm_id, algorithm=algorithm, iterations=iterations
        )
