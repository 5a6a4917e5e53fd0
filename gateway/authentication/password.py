"""Signing in by user name, or e-mail address, and password."""

from datetime import datetime

from gateway.authentication.brute_force_guard import BruteForceGuard
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import User


class PasswordLogin:
    """The check of a password, for every way in that takes one."""

    def __init__(
        self, database: Database, passwords: PasswordHasher, guard: BruteForceGuard
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._guard = guard

    async def authenticate(
        self, realm: Realm, username: str, password: Secret | None, *, address: str, now: datetime
    ) -> User:
        """Return the user; raises SignInRefused, Overloaded or StoreUnavailable."""
        raise NotImplementedError
