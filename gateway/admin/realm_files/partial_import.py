"""Importing users, groups, clients and roles into a realm: all of it, or nothing.

What exists refuses the import, is skipped, or is removed and re-created; a role is changed instead,
so that its users keep it, and a client keeps its id, the roles and groups of its service account,
and its secret unless another is sent. Built-in clients are ignored, and administrative roles are
skipped: they are the same in every realm. Roles that users and groups name and nothing defines are
created. Each part requires the right to create it by itself, and the client policies of the realm
judge the clients.
Keycloak: 7.1 (partialImport), which requires the right to manage the realm only, and where policies
judge no client
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    AdminRole,
    ControlledObject,
    ObjectKind,
    RoleIndex,
    is_administrative_client,
    load_roles,
    require_may_control,
    require_may_control_subtree,
    require_may_grant,
    require_may_join,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.clients import (
    ClientAdministration,
    PolicyCaller,
    default_clients,
    enforce_policies,
    refused_by_policies,
)
from gateway.admin.groups import GivenGroups, GroupIndex, RealmIndexes, load_groups
from gateway.admin.realm_files.current_form import to_current_form
from gateway.admin.realm_files.files import embedded
from gateway.admin.realm_files.named_roles import protection_roles, roles_of_groups
from gateway.admin.realm_files.realm_import import place_of_client, roles_of_clients
from gateway.admin.realm_files.report import Report, report_parts
from gateway.admin.realm_files.role_import import add_named_roles, import_roles
from gateway.admin.realm_files.user_import import (
    ImportedUser,
    UserPreparation,
    new_passwords,
    read_users,
)
from gateway.admin.users import NewUser, PrecomputedHashes, store_new_user
from gateway.authentication.passwords import NewPasswords
from gateway.authentication.unique_names import named_by_address, require_free_names
from gateway.client_policies import EventKind
from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client
from gateway.domain.errors import AlreadyExists, FieldError
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.groups import render_group_path
from gateway.domain.limits.input_sizes import free_in_slices, in_slices
from gateway.domain.ports.credentials import PasswordHasher
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.users import User
from gateway.representations.clients import given_field, new_client_document
from gateway.representations.groups import GroupInput, parse_groups
from gateway.representations.partial_import import (
    Action,
    IfExists,
    ImportedKind,
    ImportOutcome,
    parse_policy,
    render_outcomes,
)
from gateway.representations.refusals import describe, raise_all, refused, repeated_names
from gateway.representations.roles import RoleInput, RoleName, parse_roles
from gateway.representations.shapes import MASK


@dataclass(frozen=True, slots=True)
class PartialUsers:
    """Adds, skips or replaces users. `new_clients` have their service accounts already."""

    change: Change
    policy: IfExists
    preparation: UserPreparation
    online_sessions: OnlineSessionStore
    new_clients: Mapping[str, str]

    async def find_known(self, given: Sequence[ImportedUser]) -> list[User | None]:
        """Return the user that exists already, or None, for each user of the import."""
        return [await self._known(new) for new in given]

    async def store(
        self, given: Sequence[ImportedUser], known: Sequence[User | None]
    ) -> list[ImportOutcome]:
        """Store the users; raises AlreadyExists, Forbidden, InvalidInput, PasswordRefused."""
        if self.policy is IfExists.FAIL:
            for new, before in zip(given, known, strict=True):
                if before is not None:
                    raise _user_exists(new)
        return [await self._store(new, before) for new, before in zip(given, known, strict=True)]

    async def _known(self, new: ImportedUser) -> User | None:
        """Return the user with one of the names or the address, but no new service account."""
        users, realm = self.change.stores.users, self.change.realm
        if new.service_account_of in self.new_clients:
            return None
        found = None
        for name in new.names:
            found = found or await users.find_by_username(realm.id, name)
        if found is None and new.user.email and not realm.login.duplicate_emails_allowed:
            found = await users.find_by_email(realm.id, new.user.email)
        return found

    async def _store(self, new: ImportedUser, before: User | None) -> ImportOutcome:
        action = self.policy.action(exists=before is not None)
        if before is not None and action is Action.SKIPPED:
            return ImportOutcome(action, ImportedKind.USER, new.user.username, before.id)
        prepared = await self.preparation.prepared(new)
        await require_may_grant(self.change.acting, self.change.stores, prepared.role_ids)
        await require_may_join(self.change.acting, self.change.stores, prepared.group_ids)
        if new.service_account_of is not None:
            account = await self._replace_account(new, prepared, before)
            return ImportOutcome(action, ImportedKind.USER, new.user.username, account.id)
        if before is not None:
            await self._remove(new, before)
        names = await require_free_names(self.change.stores, self.change.realm, prepared.user)
        await store_new_user(self.change.stores, prepared, names)
        return ImportOutcome(action, ImportedKind.USER, new.user.username, new.user.id)

    async def _remove(self, new: ImportedUser, before: User) -> None:
        current = named_by_address(self.change.realm.login, before)
        named = {before.username, current.username} & {*new.names}
        if not named or before.service_account_client is not None:
            # Another user has the address, or it is a service account: the import names neither.
            raise _user_exists(new)
        stores, realm_id = self.change.stores, self.change.realm.id
        await self._require_may_control(before)
        await stores.users.remove_user(realm_id, before.id)
        await self.online_sessions.end_of_user(realm_id, before.id)

    async def _require_may_control(self, user: User) -> None:
        controlled = ControlledObject(ObjectKind.USER, user.id)
        await require_may_control(self.change.acting, self.change.stores, controlled, lock=True)

    async def _replace_account(
        self, new: ImportedUser, prepared: NewUser, before: User | None
    ) -> User:
        """Re-create a service account as the import has it; it keeps its name and its client."""
        stores, realm_id = self.change.stores, self.change.realm.id
        client = self.new_clients.get(new.service_account_of or "")
        account = before
        if client is not None:
            account = await stores.users.find_service_account(realm_id, client)
        if account is None or account.service_account_client is None:
            at, allowed = f"{new.path}.serviceAccountClientId", "a client with a service account"
            raise refused(at, new.service_account_of, allowed)
        await self._require_may_control(account)
        await stores.users.remove_user(realm_id, account.id)
        await self.online_sessions.end_of_user(realm_id, account.id)
        owner = account.service_account_client
        user = replace(prepared.user, username=account.username, service_account_client=owner)
        names = await require_free_names(stores, self.change.realm, user)
        await store_new_user(stores, replace(prepared, user=user, credentials=()), names)
        return user


def _user_exists(new: ImportedUser) -> AlreadyExists:
    return AlreadyExists(f"User with user name {new.user.username} already exists.")


async def import_groups(
    change: Change, policy: IfExists, indexes: RealmIndexes, given: Sequence[GroupInput]
) -> list[ImportOutcome]:
    """Add, skip or replace the groups; raises AlreadyExists, Forbidden and InvalidInput."""
    stores, realm, groups = change.stores, change.realm, indexes.groups
    known = dict.fromkeys(
        group.name for group in given if groups.find_group(_top_level_path(group.name))
    )
    if known and policy is IfExists.FAIL:
        raise AlreadyExists(f"Group '/{next(iter(known))}' already exists")
    overwrite = policy is IfExists.OVERWRITE
    wanted = tuple(group for group in given if overwrite or group.name not in known)
    for name in known if overwrite else ():
        await _remove_group(change, indexes, _top_level_path(name))
    roles = indexes.roles.ids(roles_of_groups(wanted), "groups", ("realmRoles", "clientRoles"))
    await require_may_grant(change.acting, stores, roles)
    await groups.store_groups(stores, realm, GivenGroups(groups=wanted), indexes.roles)
    ids = {group.name: groups.ids([_top_level_path(group.name)], "groups")[0] for group in given}
    return [
        ImportOutcome(policy.action(exists=name in known), ImportedKind.GROUP, name, ids[name])
        for name in (group.name for group in given)
    ]


def _top_level_path(name: str) -> str:
    """Return the path of a group at the top."""
    return render_group_path((name,))


async def _remove_group(change: Change, indexes: RealmIndexes, path: str) -> None:
    group = indexes.groups.find_group(path)
    if group is not None:
        await require_may_control_subtree(change.acting, change.stores, group.id)
        await change.stores.group_catalogue.remove_group(change.realm.id, group.id)
        indexes.groups.discard(path)


@dataclass(frozen=True, slots=True)
class _KeptAccount:
    """A service account before its client was replaced, with its own roles and groups."""

    roles: tuple[RoleName, ...]
    groups: tuple[str, ...]


class PartialClients:
    """Adds, skips or replaces clients. `new` has the ids of the added and replaced ones."""

    def __init__(
        self,
        change: Change,
        administration: ClientAdministration,
        policy: IfExists,
        roles: Iterable[RoleInput],
    ) -> None:
        """Take the roles that are imported with the clients: client policies judge by them."""
        self._change = change
        self._caller = PolicyCaller(change.acting, brought_roles=roles_of_clients(roles))
        self._administration = administration
        self._policy = policy
        self.new: dict[str, str] = {}
        self._accounts: dict[str, _KeptAccount] = {}

    async def store(self, items: Sequence[tuple[str, Mapping[str, Any]]]) -> list[ImportOutcome]:
        """Store the clients; raises AlreadyExists, Forbidden, InvalidRequest and InvalidInput."""
        realm = self._change.realm
        wanted = await asyncio.to_thread(_without_built_in, items, realm)
        stores, realm_id = self._change.stores, self._change.realm.id
        found = await stores.clients.named(realm_id, [name for name, _ in wanted])
        known = {client.client_id: client for client in found}
        if known and self._policy is IfExists.FAIL:
            first = next(name for name, _ in wanted if name in known)
            raise AlreadyExists(f"Client id '{first}' already exists")
        scopes = await stores.client_scopes.list_values(realm_id)
        await self._keep_accounts(found)
        outcomes = [
            await self._store(known.get(name), item, scopes)
            async for name, item in in_slices(wanted)
        ]
        held: list[object] = [*found]
        del found, known
        await free_in_slices(held)
        return outcomes

    async def _keep_accounts(self, clients: Sequence[Client]) -> None:
        """Note the roles and groups of service accounts whose clients are replaced."""
        if self._policy is not IfExists.OVERWRITE or not clients:
            return
        stores, realm = self._change.stores, self._change.realm
        index = await load_roles(stores, realm)
        for client in clients:
            if not client.service_accounts_enabled:
                continue
            account = await stores.users.find_service_account(realm.id, client.id)
            if account is None:
                continue
            roles = index.names_of(await stores.roles.granted(realm.id, account.id))
            groups = await stores.groups.of_user(realm.id, account.id)
            kept = _KeptAccount(roles, tuple(group.id for group in groups))
            self._accounts[client.client_id] = kept

    async def restore_accounts(self, index: RoleIndex, given: Sequence[ImportedUser]) -> None:
        """Give service accounts what they had, unless the import has the account itself."""
        stores, realm_id = self._change.stores, self._change.realm.id
        brought = {user.service_account_of for user in given}
        for name in sorted(self._accounts.keys() - brought):
            kept = self._accounts[name]
            account = await stores.users.find_service_account(realm_id, self.new.get(name, ""))
            if account is None:
                continue
            role_ids = [role.id for each in kept.roles if (role := index.role(each)) is not None]
            await require_may_grant(self._change.acting, stores, role_ids)
            await require_may_join(self._change.acting, stores, kept.groups)
            await stores.roles.grant(realm_id, account.id, role_ids)
            for group_id in kept.groups:
                await stores.groups.join(realm_id, account.id, group_id)

    async def grant_protections(
        self, index: RoleIndex, protections: Sequence[RoleName], given: Sequence[ImportedUser]
    ) -> None:
        """Give service accounts their role, unless the import has the account itself."""
        stores, realm_id = self._change.stores, self._change.realm.id
        brought = {user.service_account_of for user in given}
        for role in protections:
            client = self.new.get(role.client or "", "")
            account = await stores.users.find_service_account(realm_id, client)
            if account is not None and role.client not in brought:
                role_ids = index.ids([role], "clients")
                await require_may_grant(self._change.acting, stores, role_ids)
                await stores.roles.grant(realm_id, account.id, role_ids)

    async def _store(
        self, before: Client | None, item: Mapping[str, Any], scopes: Sequence[ClientScope]
    ) -> ImportOutcome:
        if before is None:
            return await self._add(item, scopes, Action.ADDED)
        if self._policy is IfExists.SKIP:
            return ImportOutcome(Action.SKIPPED, ImportedKind.CLIENT, before.client_id, before.id)
        controlled = ControlledObject(ObjectKind.CLIENT, before.id)
        stores, realm = self._change.stores, self._change.realm
        await require_may_control(self._change.acting, stores, controlled, lock=True)
        with refused_by_policies(place_of_client(before.client_id)):
            await enforce_policies(
                stores, realm, self._caller, EventKind.UNREGISTER, before, before=before
            )
        await self._administration.remove_client(self._change, before)
        whole = {**item, **_kept_members(before, item)}
        return await self._add(whole, scopes, Action.OVERWRITTEN, before)

    async def _add(
        self,
        item: Mapping[str, Any],
        scopes: Sequence[ClientScope],
        action: Action,
        replaced: Client | None = None,
    ) -> ImportOutcome:
        at = place_of_client(given_field(item, "clientId"))
        with refused_by_policies(at):
            client = await self._administration.add_client(
                self._change,
                new_client_document(item),
                scopes=scopes,
                report_ineffective=True,
                policies=self._caller,
                sent=item,
                replaced=replaced,
            )
        self.new[client.client_id] = client.id
        return ImportOutcome(action, ImportedKind.CLIENT, client.client_id, client.id)


def _without_built_in(
    items: Sequence[tuple[str, Mapping[str, Any]]], realm: Realm
) -> list[tuple[str, Mapping[str, Any]]]:
    built_in = {document["clientId"] for document in default_clients(realm)}
    return [
        (name, item)
        for name, item in _with_client_id(items)
        if name not in built_in and not is_administrative_client(realm, name)
    ]


def _with_client_id(
    items: Sequence[tuple[str, Mapping[str, Any]]],
) -> list[tuple[str, Mapping[str, Any]]]:
    named = [(at, given_field(item, "clientId"), item) for at, item in items]
    raise_all(
        FieldError(f"{at}.clientId", describe(name), "the client's public name")
        for at, name, _ in named
        if not isinstance(name, str)
    )
    raise_all(repeated_names((name for _, name, _ in named), "clients", "each client once"))
    return [(name, item) for _, name, item in named]


def _kept_members(before: Client, item: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"id": before.id}
    if before.secret is not None and given_field(item, "secret") in (None, "", MASK):
        kept["secret"] = before.secret.reveal()
    return kept


_PATHS: Final = {
    ImportedKind.CLIENT: "clients",
    ImportedKind.CLIENT_ROLE: "clients",
    ImportedKind.GROUP: "groups",
    ImportedKind.REALM_ROLE: "realms",
    ImportedKind.USER: "users",
}
_NAMES: Final = {ImportedKind.CLIENT: "clientId", ImportedKind.USER: "username"}


@dataclass(frozen=True, slots=True)
class _Given:
    policy: IfExists
    clients: list[tuple[str, dict[str, Any]]]
    roles: tuple[RoleInput, ...]
    groups: tuple[GroupInput, ...]
    users: tuple[ImportedUser, ...]
    protections: tuple[RoleName, ...]

    def named_roles(self, groups: GroupIndex, known: Sequence[User | None]) -> Iterator[RoleName]:
        """Yield the roles of groups and users that are stored; `known` are the users before."""
        skips = self.policy is IfExists.SKIP
        for group in self.groups:
            if not skips or groups.find_group(_top_level_path(group.name)) is None:
                yield from roles_of_groups([group])
        for user, before in zip(self.users, known, strict=True):
            if not skips or before is None:
                yield from user.roles


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialImport:
    """The use case."""

    database: Database
    changes: Changes
    clients: ClientAdministration
    passwords: PasswordHasher
    gate: NewPasswords
    online_sessions: OnlineSessionStore

    async def run(
        self, acting: Acting, document: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Report]:
        """Import all of it; return the outcome of each part, and the report of the document.

        Raises UnknownField, InvalidInput, InvalidRequest, AlreadyExists for what exists and may
        not, and Forbidden for what would exceed the caller's rights.
        """
        policy = parse_policy(document)
        async with self.database.read() as stores:
            document = await to_current_form(stores, document, acting.realm)
        # A whole realm takes seconds to check: the other requests go on meanwhile.
        given = await asyncio.to_thread(_parse_import, document, policy, acting.realm, self.gate)
        _require_rights(acting, given)
        await self.clients.sectors.require_of_imported_clients(
            acting.realm,
            [item for _, item in given.clients],
            skips_known=given.policy is IfExists.SKIP,
        )
        hashes = PrecomputedHashes(self.passwords)
        passwords = [new async for user in in_slices(given.users) for new in new_passwords([user])]
        await hashes.compute(acting.realm, passwords)
        # Before anything is stored: an import without an answer would look failed.
        report = await asyncio.to_thread(report_parts, document)
        async with self.changes.begin(acting, alone=True) as change:
            outcomes = await self._store(change, given, hashes)
            change.invalidate(realm_topic(change.realm.id))
            async for outcome in in_slices(outcomes):
                _record(change, outcome)
        parts = [*given.clients, *given.users]
        del given, passwords
        await free_in_slices(parts)
        results = await asyncio.to_thread(render_outcomes, outcomes)
        held: list[object] = [*outcomes]
        del outcomes
        await free_in_slices(held)
        return results, report

    async def _store(
        self, change: Change, given: _Given, hashes: PrecomputedHashes
    ) -> list[ImportOutcome]:
        policy = given.policy
        clients = PartialClients(change, self.clients, policy, given.roles)
        outcomes = [*await clients.store(given.clients)]
        roles = await load_roles(change.stores, change.realm)
        outcomes += await import_roles(change, policy, roles, given.roles)
        groups = await load_groups(change.stores, change.realm)
        indexes = RealmIndexes(roles, groups)
        preparation = UserPreparation(change.realm, indexes, hashes, self.gate)
        users = PartialUsers(change, policy, preparation, self.online_sessions, clients.new)
        known = await users.find_known(given.users)
        protections = [role for role in given.protections if role.client in clients.new]
        named = (*protections, *given.named_roles(groups, known))
        outcomes += await add_named_roles(change, roles, named, clients.new)
        await clients.restore_accounts(roles, given.users)
        await clients.grant_protections(roles, protections, given.users)
        outcomes += await import_groups(change, policy, indexes, given.groups)
        outcomes += await users.store(given.users, known)
        return outcomes


def _parse_import(
    document: Mapping[str, Any], policy: IfExists, realm: Realm, gate: NewPasswords
) -> _Given:
    return _Given(
        policy,
        embedded(document, "clients", ""),
        parse_roles(document.get("roles"), "roles"),
        parse_groups(document.get("groups"), "groups"),
        read_users(document, realm, "", gate.clock),
        protection_roles(document, ""),
    )


def _require_rights(acting: Acting, given: _Given) -> None:
    """Raise Forbidden for parts that the caller could not create one by one."""
    if given.users or given.groups:
        acting.rights.require_role(AdminRole.MANAGE_USERS)
    if given.clients or any(role.role.client is not None for role in given.roles):
        acting.rights.require_role(AdminRole.MANAGE_CLIENTS)


def _record(change: Change, outcome: ImportOutcome) -> None:
    if outcome.action is Action.SKIPPED:
        return
    operation = OperationType.CREATE
    if outcome.action is Action.OVERWRITTEN:
        operation = OperationType.UPDATE
    resource = {"id": outcome.id, _NAMES.get(outcome.kind, "name"): outcome.name}
    path = f"{_PATHS[outcome.kind]}/{outcome.id}"
    change.record(operation, ResourceType.REALM, path, resource)
