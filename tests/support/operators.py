"""The local operator in tests: who acts, and the use cases that commands drive."""

from gateway.admin.access.lookups import find_realm
from gateway.admin.access.rights import Acting, operator
from gateway.admin.changes import Changes
from gateway.admin.users.credentials import UserCredentials
from gateway.authentication.passwords import NewPasswords, PasswordChanges
from gateway.domain.clock import Clock
from gateway.domain.ports.credentials import PasswordHasher
from gateway.domain.ports.invalidation import Invalidation
from gateway.domain.ports.storage import Database
from gateway.password_policies import PasswordBlacklists


async def acting_on(database: Database, realm_name: str) -> Acting:
    """Return the operator on a realm."""
    async with database.read() as stores:
        return operator(await find_realm(stores, realm_name))


class PasswordSetter:
    """Sets the passwords of users, as `realmgate user set-password` does."""

    def __init__(
        self,
        database: Database,
        hasher: PasswordHasher,
        clock: Clock,
        invalidation: Invalidation,
        blacklists: PasswordBlacklists,
    ) -> None:
        changes = Changes(database, clock, invalidation)
        passwords = PasswordChanges(NewPasswords(clock, blacklists), hasher)
        self._database = database
        self._credentials = UserCredentials(changes, passwords)

    async def set(self, realm_name: str, user_id: str, text: str) -> None:
        """Set a password; raises PasswordRefused and Overloaded."""
        acting = await acting_on(self._database, realm_name)
        await self._credentials.reset_password(acting, user_id, {"value": text})
