"""A realm file as changes of one realm: read as a whole, then stored in one transaction.

Everything is read before anything is written, so that all errors are reported together.

Keys and client registration policies of a file replace those that a new realm is created with; a
realm that exists keeps its keys, gets the missing ones, and the policies as the file has them.
Keycloak: realm import, RealmRepresentation, components
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.admin.access import RoleIndex, default_role
from gateway.admin.client_scope_defaults import (
    read_scopes,
    scopes_of_clients,
    store_defaults,
    store_scope_mappings,
    store_scopes,
)
from gateway.admin.clients import (
    ClientReplacement,
    add_service_account,
    lacks_service_account,
    read_clients,
)
from gateway.admin.flows import check_overrides, store_sign_in
from gateway.admin.groups import GivenGroups, RealmIndexes, load_groups, read_realm_groups
from gateway.admin.keys import ENCRYPTION_OF_NEW_REALMS, KeyMaker, ensure_keys, signing_algorithms
from gateway.admin.realm_files.current_form import to_current_form
from gateway.admin.realm_files.files import embedded
from gateway.admin.realm_files.known_users import list_user_differences
from gateway.admin.realm_files.named_roles import (
    missing_roles,
    parse_default_roles,
    protection_roles,
    roles_of_groups,
)
from gateway.admin.realm_files.report import (
    GatewayNames,
    Report,
    report_document,
    report_settings,
    report_unknown_scopes,
)
from gateway.admin.realm_files.resources import FileValueParser, FileValues
from gateway.admin.realm_files.user_import import (
    ImportedUser,
    UserPreparation,
    new_passwords,
    read_users,
    store_user_of_file,
    unknown_users,
)
from gateway.admin.realms import ensure_administration, ensure_realm_defaults
from gateway.admin.registration import checked_policy, put_policy, realm_policies, remove_policy
from gateway.admin.resource_kinds import resource_kinds
from gateway.admin.users import import_profile
from gateway.authentication.new_users import default_role_ids
from gateway.authentication.passwords import NewPasswords
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError, InvalidInput, UnusableSetting
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.credentials import PasswordMaker
from gateway.domain.ports.invalidation import Topics, client_topic, realm_topic
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest
from gateway.representations.components import Component
from gateway.representations.keys import KEY_PROVIDER_TYPE, key_component
from gateway.representations.realm_files import ComponentsInput, ScopesInput, parse_components
from gateway.representations.realms import (
    SignInInput,
    create_realm,
    ineffective_realm_settings,
    merge_realm,
    parse_sign_in,
)
from gateway.representations.refusals import attempt, collect_refusals, join, raise_all
from gateway.representations.refused_settings import IneffectiveSetting, ineffective_of_scope
from gateway.representations.registration_policies import POLICY_TYPE, policy_document
from gateway.representations.roles import RoleInput, RoleName, parse_roles
from gateway.representations.stored_user_profile import StoredProfile, parse_profile_component
from gateway.representations.users import NewPassword


async def store_keys(
    stores: Stores,
    realm: Realm,
    given: ComponentsInput,
    factory: KeyFactory,
    clock: Clock,
    *,
    new: bool,
) -> bool:
    """Add the keys of the file; return whether any was added. Raises InvalidInput."""
    if new and not given.keys:
        return await ensure_keys(stores, realm, ENCRYPTION_OF_NEW_REALMS, factory, clock)
    maker, changed = KeyMaker(factory, clock), False
    for component in given.keys:
        keys = await stores.keys.list_keys(realm.id)
        known = [key_component(key) for key in keys]
        if any(_is_same(component, other) for other in known):
            continue
        try:
            provider, settings = maker.settings(component)
            key = await maker.new_key(realm, component, provider, settings)
            await stores.keys.add(maker.with_unique_kid(key, keys, settings.kid))
        except (InvalidRequest, UnusableSetting) as error:
            raise _refused(KEY_PROVIDER_TYPE, component, str(error)) from error
        changed = True
    return changed


async def store_policies(
    stores: Stores, realm: Realm, given: ComponentsInput, *, new: bool
) -> None:
    """Store the policies of the file; raises InvalidInput."""
    if not given.policies:
        return
    known = await realm_policies(stores, realm.id)
    if new:
        for policy in known:
            await remove_policy(stores, realm.id, str(policy.id))
        known = ()
    for component in given.policies:
        same = next((other for other in known if _is_same(component, other)), None)
        policy_id = same.id if same else component.id or str(uuid4())
        try:
            policy = await checked_policy(stores, realm.id, replace(component, id=policy_id))
        except UnusableSetting as error:
            raise _refused(POLICY_TYPE, component, str(error)) from error
        if same is None or policy_document(policy) != policy_document(same):
            await put_policy(stores, realm.id, policy)


def _is_same(given: Component, known: Component) -> bool:
    if given.id is not None and given.id == known.id:
        return True
    names = (known.name, known.provider_id, known.sub_type)
    return (given.name, given.provider_id, given.sub_type) == names


def _refused(kind: str, component: Component, reason: str) -> InvalidInput:
    path = f"components.{kind}[{component.name or component.provider_id}]"
    sentence = f"this component cannot be used: {reason}"
    return InvalidInput((FieldError(path, "a component", "a usable one", sentence=sentence),))


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
    differing_users: tuple[str, ...] = ()
    """Users who existed and differed from the file."""
    report: Report = ()
    """What is lost, has no effect, or needs the operator."""


@dataclass(frozen=True, slots=True)
class RealmPlan:
    """A realm as it will be, with its resources from the file; every field is valid."""

    realm: Realm
    before: Realm | None
    clients: tuple[ClientReplacement, ...]
    roles: tuple[RoleInput, ...]
    groups: GivenGroups
    scopes: ScopesInput
    users: tuple[ImportedUser, ...]
    profile: StoredProfile | None
    sign_in: SignInInput
    components: ComponentsInput
    resources: tuple[FileValues[Any], ...]
    default_roles: tuple[RoleName, ...] = ()
    """What old files give to new users beside the roles of a new realm."""
    protections: tuple[RoleName, ...] = ()
    """Roles of service accounts of clients with authorization services."""
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The document of the file in its current form."""
    known_scopes: frozenset[str] = frozenset()
    """The names of the client scopes of the realm after the import."""

    def named_roles(self) -> Iterator[RoleName]:
        """Yield the roles that an import creates where they do not exist."""
        yield from (*self.default_roles, *self.protections)
        for user in self.users:
            yield from user.roles
        yield from roles_of_groups(self.groups.groups)
        for mapping in self.scopes.mappings:
            yield from mapping.roles

    def ineffective(self) -> tuple[IneffectiveSetting, ...]:
        """Return the settings of the file that do not protect as it says."""
        found = ineffective_realm_settings(self.realm)
        for scope in self.scopes.scopes:
            found += ineffective_of_scope(scope, path=f"clientScopes[{scope.name}]")
        return tuple(found)

    def report(self, gateway: GatewayNames) -> Report:
        """Return the findings of the file alone: lost, without effect, for the operator."""
        return (
            *report_document(
                self.document,
                new_clients=[each.client.client_id for each in self.clients if each.before is None],
                is_new=self.before is None,
                gateway=gateway,
            ),
            *report_unknown_scopes(self.document, self.known_scopes),
            *report_settings(self.ineffective()),
        )

    async def store_resources(self, stores: Stores, *, of_clients: bool) -> bool:
        """Store the small resources that may belong to clients, or all others.

        Return whether anything has changed; raises InvalidInput and AlreadyExists.
        """
        chosen = [each for each in self.resources if bool(each.kind.owner_column) is of_clients]
        return any([await each.store(stores, self.realm) for each in chosen])

    async def new_users(self, stores: Stores) -> list[ImportedUser]:
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
        document = await to_current_form(stores, document, before)
        # A whole realm takes seconds to check: other requests go on meanwhile.
        plan = await asyncio.to_thread(_read_parts, document, before, path, self.clock, errors)
        reader = FileValueParser(resource_kinds(self.authorities), plan.realm.name, self.clock)
        resources = await asyncio.to_thread(attempt, errors, (), reader.parse, document, path)
        realm_id, clients, scopes = plan.realm.id, plan.clients, plan.scopes
        with collect_refusals(errors):
            scopes = await read_scopes(stores, realm_id, document, path)
        known = await scopes_of_clients(stores, realm_id, scopes)
        known_scopes = frozenset(scope.name for scope in known)
        with collect_refusals(errors):
            items = await asyncio.to_thread(embedded, document, "clients", path)
            at = join(path, "clients")
            clients = await read_clients(stores, realm_id, items, at, self.clock, scopes=known)
        raise_all(errors)
        plan = replace(
            plan,
            clients=clients,
            scopes=scopes,
            resources=resources,
            document=document,
            known_scopes=known_scopes,
        )
        if not report_ineffective:
            raise_all(await asyncio.to_thread(plan.ineffective))
        return plan

    async def apply(
        self,
        stores: Stores,
        plan: RealmPlan,
        *,
        with_users: bool = True,
        updates_users: bool = False,
    ) -> ImportedRealm:
        """Store the plan; raises AlreadyExists, and InvalidInput for unknown names.

        Users who exist stay as they are, unless the import updates them.
        """
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
        new_resources = await plan.store_resources(stores, of_clients=False)
        new_sign_in = await store_sign_in(stores, realm, plan.before, plan.sign_in)
        await check_overrides(stores, realm, clients)
        new_scopes = await store_scopes(stores, realm, plan.scopes)
        for change in plan.clients:
            await change.store_client(stores)
        new_resources |= await plan.store_resources(stores, of_clients=True)
        roles = await ensure_realm_defaults(stores, realm, plan.roles)
        await self._add_named_roles(plan, roles)
        new_scopes |= await store_defaults(stores, realm, plan.scopes)
        new_scopes |= await store_scope_mappings(stores, realm, plan.scopes, roles)
        await store_policies(stores, realm, plan.components, new=new)
        master = await ensure_administration(stores, realm)
        new_profile = await import_profile(stores, realm, plan.profile)
        groups = await load_groups(stores, realm)
        await groups.store_groups(stores, realm, plan.groups, roles)
        indexes = RealmIndexes(roles, groups)
        differing = []
        if plan.before is not None:
            preparation = self._preparation(plan, indexes)
            differing = await list_user_differences(
                stores, preparation, plan.users, updates=updates_users
            )
        if not with_users:
            plan = replace(plan, users=())
        elif updates_users:
            for difference in differing:
                await difference.store(stores, realm)
        accounts = await self._service_accounts(stores, plan, indexes)
        users = await self._users(stores, plan, indexes)
        beyond_clients = (
            realm != plan.before
            or any(
                (
                    *(new_keys, new_resources, new_sign_in, new_scopes),
                    *(roles.changed, groups.changed),
                )
            )
            or users > 0
            or (updates_users and bool(differing))
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
            differing_users=tuple(each.before.username for each in differing),
        )

    async def _add_named_roles(self, plan: RealmPlan, roles: RoleIndex) -> None:
        """Create roles that are named alone, and give new users the default ones of old files."""
        named = await asyncio.to_thread(lambda: missing_roles(roles, plan.named_roles()))
        given = [role for role in plan.default_roles if roles.has_client(role.client)]
        default = RoleInput(default_role(plan.realm), None, tuple(given), "defaultRoles")
        await roles.add_roles((*named, *([default] if given else ())))

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
                own = [role for role in plan.protections if role.client == client.client_id]
                await add_service_account(
                    stores,
                    plan.realm,
                    client,
                    self.clock,
                    role_ids=(*role_ids, *indexes.roles.ids(own, "clients")),
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
        people = [user for user in plan.users if user.service_account_of is None]
        for new in await unknown_users(stores, plan.realm.id, people):
            with collect_refusals(errors):
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
        resources=(),
        default_roles=attempt(errors, (), parse_default_roles, document, path),
        protections=attempt(errors, (), protection_roles, document, path),
    )


def _read_settings(document: Mapping[str, Any], before: Realm | None, path: str) -> Realm:
    if before is None:
        return create_realm(document, path=path, report_ineffective=True)
    return merge_realm(document, before, path=path)
