"""Importing realm files, and creating a realm: all of it in one transaction, or nothing.

A known realm is merged with the file, its clients by their public name; nothing is removed, so the
same file may be imported at every start. A caller who may create realms without administering all
of them gets all rights over the new one.

The client policies that the realm will have judge the clients of a file. A caller's file is refused
as a whole, and its clients get what the policies demand, as one by one. The operator's file is
stored as it is, and refusals are reported: it may be older than the policies. The clients of every
realm are not judged, since they are made without policies.
Keycloak: 7.1 (POST realms), 9 (`create-realm`); realm import (`--import-realm` skips realms that
exist), partial update of a realm; it judges no client of a file (26.7)
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from gateway.admin.access import (
    ADMIN,
    CREATE_REALM,
    Acting,
    AdminRole,
    RoleIndex,
    administration_client,
    is_administrative_client,
    may_create_realms,
    operator,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.clients import (
    ClientReplacement,
    PolicyCaller,
    default_clients,
    enforce_policies,
    refused_by_policies,
    updater_of,
    with_rotation_applied,
)
from gateway.admin.realm_files.files import RealmFile
from gateway.admin.realm_files.plan import ImportedRealm, RealmPlan, RealmPlanner
from gateway.admin.realm_files.report import (
    UNKNOWN_GATEWAY,
    GatewayNames,
    Report,
    report_known_users,
    report_refused_clients,
    report_repetitions,
)
from gateway.admin.realms import require_sender
from gateway.admin.users import PrecomputedHashes
from gateway.authentication.passwords import NewPasswords
from gateway.client_policies import EventKind, PolicyRefusal
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput, StoreUnavailable
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.input_sizes import free_in_slices, in_slices
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.credentials import PasswordHasher
from gateway.domain.ports.invalidation import Invalidation, Topics, client_topic, user_topic
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import MASTER, Realm
from gateway.domain.refusals import Forbidden, InvalidRequest
from gateway.password_policies import NO_BLACKLISTS, PasswordBlacklists
from gateway.representations.realms import (
    policies_of,
    require_known_realm_fields,
    resources_not_imported,
)
from gateway.representations.refusals import collect_refusals, describe_name, raise_all
from gateway.representations.roles import RoleInput, RoleName
from gateway.representations.users import NewPassword

ClientChanges = tuple[ClientReplacement, ...]


def roles_of_clients(roles: Iterable[RoleInput]) -> Mapping[str, frozenset[str]]:
    """Return the names of the roles of a file by the public name of their client."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for role in roles:
        if role.role.client is not None:
            found[role.role.client].add(role.role.name)
    return {client: frozenset(names) for client, names in found.items()}


async def apply_policies(
    stores: Stores,
    realm: Realm,
    changes: ClientChanges,
    roles: Iterable[RoleInput],
    *,
    acting: Acting,
    clock: Clock,
) -> ClientChanges:
    """Return the clients as the policies leave them; raises InvalidRequest for a refused one."""
    if not policies_of(realm):
        return changes
    caller = PolicyCaller(acting, brought_roles=roles_of_clients(roles))
    updater = await updater_of(stores, realm, caller)
    exempt = _Exempt(realm)
    applied: list[ClientReplacement] = []
    async for change in in_slices(changes):
        client = change.client
        if not exempt.covers(client):
            with refused_by_policies(place_of_client(client.client_id)):
                client = await _judged(stores, realm, caller, change)
            client = with_rotation_applied(realm, client, clock, updater)
        applied.append(replace(change, client=client))
    return tuple(applied)


async def list_policy_refusals(
    stores: Stores, realm: Realm, changes: ClientChanges, roles: Iterable[RoleInput]
) -> tuple[FieldError, ...]:
    """Return the refused clients of an operator's file, each with the text of the policy."""
    if not policies_of(realm):
        return ()
    caller = PolicyCaller(operator(realm), brought_roles=roles_of_clients(roles))
    exempt = _Exempt(realm)
    found: list[FieldError] = []
    async for change in in_slices(changes):
        if exempt.covers(change.client):
            continue
        try:
            await _judged(stores, realm, caller, change)
        except PolicyRefusal as refusal:
            sentence = f"a client policy of the realm refuses the client: {refusal.text}"
            given = describe_name(change.client.client_id)
            place = place_of_client(change.client.client_id)
            found.append(FieldError(place, given, "a client by the policies", sentence=sentence))
    return tuple(found)


