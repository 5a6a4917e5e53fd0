"""Importing realm files: all of them in one transaction, or nothing.

A known realm is merged with the file, its clients by their public name; nothing is removed, so the
same file may be imported at every start.
Keycloak: realm import (`--import-realm` skips realms that exist), partial update of a realm
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from gateway.admin.realm_files.client_policies import list_policy_refusals
from gateway.admin.realm_files.files import RealmFile
from gateway.admin.realm_files.plan import ImportedRealm, RealmPlanner
from gateway.admin.users import PrecomputedHashes
from gateway.authentication.new_passwords import NewPasswords
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput, StoreUnavailable
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.invalidation import Invalidation, Topics
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.policies.candidate import NO_BLACKLISTS, PasswordBlacklists
from gateway.representations.realms import resources_not_imported
from gateway.representations.refusals import collect_refusals, located, raise_all
from gateway.representations.users import NewPassword

ResultT = TypeVar("ResultT")


class RealmImport:
    """Imports realm files."""

    def __init__(
        self,
        *,
        database: Database,
        keys: KeyFactory,
        authorities: AuthorityParser,
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
            authorities=authorities,
        )
        self._invalidation = invalidation

    async def run(
        self, files: Sequence[RealmFile], *, skip_existing: bool = False
    ) -> tuple[ImportedRealm, ...]:
        """Import all files; `skip_existing` does not change realms that exist.

        Raises InvalidInput with every wrong field of all files; then nothing was changed.
        """
        try:
            await self._compute_hashes(files, skip_existing=skip_existing)
            return await self._run(files, skip_existing=skip_existing)
        finally:
            self._passwords.clear()

    async def _compute_hashes(self, files: Sequence[RealmFile], *, skip_existing: bool) -> None:
        """Hash the passwords while other writers need not wait; errors are reported later."""
        new: list[tuple[Realm, list[NewPassword]]] = []
        try:
            async with self._database.read() as stores:
                for file in files:
                    for path, document in file.realms():
                        before = await find_named(stores.realms.find_by_name, document)
                        if before is None or not skip_existing:
                            plan = await self._planner.read(
                                stores, document, before, path, report_ineffective=True
                            )
                            passwords = await plan.new_passwords(stores)
                            new.append((plan.realm, passwords))
        except InvalidInput:
            return
        for realm, passwords in new:
            await self._passwords.compute(realm, passwords)

    async def _run(
        self, files: Sequence[RealmFile], *, skip_existing: bool
    ) -> tuple[ImportedRealm, ...]:
        async with self._database.write() as stores:

            async def import_realm(document: Mapping[str, Any], path: str) -> ImportedRealm:
                return await self._realm(stores, document, path, skip_existing=skip_existing)

            imported = await for_each_realm(files, import_realm)
            topics = tuple(Topics(topic for realm in imported for topic in realm.topics))
            await stores.change_log.record(topics)
        announced = await self._announce(topics)
        return tuple(replace(realm, announced=announced) for realm in imported)

    async def _realm(
        self, stores: Stores, document: Mapping[str, Any], path: str, *, skip_existing: bool
    ) -> ImportedRealm:
        before = await find_named(stores.realms.get_for_update, document)
        if before is not None and skip_existing:
            return ImportedRealm(before.id, before.name, created=False, skipped=True)
        plan = await self._planner.read(stores, document, before, path, report_ineffective=True)
        refused = await list_policy_refusals(stores, plan.realm, plan.clients, plan.roles)
        imported = await self._planner.apply(stores, plan)
        return replace(
            imported,
            refused_clients=refused,
            not_imported=resources_not_imported(document),
            ineffective=plan.ineffective(),
        )

    async def _announce(self, topics: Sequence[str]) -> bool:
        if self._invalidation is None:
            return True
        try:
            await self._invalidation.publish(topics)
        except StoreUnavailable:
            # The realms are stored: a lost message must not look like a failed import.
            return False
        return True


async def for_each_realm(
    files: Sequence[RealmFile], work: Callable[[Mapping[str, Any], str], Awaitable[ResultT]]
) -> list[ResultT]:
    """Call `work` with document and path of each realm; raises InvalidInput with all errors."""
    errors: list[FieldError] = []
    done: list[ResultT] = []
    for file in files:
        try:
            with collect_refusals(errors), located(file.source):
                of_file: list[FieldError] = []
                for path, document in file.realms():
                    with collect_refusals(of_file):
                        done.append(await work(document, path))
                raise_all(of_file)
        except AlreadyExists as taken:
            # The transaction is lost with it, so no further file can be read.
            free = FieldError(
                file.source,
                f"{str(taken).rstrip('.')}, or its id does",
                "ids and names that are free",
            )
            raise InvalidInput((*errors, free)) from taken
    raise_all(errors)
    return done


async def find_named(
    find: Callable[[str], Awaitable[Realm | None]], document: Mapping[str, Any]
) -> Realm | None:
    """Return the realm that a document names; None where it names none."""
    name = document.get("realm")
    return await find(name) if isinstance(name, str) else None
