"""Importing realm files: all of them in one transaction, or nothing.

A known realm is merged with the file, its clients by their public name; nothing is ever removed,
so that the same file may be imported at every start.
Keycloak: realm import (`--import-realm` skips realms that exist), partial update of a realm
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gateway.admin.realm_files.files import RealmFile
from gateway.admin.realm_files.plan import ImportedRealm, RealmPlanner
from gateway.admin.users import NewPasswords, PrecomputedHashes
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput, StoreUnavailable
from gateway.domain.ports.invalidation import Invalidation, Topics
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.policies.candidate import NO_BLACKLISTS, PasswordBlacklists
from gateway.representations.realms import resources_not_imported
from gateway.representations.refusals import located, raise_all
from gateway.representations.users import NewPassword


class RealmImport:
    """Imports realm files."""

    def __init__(
        self,
        *,
        database: Database,
        keys: KeyFactory,
        passwords: PasswordHasher,
        clock: Clock,
        invalidation: Invalidation | None = None,
        blacklists: PasswordBlacklists = NO_BLACKLISTS,
    ) -> None:
        self._database = database
        self._passwords = PrecomputedHashes(passwords)
        self._planner = RealmPlanner(
            keys=keys,
            passwords=self._passwords,
            gate=NewPasswords(clock, blacklists),
            clock=clock,
        )
        self._invalidation = invalidation

    async def run(
        self, files: Sequence[RealmFile], *, skip_existing: bool = False
    ) -> tuple[ImportedRealm, ...]:
        """Import all files; `skip_existing` leaves realms alone that exist.

        Raises InvalidInput with every wrong field of all files; then nothing was changed.
        """
        try:
            await self._hash_ahead(files, skip_existing=skip_existing)
            return await self._run(files, skip_existing=skip_existing)
        finally:
            self._passwords.clear()

    async def _hash_ahead(self, files: Sequence[RealmFile], *, skip_existing: bool) -> None:
        """Hash the passwords while other writers need not wait; a wrong file is told later."""
        new: list[tuple[Realm, list[NewPassword]]] = []
        try:
            async with self._database.read() as stores:
                for file in files:
                    for path, document in file.realms():
                        before = await _known(stores.realms.find_by_name, document)
                        if before is None or not skip_existing:
                            plan = await self._planner.read(
                                stores, document, before, path, report_ineffective=True
                            )
                            passwords = await self._planner.new_passwords(stores, plan)
                            new.append((plan.realm, passwords))
        except InvalidInput:
            return
        for realm, passwords in new:
            await self._passwords.prepare_all(realm, passwords)

    async def _run(
        self, files: Sequence[RealmFile], *, skip_existing: bool
    ) -> tuple[ImportedRealm, ...]:
        errors: list[FieldError] = []
        imported: list[ImportedRealm] = []
        async with self._database.write() as stores:
            for file in files:
                try:
                    with located(file.source):
                        imported += await self._file(stores, file, skip_existing=skip_existing)
                except InvalidInput as refusal:
                    errors.extend(refusal.errors)
                except AlreadyExists as taken:
                    # The transaction is lost with it, so no further file can be read.
                    free = FieldError(
                        file.source,
                        f"{str(taken).rstrip('.')}, or its id does",
                        "ids and names that are free",
                    )
                    raise InvalidInput((*errors, free)) from taken
            raise_all(errors)
            topics = tuple(Topics(topic for realm in imported for topic in realm.topics))
            await stores.change_log.record(topics)
        announced = await self._announce(topics)
        return tuple(replace(realm, announced=announced) for realm in imported)

    async def _file(
        self,
        stores: Stores,
        file: RealmFile,
        *,
        skip_existing: bool,
    ) -> list[ImportedRealm]:
        errors: list[FieldError] = []
        imported: list[ImportedRealm] = []
        for path, document in file.realms():
            try:
                done = await self._realm(stores, document, path, skip_existing=skip_existing)
                imported.append(done)
            except InvalidInput as refusal:
                errors.extend(refusal.errors)
        raise_all(errors)
        return imported

    async def _realm(
        self,
        stores: Stores,
        document: Mapping[str, Any],
        path: str,
        *,
        skip_existing: bool,
    ) -> ImportedRealm:
        before = await _known(stores.realms.find_alone, document)
        if before is not None and skip_existing:
            return ImportedRealm(before.id, before.name, created=False, skipped=True)
        plan = await self._planner.read(stores, document, before, path, report_ineffective=True)
        imported = await self._planner.apply(stores, plan)
        return replace(
            imported,
            not_imported=resources_not_imported(document),
            ineffective=plan.ineffective(),
        )

    async def _announce(self, topics: Sequence[str]) -> bool:
        if self._invalidation is None:
            return True
        try:
            await self._invalidation.publish(topics)
        except StoreUnavailable:
            # The realms are stored: a message that is lost must not make it look otherwise.
            return False
        return True


async def _known(
    find: Callable[[str], Awaitable[Realm | None]], document: Mapping[str, Any]
) -> Realm | None:
    name = document.get("realm")
    return await find(name) if isinstance(name, str) else None