async def _judged(
    stores: Stores, realm: Realm, caller: PolicyCaller, change: ClientReplacement
) -> Client:
    return await enforce_policies(
        stores,
        realm,
        caller,
        EventKind.REGISTER if change.before is None else EventKind.UPDATE,
        change.client,
        before=change.before,
        names_authenticator=change.names_authenticator or change.before is not None,
    )


class _Exempt:
    """The clients that a realm has from its creation, and those of administrative roles."""

    def __init__(self, realm: Realm) -> None:
        self._realm = realm
        self._names = {document["clientId"] for document in default_clients(realm)}

    def covers(self, client: Client) -> bool:
        name = client.client_id
        return name in self._names or is_administrative_client(self._realm, name)


def place_of_client(client_id: str) -> str:
    """Return how errors name a client of a file."""
    return f"clients[{describe_name(client_id)}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmCreation:
    """Creates realms."""

    database: Database
    changes: Changes
    keys: KeyFactory
    authorities: AuthorityParser
    passwords: PasswordHasher
    gate: NewPasswords
    clock: Clock

    async def create(self, acting: Acting, document: Mapping[str, Any]) -> tuple[Realm, Report]:
        """Create the realm and all in it; Forbidden unless `acting.realm` is `master`.

        Return it with the report of its document.

        Raises Forbidden, InvalidRequest, UnknownField, InvalidInput and AlreadyExists.
        """
        if not may_create_realms(acting):
            raise Forbidden(f"not {CREATE_REALM} in {MASTER}")
        await asyncio.to_thread(require_known_realm_fields, document)
        if document.get("realm") in (None, ""):
            raise InvalidRequest("Realm name cannot be empty")
        require_sender(document)
        if document.get("id") in (None, ""):
            document = {**document, "id": str(uuid4())}
        hashes = PrecomputedHashes(self.passwords)
        planner = RealmPlanner(
            keys=self.keys,
            passwords=hashes,
            gate=self.gate,
            clock=self.clock,
            authorities=self.authorities,
        )
        plan = await self._read(acting, planner, hashes, document)
        # Before anything is stored: a realm without an answer would look refused.
        report = await asyncio.to_thread(plan.report, UNKNOWN_GATEWAY)
        async with self.changes.begin(acting) as change:
            await _require_free(change, plan.realm)
            imported = await planner.apply(change.stores, plan)
            for topic in imported.topics:
                change.invalidate(topic)
            await _grant_rights(change, plan.realm)
            change.record(OperationType.CREATE, ResourceType.REALM, plan.realm.name, document)
        realm, parts = plan.realm, [*plan.clients, *plan.users]
        del plan
        await free_in_slices(parts)
        return realm, report

    async def _read(
        self,
        acting: Acting,
        planner: RealmPlanner,
        hashes: PrecomputedHashes,
        document: Mapping[str, Any],
    ) -> RealmPlan:
        """Read all, and hash the passwords while other writers need not wait.

        Raises InvalidRequest for a client that a client policy of the document refuses.
        """
        async with self.database.read() as stores:
            plan = await planner.read(stores, document, None, "")
            if await stores.realms.find_by_name(plan.realm.name) is not None:
                raise _taken(plan.realm)
            clients = await apply_policies(
                *(stores, plan.realm, plan.clients, plan.roles), acting=acting, clock=self.clock
            )
            plan = replace(plan, clients=clients)
            new = await plan.new_passwords(stores)
        await hashes.compute(plan.realm, new)
        return plan


async def _require_free(change: Change, realm: Realm) -> None:
    """Refuse a taken name; also where `master` has the client for its administrators already.

    The owner of that client would have rights over the realm.
    """
    stores = change.stores
    if await stores.realms.find_by_name(realm.name) is not None:
        raise _taken(realm)
    if await stores.realms.exists(realm.id):
        raise AlreadyExists(f"Realm with id {realm.id} already exists")
    client = administration_client(realm.name)
    if await stores.clients.find_by_client_id(change.realm.id, client) is not None:
        raise AlreadyExists(f"Client {client} already exists")


