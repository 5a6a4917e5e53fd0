"""What a realm file makes of one realm: read as a whole, then stored in one transaction.

Everything is read before anything is written, so that all errors are reported together.
Keycloak: realm import, RealmRepresentation
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gateway.admin.authorities import read_authorities, store_authorities
from gateway.admin.client_scopes import (
    read_scopes,
    scopes_of_clients,
    store_defaults,
    store_scope_mappings,
    store_scopes,
)
from gateway.admin.clients import (
    ClientChange,
    add_service_account,
    lacks_service_account,
    read_clients,
)
from gateway.admin.flows import check_overrides, store_sign_in
from gateway.admin.forward_auth import read_sites, store_sites
from gateway.admin.groups import GivenGroups, RealmIndexes, load_groups, read_realm_groups
from gateway.admin.keys import ensure_keys, signing_algorithms
from gateway.admin.realm_files.component_import import store_keys, store_policies
from gateway.admin.realm_files.files import embedded
from gateway.admin.realm_files.migration import migrated
from gateway.admin.realm_files.user_inputs import (
    UserInput,
    UserPreparation,
    new_passwords,
    read_users,
    store_user_of_file,
    unknown_users,
)
from gateway.admin.realms import ensure_administration, ensure_realm_defaults
from gateway.admin.users import import_profile
from gateway.authentication.new_accounts.new_users import default_role_ids
from gateway.authentication.new_passwords import NewPasswords
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError
from gateway.domain.forward_auth import Site
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.invalidation import Topics, client_topic, realm_topic
from gateway.domain.ports.passwords import PasswordMaker
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.authorities import AuthorityInput
from gateway.representations.client_scopes import ScopesInput
from gateway.representations.component_files import ComponentsInput, parse_components
from gateway.representations.realms import (
    SignInInput,
    create_realm,
    ineffective_realm_settings,
    merge_realm,
    parse_sign_in,
)
from gateway.representations.refusals import (
    attempt,
    collect_refusals,
    join,
    raise_all,
)
from gateway.representations.refused_settings import (
    IneffectiveSetting,
    ineffective_of_scope,
)
from gateway.representations.roles import RoleInput, parse_roles
from gateway.representations.user_profiles import StoredProfile, parse_profile_component
from gateway.representations.users import NewPassword


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
    ineffective: tuple[IneffectiveSetting, ...] = ()
    """Settings that were stored and do not protect as the file says."""
    refused_clients: tuple[FieldError, ...] = ()
    """Clients that were stored and that a client policy of the realm refuses."""
    announced: bool = True
    """False when no message reached the gateways: they read the change log within seconds."""
    topics: tuple[str, ...] = ()
    """Topics to publish: the realm has changed, or only some of its clients."""


@dataclass(frozen=True, slots=True)
class RealmPlan:
    """A realm as it will be, with its resources from the file; every field is valid."""

    realm: Realm
    before: Realm | None
    clients: tuple[ClientChange, ...]
    roles: tuple[RoleInput, ...]
    groups: GivenGroups
    scopes: ScopesInput
    users: tuple[UserInput, ...]
    profile: StoredProfile | None
    sign_in: SignInInput
    components: ComponentsInput
    sites: tuple[Site, ...]
    authorities: tuple[AuthorityInput, ...]

    def ineffective(self) -> tuple[IneffectiveSetting, ...]:
        """Return the settings of the file that do not protect as it says."""
        found = ineffective_realm_settings(self.realm)
        for scope in self.scopes.scopes:
            found += ineffective_of_scope(scope, path=f"clientScopes[{scope.name}]")
        return tuple(found)

    async def new_users(self, stores: Stores) -> list[UserInput]:
        """Return the users to add; service accounts are added with their clients."""
        listed = in_slices(self.users)
        users = [user async for user in listed if user.service_account_of is None]
        return users if self.before is None else await unknown_users(stores, self.realm.id, users)

    async def new_passwords(self, stores: Stores) -> list[NewPassword]:
        users = await self.new_users(stores)
        return [new async for user in in_slices(users) for new in new_passwords([user])]


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmPlanner:
    """Reads plans and applies them."""

    keys: KeyFactory
    passwords: PasswordMaker
    gate: NewPasswords
    clock: Clock
    authorities: AuthorityParser

    async def read(
        self,
        stores: Stores,
        document: Mapping[str, Any],
        before: Realm | None,
        path: str,
        *,
        report_ineffective: bool = False,
    ) -> RealmPlan:
        """Return the plan; raises InvalidInput with every wrong field of the realm.

        Settings that do not protect as the document says are wrong unless the caller reports them.
        """
        errors: list[FieldError] = []
        if before is None:
            document = await asyncio.to_thread(migrated, document)
        # A whole realm takes seconds to check: other requests go on meanwhile.
        plan = await asyncio.to_thread(_read_parts, document, before, path, self.clock, errors)
        realm_id, clients, scopes = plan.realm.id, plan.clients, plan.scopes
        with collect_refusals(errors):
            scopes = await read_scopes(stores, realm_id, document, path)
        known = await scopes_of_clients(stores, realm_id, scopes)
        with collect_refusals(errors):
            items = await asyncio.to_thread(embedded, document, "clients", path)
            at = join(path, "clients")
            clients = await read_clients(stores, realm_id, items, at, self.clock, scopes=known)
        raise_all(errors)
        plan = replace(plan, clients=clients, scopes=scopes)
        if not report_ineffective:
            raise_all(await asyncio.to_thread(plan.ineffective))
        return plan

    async def apply(self, stores: Stores, plan: RealmPlan) -> ImportedRealm:
        """Store the plan; raises AlreadyExists, and InvalidInput for unknown names."""
        realm = plan.realm
        if plan.before is None:
            await stores.realms.add(realm)
        elif realm != plan.before:
            await stores.realms.replace(realm)
        clients = [change.client async for change in in_slices(plan.clients)]
        algorithms = await asyncio.to_thread(signing_algorithms, realm, clients)
        new = plan.before is None
        new_keys = await store_keys(stores, realm, plan.components, self.keys, self.clock, new=new)
        new_keys |= await ensure_keys(stores, realm, algorithms, self.keys, self.clock)
        new_sites = await store_sites(stores, realm, plan.sites)
        new_sign_in = await store_sign_in(stores, realm, plan.before, plan.sign_in)
        await check_overrides(stores, realm, clients)
        new_scopes = await store_scopes(stores, realm, plan.scopes)
        for change in plan.clients:
            await change.store(stores)
        new_authorities = await store_authorities(stores, realm, plan.authorities, self.authorities)
        roles = await ensure_realm_defaults(stores, realm, plan.roles)
        new_scopes |= await store_defaults(stores, realm, plan.scopes)
        new_scopes |= await store_scope_mappings(stores, realm, plan.scopes, roles)
        await store_policies(stores, realm, plan.components, new=new)
        master = await ensure_administration(stores, realm)
        new_profile = await import_profile(stores, realm, plan.profile)
        groups = await load_groups(stores, realm)
        await groups.take(stores, realm, plan.groups, roles)
        indexes = RealmIndexes(roles, groups)
        accounts = await self._service_accounts(stores, plan, indexes)
        users = await self._users(stores, plan, indexes)
        beyond_clients = (
            realm != plan.before
            or any(
                (
                    *(new_keys, new_sites, new_authorities, new_sign_in, new_scopes),
                    *(roles.changed, groups.changed),
                )
            )
            or users > 0
        )
        topics: tuple[str, ...] = (realm_topic(realm.id),)
        if not beyond_clients and not new_profile:
            topics = await asyncio.to_thread(_topics_of_clients, plan, accounts)
        return ImportedRealm(
            id=realm.id,
            name=realm.name,
            created=plan.before is None,
            clients=sum(change.before is None for change in plan.clients),
            users=users,
            topics=topics if master is None else (*topics, realm_topic(master.id)),
        )

    async def _service_accounts(
        self, stores: Stores, plan: RealmPlan, indexes: RealmIndexes
    ) -> frozenset[str]:
        """Add missing service accounts, as the file has them; return the names of their clients."""
        role_ids = await default_role_ids(stores, plan.realm)
        given = {user.service_account_of: user async for user in in_slices(plan.users)}
        errors: list[FieldError] = []
        added: list[str] = []
        async for change in in_slices(plan.clients):
            client = change.client
            if not await lacks_service_account(stores, client, new=change.before is None):
                continue
            added.append(client.client_id)
            account = given.get(client.client_id)
            if account is None:
                await add_service_account(
                    stores,
                    plan.realm,
                    client,
                    self.clock,
                    role_ids=role_ids,
                    group_ids=indexes.groups.default,
                )
                continue
            with collect_refusals(errors):
                prepared = await self._preparation(plan, indexes).service_account(account, client)
                await store_user_of_file(stores, plan.realm, prepared)
        raise_all(errors)
        return frozenset(added)

    def _preparation(self, plan: RealmPlan, indexes: RealmIndexes) -> UserPreparation:
        return UserPreparation(plan.realm, indexes, self.passwords, self.gate)

    async def _users(self, stores: Stores, plan: RealmPlan, indexes: RealmIndexes) -> int:
        """Add new users and return their number.

        Known users keep password and roles: a file imported again must not set them back.
        """
        preparation = self._preparation(plan, indexes)
        errors: list[FieldError] = []
        added = 0
        for new in plan.users:
            if new.service_account_of is not None:
                continue
            with collect_refusals(errors):
                if await stores.users.find_by_username(plan.realm.id, new.user.username) is None:
                    await store_user_of_file(stores, plan.realm, await preparation.prepared(new))
                    added += 1
        raise_all(errors)
        return added


def _topics_of_clients(plan: RealmPlan, accounts: frozenset[str]) -> tuple[str, ...]:
    clients = (change.client for change in plan.clients if change.client != change.before)
    new_accounts = (change.client for change in plan.clients if change.client.client_id in accounts)
    changed = (*clients, *new_accounts)
    return tuple(Topics(client_topic(plan.realm.id, client.id) for client in changed))


def _read_parts(
    document: Mapping[str, Any],
    before: Realm | None,
    path: str,
    clock: Clock,
    errors: list[FieldError],
) -> RealmPlan:
    """Return all that can be read without the stores; what is wrong goes to `errors`."""
    unknown = before or Realm(id="", name="")
    realm = attempt(errors, unknown, _read_settings, document, before, path)
    return RealmPlan(
        realm,
        before,
        clients=(),
        roles=attempt(errors, (), parse_roles, document.get("roles"), join(path, "roles")),
        groups=attempt(errors, GivenGroups(), read_realm_groups, document, path),
        scopes=ScopesInput(),
        users=attempt(errors, (), read_users, document, realm, path, clock),
        profile=attempt(errors, None, parse_profile_component, document, path),
        sign_in=attempt(errors, SignInInput(), parse_sign_in, document, path),
        components=attempt(errors, ComponentsInput(), parse_components, document, path),
        sites=attempt(errors, (), read_sites, document, realm.name, path),
        authorities=attempt(errors, (), read_authorities, document, path),
    )


def _read_settings(document: Mapping[str, Any], before: Realm | None, path: str) -> Realm:
    if before is None:
        return create_realm(document, path=path, report_ineffective=True)
    return merge_realm(document, before, path=path)
