"""Imports any number of users in batches, each in one transaction.

Known users are not changed, so an import that was stopped can be run again. Hashed credentials are
stored as they are. Keycloak: realm import, users
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from gateway.admin.access import (
    find_realm,
)
from gateway.admin.groups import load_indexes
from gateway.admin.realm_files.user_inputs import (
    UserInput,
    UserPreparation,
    read_user_input,
    store_user_of_file,
    unknown_users,
)
from gateway.admin.users import NewUser, store_new_users
from gateway.authentication.new_passwords import NewPasswords
from gateway.authentication.unique_names import require_all_free_names
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Database
from gateway.policies.candidate import NO_BLACKLISTS, PasswordBlacklists
from gateway.representations.json_input import StreamedObject, check_json
from gateway.representations.refusals import refused

BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import has come."""

    added: int = 0
    known: int = 0
    """Users that existed before, service accounts included."""
    refused: int = 0
    read: int = 0
    """How much of the file was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserImport:
    """Imports users of one realm from a stream."""

    database: Database
    passwords: PasswordHasher
    clock: Clock
    blacklists: PasswordBlacklists = NO_BLACKLISTS

    async def run(
        self,
        realm_name: str,
        objects: Iterable[StreamedObject],
        *,
        refuse: Callable[[InvalidInput], None] | None = None,
        progress: Callable[[ImportProgress], None] | None = None,
    ) -> ImportProgress:
        """Import every user; `refuse` is called for each one refused, and the import goes on.

        Without it the first refusal ends the import: raises InvalidInput, and earlier batches stay.
        Raises RealmNotFound.
        """
        async with self.database.read() as stores:
            realm = await find_realm(stores, realm_name)
            indexes = await load_indexes(stores, realm)
        gate = NewPasswords(self.clock, self.blacklists)
        preparation = UserPreparation(realm, indexes, self.passwords, gate)
        batches = _Batches(self.database, preparation, refuse)
        remaining, done = iter(objects), ImportProgress()
        while batch := list(islice(remaining, BATCH)):
            done = await batches.store(batch, done)
            if progress is not None:
                progress(done)
        return done


class _Batches:
    """Stores batches, and counts the users that are refused."""

    def __init__(
        self,
        database: Database,
        preparation: UserPreparation,
        refuse: Callable[[InvalidInput], None] | None,
    ) -> None:
        self._database = database
        self._preparation = preparation
        self._refuse = refuse
        self._refused = 0

    async def store(
        self, objects: Sequence[StreamedObject], done: ImportProgress
    ) -> ImportProgress:
        """Store one batch; return the progress after it."""
        users = [user for item in objects if (user := self._read(item)) is not None]
        prepared = await self._prepared(await self._unknown(users))
        added = done.added + await self._store(prepared)
        seen = done.added + done.known + done.refused + len(objects)
        return ImportProgress(added, seen - added - self._refused, self._refused, objects[-1].read)

    def _read(self, item: StreamedObject) -> UserInput | None:
        """Return the user; None for one that is refused, or is a client's service account."""
        path, preparation = f"users[{item.number}]", self._preparation
        try:
            if not isinstance(item.value, dict):
                raise refused(path, item.value, "a user")
            check_json(item.value, path)
            user = read_user_input(item.value, preparation.realm, path, preparation.gate.clock)
        except InvalidInput as refusal:
            self._note(refusal)
            return None
        return None if user.service_account_of is not None else user

    async def _unknown(self, users: Sequence[UserInput]) -> list[UserInput]:
        first = {user.user.username: user for user in reversed(users)}
        named = [user for user in users if first[user.user.username] is user]
        async with self._database.read() as stores:
            return await unknown_users(stores, self._preparation.realm.id, named)

    async def _prepared(self, users: Sequence[UserInput]) -> list[NewUser]:
        prepared = []
        for user in users:
            try:
                prepared.append(await self._preparation.prepared(user))
            except InvalidInput as refusal:
                self._note(refusal)
        return prepared

    async def _store(self, prepared: Sequence[NewUser]) -> int:
        """Store all at once; where a name or id is taken, one by one to find out which."""
        if not prepared:
            return 0
        try:
            async with self._database.write() as stores:
                users = [new.user for new in prepared]
                names = await require_all_free_names(stores, self._preparation.realm, users)
                await store_new_users(stores, prepared, names)
        except AlreadyExists:
            if self._refuse is None:
                await self._store_each(prepared)
                return len(prepared)
            return sum([await self._store_or_note(user) for user in prepared])
        return len(prepared)

    async def _store_or_note(self, user: NewUser) -> int:
        try:
            await self._store_each([user])
        except InvalidInput as refusal:
            self._note(refusal)
            return 0
        return 1

    async def _store_each(self, prepared: Sequence[NewUser]) -> None:
        async with self._database.write() as stores:
            for user in prepared:
                await store_user_of_file(stores, self._preparation.realm, user)

    def _note(self, refusal: InvalidInput) -> None:
        """Report a refusal, or raise it where the import is to end."""
        if self._refuse is None:
            raise refusal
        self._refused += 1
        self._refuse(refusal)
