"""Importing realm files: all of them in one transaction, or nothing.

A known realm is merged with the file, its clients by their public name; nothing is ever removed,
so that the same file may be imported at every start.
Keycloak: realm import (`--import-realm` skips realms that exist), partial update of a realm
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.admin.client_import import ClientChange, read_clients
from gateway.admin.client_registration import ensure_service_account
from gateway.admin.hashes_ahead import HashesAhead
from gateway.admin.new_passwords import NewPasswords
from gateway.admin.realm_defaults import ensure_administration, ensure_realm_defaults
from gateway.admin.realm_files import RealmFile
from gateway.admin.realm_groups import Books, GivenGroups, load_groups, read_realm_groups
from gateway.admin.realm_roles import RoleBook, default_role
from gateway.admin.signing_keys import ensure_signing_keys, signing_algorithms
from gateway.admin.user_import import NewUser, UserImport, read_users
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput, StoreUnavailable
from gateway.domain.ports.invalidation import Invalidation, client_topic, realm_topic
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.policies.candidate import NO_BLACKLISTS, PasswordBlacklists
from gateway.representations.credentials import NewPassword
from gateway.representations.realm import create_realm, read_realm, resources_not_imported
from gateway.representations.refusals import attempt, join, located, raise_all
from gateway.representations.role import GivenRole, read_roles

_MOST_TOPICS: Final = 100
"""Where more clients have changed, their realm is told of instead."""


@dataclass(frozen=True, slots=True)
class ImportedRealm:
    """What became of one realm of a file."""

    id: str
    name: str
    created: bool
    skipped: bool = False
    clients: int = 0
    """How many clients were added."""
    users: int = 0
    """How many users were added, service accounts not counted."""
    not_imported: tuple[str, ...] = ()
    """Parts of the file that this version does not read."""
    announced: bool = True
    """False when no message reached the gateways: they learn of it when their copy has aged."""
    topics: tuple[str, ...] = ()
    """What the gateways are told: that the realm has changed, or only some of its clients."""


@dataclass(frozen=True, slots=True)
class RealmPlan:
    """A realm as it will be, with what the file brings; every field was read and accepted."""

    realm: Realm
    before: Realm | None
    clients: tuple[ClientChange, ...]
    roles: tuple[GivenRole, ...]
    groups: GivenGroups
    users: tuple[NewUser, ...]


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
        self._gate = NewPasswords(clock, blacklists)
        self._database = database
        self._keys = keys
        self._passwords = HashesAhead(passwords)
        self._clock = clock
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
            self._passwords.forget()

    async def _hash_ahead(self, files: Sequence[RealmFile], *, skip_existing: bool) -> None:
        """Hash the passwords while other writers need not wait; a wrong file is told later."""
        new: list[tuple[Realm, NewPassword]] = []
        try:
            async with self._database.read() as stores:
                for file in files:
                    for path, document in file.realms():
                        new += await self._new_passwords(
                            stores, document, path, skip_existing=skip_existing
                        )
        except InvalidInput:
            return
        for realm, credential in new:
            policy = realm.password_policy
            await self._passwords.prepare(
                credential.password,
                algorithm=policy.hash_algorithm,
                iterations=policy.hash_iterations,
            )

    async def _new_passwords(
        self, stores: Stores, document: Mapping[str, Any], path: str, *, skip_existing: bool
    ) -> list[tuple[Realm, NewPassword]]:
        before = await _known(stores.realms.find_by_name, document)
        if before is not None and skip_existing:
            return []
        plan = await self._plan(stores, document, before, path)
        return [
            (plan.realm, credential)
            for new in plan.users
            if await stores.users.find_by_username(plan.realm.id, new.user.username) is None
            for credential in new.credentials
            if isinstance(credential, NewPassword)
        ]

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
                    free = FieldError(file.source, str(taken), "ids and names that are free")
                    raise InvalidInput((*errors, free)) from taken
            raise_all(errors)
        return tuple([await self._announced(realm) for realm in imported])

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
        plan = await self._plan(stores, document, before, path)
        return replace(
            await self._apply(stores, plan), not_imported=resources_not_imported(document)
        )

    async def _plan(
        self, stores: Stores, document: Mapping[str, Any], before: Realm | None, path: str
    ) -> RealmPlan:
        """Read the whole realm before anything is written, to tell all its errors together."""
        errors: list[FieldError] = []
        nowhere = before or Realm(id="", name="")
        realm = attempt(errors, nowhere, _read_settings, document, before, path)
        roles = attempt(errors, (), read_roles, document.get("roles"), join(path, "roles"))
        groups = attempt(errors, GivenGroups(), read_realm_groups, document, path)
        users = attempt(errors, (), read_users, document, realm, path, self._clock)
        try:
            clients = await read_clients(stores, realm.id, document, path, self._clock)
        except InvalidInput as refusal:
            errors.extend(refusal.errors)
            clients = ()
        raise_all(errors)
        return RealmPlan(realm, before, clients, roles, groups, users)

    async def _apply(self, stores: Stores, plan: RealmPlan) -> ImportedRealm:
        realm = plan.realm
        if plan.before is None:
            await stores.realms.add(realm)
        elif realm != plan.before:
            await stores.realms.replace(realm)
        algorithms = signing_algorithms(realm, (change.client for change in plan.clients))
        new_keys = await ensure_signing_keys(stores, realm, algorithms, self._keys, self._clock)
        for change in plan.clients:
            await change.store(stores)
        roles = await ensure_realm_defaults(stores, realm, plan.roles)
        master = await ensure_administration(stores, realm)
        accounts = await self._service_accounts(stores, plan, roles)
        groups = await load_groups(stores, realm)
        await groups.take(stores, realm, plan.groups, roles)
        users = await self._users(stores, plan, Books(roles, groups), accounts)
        beyond_clients = (
            realm != plan.before or new_keys or roles.changed or groups.changed or users > 0
        )
        topics = _topics_of_clients(plan, accounts)
        if beyond_clients or len(topics) > _MOST_TOPICS:
            topics = (realm_topic(realm.id),)
        return ImportedRealm(
            id=realm.id,
            name=realm.name,
            created=plan.before is None,
            clients=sum(change.before is None for change in plan.clients),
            users=users,
            topics=topics if master is None else (*topics, realm_topic(master.id)),
        )

    async def _service_accounts(
        self, stores: Stores, plan: RealmPlan, roles: RoleBook
    ) -> frozenset[str]:
        """Add missing service accounts; return the public names of their clients."""
        (default,) = roles.ids([default_role(plan.realm)], "roles")
        return frozenset(
            [
                change.client.client_id
                for change in plan.clients
                if await ensure_service_account(
                    stores, change.client, default, self._clock, new=change.before is None
                )
            ]
        )

    async def _users(
        self, stores: Stores, plan: RealmPlan, books: Books, accounts: frozenset[str]
    ) -> int:
        users = UserImport(stores, plan.realm, books, self._passwords, self._gate)
        errors: list[FieldError] = []
        added = 0
        for new in plan.users:
            try:
                if new.service_account_of is None:
                    added += await users.add(new)
                elif new.service_account_of in accounts:
                    await users.grant_service_account(new)
            except InvalidInput as refusal:
                errors.extend(refusal.errors)
        raise_all(errors)
        return added

    async def _announced(self, realm: ImportedRealm) -> ImportedRealm:
        if self._invalidation is None:
            return realm
        try:
            for topic in realm.topics:
                await self._invalidation.publish(topic)
        except StoreUnavailable:
            # The realm is stored: a message that is lost must not make it look otherwise.
            return replace(realm, announced=False)
        return realm


def _topics_of_clients(plan: RealmPlan, accounts: frozenset[str]) -> tuple[str, ...]:
    clients = (change.client for change in plan.clients if change.client != change.before)
    new_accounts = (change.client for change in plan.clients if change.client.client_id in accounts)
    ids = dict.fromkeys(client.id for client in (*clients, *new_accounts))
    return tuple(client_topic(plan.realm.id, identity) for identity in ids)


async def _known(
    find: Callable[[str], Awaitable[Realm | None]], document: Mapping[str, Any]
) -> Realm | None:
    name = document.get("realm")
    return await find(name) if isinstance(name, str) else None


def _read_settings(document: Mapping[str, Any], before: Realm | None, path: str) -> Realm:
    if before is None:
        return create_realm(document, path=path)
    return read_realm(document, base=before, path=path)
