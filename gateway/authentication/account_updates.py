"""What users change in their own accounts: one transaction each.

Gateways remove the user from their caches once it is committed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from gateway.authentication.errors import (
    AccountDisabled,
    InvalidUserCredentials,
    TooManyCredentials,
)
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.events import EventError
from gateway.domain.ports.invalidation import Invalidation, user_topic
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.users import MOST_CREDENTIALS, Credential, User


@dataclass(frozen=True, slots=True)
class AccountUpdate:
    """A transaction with the row of the user locked."""

    stores: Stores
    user: User
    now: datetime

    async def add_credential(self, credential: Credential) -> Credential:
        """Store a new credential of the user, and return it; raises TooManyCredentials."""
        users, realm_id = self.stores.users, self.user.realm_id
        if len(await users.credentials(realm_id, self.user.id)) >= MOST_CREDENTIALS:
            raise TooManyCredentials
        stored = replace(credential, set_at=self.now)
        await users.set_credential(realm_id, stored)
        return stored

    async def replace(self, user: User, *, performed: str | None = None) -> None:
        """Store the user; `performed` is the alias of a required action that is done."""
        left = tuple(alias for alias in user.required_actions if alias != performed)
        after = replace(user, required_actions=left)
        if after != self.user:
            await self.stores.users.replace(after)


class AccountUpdates:
    """Opens the transactions."""

    def __init__(self, database: Database, invalidation: Invalidation, clock: Clock) -> None:
        self._database = database
        self._invalidation = invalidation
        self._clock = clock

    @asynccontextmanager
    async def begin(self, realm_id: str, user_id: str) -> AsyncIterator[AccountUpdate]:
        """Open the transaction of a change.

        Raises InvalidUserCredentials for a user who was removed meanwhile, AccountDisabled for one
        who was disabled or locked for good, and StoreUnavailable.
        """
        topic = user_topic(realm_id, user_id)
        async with self._database.write() as stores:
            user = await stores.users.get_for_update(realm_id, user_id)
            if user is None:
                raise InvalidUserCredentials(EventError.USER_NOT_FOUND)
            if not user.enabled:
                raise AccountDisabled(user.id)
            yield AccountUpdate(stores, user, self._clock.now())
            await stores.change_log.record([topic])
        with suppress(StoreUnavailable):  # the others read the log of changes
            await self._invalidation.publish([topic])