def _taken(realm: Realm) -> AlreadyExists:
    return AlreadyExists(f"Realm {realm.name} already exists")


async def _grant_rights(change: Change, realm: Realm) -> None:
    caller, held = change.acting.caller, change.acting.rights.held
    if caller is None or (held is not None and ADMIN in held.realm):
        return
    stores, master = change.stores, change.realm
    client = await stores.clients.find_by_client_id(master.id, administration_client(realm.name))
    if client is None:
        raise LookupError("a new realm has a client in master")
    index = RoleIndex(stores, master, {client.client_id: client.id})
    await index.load_roles()
    roles = (RoleName(role, client.client_id) for role in AdminRole)
    await stores.roles.grant(master.id, caller.user.id, index.ids(roles, "roles"))
    change.invalidate(user_topic(caller.realm.id, caller.user.id))
    if caller.user.service_account_client is not None:
        change.invalidate(client_topic(caller.realm.id, caller.user.service_account_client))


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
        gateway: GatewayNames = UNKNOWN_GATEWAY,
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
        self._gateway = gateway

    async def run(
        self,
        files: Sequence[RealmFile],
        *,
        skip_existing: bool = False,
        updates_users: bool = False,
    ) -> tuple[ImportedRealm, ...]:
        """Import all files; `skip_existing` does not change realms that exist.

        Users who exist stay as they are, unless the import updates them.

        Raises InvalidInput with every wrong field of all files; then nothing was changed.
        """
        try:
            await self._compute_hashes(files, skip_existing=skip_existing)
            return await self._run(files, skip_existing=skip_existing, updates_users=updates_users)
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
        self, files: Sequence[RealmFile], *, skip_existing: bool, updates_users: bool
    ) -> tuple[ImportedRealm, ...]:
        async with self._database.write() as stores:

            async def import_realm(
                document: Mapping[str, Any], path: str, report: Report
            ) -> ImportedRealm:
                before = await find_named(stores.realms.get_for_update, document)
                if before is not None and skip_existing:
                    return ImportedRealm(before.id, before.name, created=False, skipped=True)
                imported = await self._realm(
                    stores, document, before, path, updates_users=updates_users
                )
                return replace(imported, report=(*report, *imported.report))

            imported = await for_each_realm(files, import_realm)
            topics = tuple(Topics(topic for realm in imported for topic in realm.topics))
            await stores.change_log.record(topics)
        announced = await self._announce(topics)
        return tuple(replace(realm, announced=announced) for realm in imported)

    async def _realm(
        self,
        stores: Stores,
        document: Mapping[str, Any],
        before: Realm | None,
        path: str,
        *,
        updates_users: bool,
    ) -> ImportedRealm:
        plan = await self._planner.read(stores, document, before, path, report_ineffective=True)
        refused = await list_policy_refusals(stores, plan.realm, plan.clients, plan.roles)
        imported = await self._planner.apply(stores, plan, updates_users=updates_users)
        differing = () if updates_users else imported.differing_users
        report = await asyncio.to_thread(plan.report, self._gateway)
        return replace(
            imported,
            refused_clients=refused,
            not_imported=resources_not_imported(plan.document),
            ineffective=plan.ineffective(),
            report=(*report, *report_refused_clients(refused), *report_known_users(differing)),
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
    files: Sequence[RealmFile],
    work: Callable[[Mapping[str, Any], str, Report], Awaitable[ResultT]],
) -> list[ResultT]:
    """Call `work` with document and path of each realm, and what the file itself reports.

    Raises InvalidInput with all errors.
    """
    errors: list[FieldError] = []
    done: list[ResultT] = []
    for file in files:
        try:
            with collect_refusals(errors), file.located():
                of_realms: list[FieldError] = []
                for path, document in file.realms():
                    with collect_refusals(of_realms):
                        of_file = report_repetitions(file.repetitions)
                        done.append(await work(document, path, of_file))
                raise_all(of_realms)
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
