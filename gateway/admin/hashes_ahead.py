"""Password hashes made before a transaction opens: SQLite has one writer, and each takes long.

A hash that was not foreseen, because the realm changed meanwhile, is made when it is asked for.
"""

from collections import defaultdict

from gateway.domain.errors import InvalidInput
from gateway.domain.ports.passwords import PasswordMaker
from gateway.domain.secrets import Secret


class HashesAhead:
    """PasswordMaker that gives out each hash once: two users of one password share no salt."""

    def __init__(self, passwords: PasswordMaker) -> None:
        self._passwords = passwords
        self._made: defaultdict[tuple[str, str | None, int | None], list[tuple[str, str]]]
        self._made = defaultdict(list)

    async def prepare(
        self, password: Secret, *, algorithm: str | None, iterations: int | None
    ) -> None:
        """Make a hash that `hash` will be asked for."""
        try:
            made = await self._passwords.hash(password, algorithm=algorithm, iterations=iterations)
        except InvalidInput:
            # Told when it is asked for, together with what else is wrong.
            return
        self._made[password.reveal(), algorithm, iterations].append(made)

    def forget(self) -> None:
        """Forget the hashes that nobody asked for."""
        self._made.clear()

    async def hash(
        self, password: Secret, *, algorithm: str | None, iterations: int | None = None
    ) -> tuple[str, str]:
        """Return `(credential_data, secret_data)`."""
        made = self._made.get((password.reveal(), algorithm, iterations))
        if made:
            return made.pop()
        return await self._passwords.hash(password, algorithm=algorithm, iterations=iterations)
