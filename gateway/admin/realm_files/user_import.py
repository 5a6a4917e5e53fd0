"""Imports any number of users in batches, each in one transaction.

Known users are not changed, so an import that was stopped can be run again. Hashed credentials are
stored as they are. Keycloak: realm import, users
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from gateway.admin.access import find_realm
from gateway.admin.groups import RealmIndexes, load_indexes
from gateway.admin.realm_files.user_inputs import (
    UserInput,
    UserPreparation,
    read_user_input,
    unknown_users,
)
from gateway.admin.users import NewPasswords, NewUser, store_new_user, store_new_users
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
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


class UserImport:
    """Imports users of one realm from a stream."""

    def __init__(
        self,
        *,
        database: Database,
        passwords: PasswordHasher,
        clock: Clock,
        blacklists: PasswordBlacklists = NO_BLACKLISTS,
    ) -> None:
        self._new_passwords = NewPasswords(clock, blacklists)
        self._database = database
        self._passwords = passwords
        self._clock = clock

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
        async with self._database.read() as stores:
            realm = await find_realm(stores, realm_name)
            indexes = await load_indexes(stores, realm)
        remaining, done = iter(objects), ImportProgress()
        while batch := list(islice(remaining, BATCH)):
            part = await self._batch(_Batch(realm, indexes, self._clock, refuse), batch)
            done = ImportProgress(
                added=done.added + part.added,
                known=done.known + part.known,
                refused=done.refused + part.refused,
                read=part.read,
            )
            if progress is not None:
                progress(done)
        return done

    async def _batch(self, batch: "_Batch", objects: Sequence[StreamedObject]) -> ImportProgress:
        entries = [entry for item in objects if (entry := batch.read(item)) is not None]
        prepared = await self._prepared(batch, await self._unknown(batch.realm, entries))
        added = await self._store(batch, prepared)
        return ImportProgress(
            added=added,
            known=len(objects) - added - batch.refused,
            refused=batch.refused,
            read=objects[-1].read,
        )

    async def _unknown(self, realm: Realm, entries: Sequence[UserInput]) -> list[UserInput]:
        first = {entry.user.username: entry for entry in reversed(entries)}
        named = [entry for entry in entries if first[entry.user.username] is entry]
        async with self._database.read() as stores:
            return await unknown_users(stores, realm.id, named)

    async def _prepared(self, batch: "_Batch", entries: Sequence[UserInput]) -> list[NewUser]:
        preparation = UserPreparation(
            batch.realm, batch.indexes, self._passwords, self._new_passwords
        )
        prepared = []
        for entry in entries:
            try:
                prepared.append(await preparation.prepared(entry))
            except InvalidInput as refusal:
                batch.note(refusal)
        return prepared

    async def _store(self, batch: "_Batch", prepared: Sequence[NewUser]) -> int:
        """Store all at once; where a name or id is taken, one by one to find out which."""
        if not prepared:
            return 0
        try:
            async with self._database.write() as stores:
                await store_new_users(stores, prepared)
        except AlreadyExists:
            if batch.refuse is None:
                await self._store_each(prepared)
                return len(prepared)
            return sum([await self._store_or_note(batch, item) for item in prepared])
        return len(prepared)

    async def _store_or_note(self, batch: "_Batch", item: NewUser) -> int:
        try:
            await self._store_each([item])
        except InvalidInput as refusal:
            batch.note(refusal)
            return 0
        return 1

    async def _store_each(self, prepared: Sequence[NewUser]) -> None:
        async with self._database.write() as stores:
            for item in prepared:
                try:
                    await store_new_user(stores, item)
                except AlreadyExists as taken:
                    allowed = "ids and names that are free"
                    raise InvalidInput((FieldError(item.path, str(taken), allowed),)) from taken


class _Batch:
    """One transaction's users, and how many of them were refused."""

    def __init__(
        self,
        realm: Realm,
        indexes: RealmIndexes,
        clock: Clock,
        refuse: Callable[[InvalidInput], None] | None,
    ) -> None:
        self.realm = realm
        self.indexes = indexes
        self.refuse = refuse
        self.refused = 0
        self._clock = clock

    def read(self, item: StreamedObject) -> UserInput | None:
        """Return the user; None for one that is refused, or is a client's service account."""
        path = f"users[{item.number}]"
        try:
            if not isinstance(item.value, dict):
                raise refused(path, item.value, "a user")
            check_json(item.value, path)
            new = read_user_input(item.value, self.realm, path, self._clock)
        except InvalidInput as refusal:
            self.note(refusal)
            return None
        return None if new.service_account_of is not None else new

    def note(self, refusal: InvalidInput) -> None:
        """Report a refusal, or raise it where the import is to end."""
        if self.refuse is None:
            raise refusal
        self.refused += 1
        self.refuse(refusal)
