"""Importing any number of users, in batches: each batch is stored as a whole.

What is stored stays stored, and users that are known already are left alone, so that an import
that was stopped is simply run again. Hashed credentials are taken as they are.
Keycloak: realm import, users
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from gateway.admin.finding import find_realm
from gateway.admin.realm_roles import RoleBook, load_roles
from gateway.admin.user_import import NewUser, UserImport, read_new_user
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.plain_json import check_json
from gateway.representations.refusals import refused
from gateway.representations.streamed_json import StreamedObject

BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class StreamedUsers:
    """How far an import has come."""

    added: int = 0
    known: int = 0
    """Users that were there before, service accounts among them."""
    refused: int = 0
    read: int = 0
    """How much of the file is behind."""


class UserStream:
    """Imports users of one realm as they come."""

    def __init__(self, *, database: Database, passwords: PasswordHasher, clock: Clock) -> None:
        self._database = database
        self._passwords = passwords
        self._clock = clock

    async def run(
        self,
        realm_name: str,
        objects: Iterable[StreamedObject],
        *,
        refuse: Callable[[InvalidInput], None] | None = None,
        progress: Callable[[StreamedUsers], None] | None = None,
    ) -> StreamedUsers:
        """Import every user; `refuse` is told of those that cannot be, and the rest goes on.

        Without it the first refusal ends the import: raises InvalidInput, and what was stored
        before stays. Raises RealmNotFound.
        """
        async with self._database.read() as stores:
            realm = await find_realm(stores, realm_name)
            roles = await load_roles(stores, realm)
        remaining, done = iter(objects), StreamedUsers()
        while batch := list(islice(remaining, BATCH)):
            part = await self._batch(_Batch(realm, roles, self._clock, refuse), batch)
            done = StreamedUsers(
                added=done.added + part.added,
                known=done.known + part.known,
                refused=done.refused + part.refused,
                read=part.read,
            )
            if progress is not None:
                progress(done)
        return done

    async def _batch(self, batch: "_Batch", objects: Sequence[StreamedObject]) -> StreamedUsers:
        entries = [entry for item in objects if (entry := batch.read(item)) is not None]
        try:
            added = await self._store(batch, entries)
        except InvalidInput:
            if batch.refuse is None:
                raise
            added = sum([await self._store_alone(batch, entry) for entry in entries])
        return StreamedUsers(
            added=added,
            known=len(objects) - added - batch.refused,
            refused=batch.refused,
            read=objects[-1].read,
        )

    async def _store_alone(self, batch: "_Batch", entry: NewUser) -> int:
        try:
            return await self._store(batch, [entry])
        except InvalidInput as refusal:
            batch.note(refusal)
            return 0

    async def _store(self, batch: "_Batch", entries: Sequence[NewUser]) -> int:
        added = 0
        async with self._database.write() as stores:
            users = UserImport(stores, batch.realm, batch.roles, self._passwords, self._clock)
            for entry in entries:
                try:
                    added += await users.add(entry)
                except AlreadyExists as taken:
                    allowed = "ids and names that are free"
                    raise InvalidInput((FieldError(entry.path, str(taken), allowed),)) from taken
        return added


class _Batch:
    """What one transaction stores, and what was refused of it."""

    def __init__(
        self,
        realm: Realm,
        roles: RoleBook,
        clock: Clock,
        refuse: Callable[[InvalidInput], None] | None,
    ) -> None:
        self.realm = realm
        self.roles = roles
        self.refuse = refuse
        self.refused = 0
        self._clock = clock

    def read(self, item: StreamedObject) -> NewUser | None:
        """Return the user; None for one that was refused, or comes with its client."""
        path = f"users[{item.number}]"
        try:
            if not isinstance(item.value, dict):
                raise refused(path, item.value, "a user")
            check_json(item.value, path)
            new = read_new_user(item.value, self.realm, path, self._clock)
        except InvalidInput as refusal:
            self.note(refusal)
            return None
        return None if new.service_account_of is not None else new

    def note(self, refusal: InvalidInput) -> None:
        """Tell of a refusal, or raise it where nobody wants to go on."""
        if self.refuse is None:
            raise refusal
        self.refused += 1
        self.refuse(refusal)
