"""A realm as a file that `RealmImport` reads back, and a partial export without its users.

Secrets are masked unless `include_secrets`; on import a masked one is kept, or generated again.
Keys are exported without their material. Users are read in batches, so a realm of a million takes
no more memory than one of a hundred. Keycloak: realm export; 7.1 (partial-export)
"""

from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Final, Self

import orjson

from gateway.admin.access import Acting, AdminRole, default_role
from gateway.admin.realm_files.resources import render_file_values
from gateway.admin.realms import realm_document
from gateway.admin.registration import realm_policies
from gateway.admin.users import profile_components
from gateway.authentication.one_time_passwords import OTP
from gateway.domain.client_scopes import RealmDefault
from gateway.domain.clients import Client
from gateway.domain.errors import RealmNotFound
from gateway.domain.flows import actions_in, configs_in, flows_in
from gateway.domain.groups import Group
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.storage import Database, DocumentKind, Stores
from gateway.domain.ports.users import HolderKind, WholeUser
from gateway.domain.realm import Realm
from gateway.domain.roles import Role
from gateway.representations.client_scopes import render_client_scope
from gateway.representations.clients import render_client, with_reach_stated
from gateway.representations.groups import render_groups
from gateway.representations.keys import key_component
from gateway.representations.realm_files import render_components
from gateway.representations.realms import default_role as render_default_role
from gateway.representations.realms import render_realm, render_sign_in
from gateway.representations.roles import render_role
from gateway.representations.server_info import COMPATIBLE_WITH
from gateway.representations.users import full_user, render_credential

_BATCH: Final = 500
_OF_SIGN_IN: Final = (
    DocumentKind.AUTHENTICATION_FLOW,
    DocumentKind.AUTHENTICATOR_CONFIG,
    DocumentKind.REQUIRED_ACTION,
)


class RealmDocument:
    """Renders the parts; secrets are masked where `masked`."""

    def __init__(self, stores: Stores, realm: Realm, *, masked: bool) -> None:
        self._stores = stores
        self._realm = realm
        self._masked = masked
        self._clients: Mapping[str, Client] = {}
        self._roles: Mapping[str, Role] = {}
        self._groups: Mapping[str, Group] = {}

    async def loaded(self) -> Self:
        """Read what all parts name, users excepted."""
        realm_id = self._realm.id
        self._clients = {
            client.id: client for client in await self._stores.clients.list_clients(realm_id)
        }
        self._roles = {role.id: role for role in await self._stores.roles.list_roles(realm_id)}
        self._groups = {
            group.id: group for group in await self._stores.groups.list_groups(realm_id)
        }
        return self

    async def all_but_users(self) -> dict[str, Any]:
        """Return every part that does not grow with the number of users."""
        return {
            **self.settings(),
            **self.default_role(),
            "roles": await self.roles(),
            "groups": await self.groups(),
            "defaultGroups": self.default_groups(),
            **await self.scopes(),
            **await self.scope_mappings(),
            "clients": await self.clients(),
            **await self.components(),
            **await self.sign_in(),
            **await render_file_values(self._stores, self._realm.id, self._clients),
        }

    def settings(self) -> dict[str, Any]:
        return render_realm(self._realm, masked=self._masked)

    def default_role(self) -> dict[str, Any]:
        """Return the role of new users as the setting that names it."""
        name = default_role(self._realm).name
        for role in self._roles.values():
            if role.client is None and role.name == name:
                return {"defaultRole": render_default_role(role, composite=bool(role.composites))}
        return {}

    async def roles(self, *, clients: bool = True) -> dict[str, Any]:
        """Return the roles of the realm, and where `clients`, those of each client."""
        of_clients: dict[str, list[dict[str, Any]]] = {
            client.client_id: [] for client in self._clients.values()
        }
        realm: list[dict[str, Any]] = []
        async for role in in_slices(self._roles.values()):
            parts = {part: names for part, names in self._names(role.composites).items() if names}
            written = render_role(role, parts)
            (realm if role.client is None else of_clients[self._public(role.client)]).append(
                written
            )
        return {"realm": realm, "client": of_clients} if clients else {"realm": realm}

    async def groups(self) -> list[dict[str, Any]]:
        granted = await self._stores.groups.granted(self._realm.id)
        roles = {group: self._names(granted.get(group, ())) for group in self._groups}
        return render_groups(list(self._groups.values()), roles)

    def default_groups(self) -> list[str]:
        return [group.path for group in self._groups.values() if group.is_default]

    async def clients(self) -> list[dict[str, Any]]:
        return [
            with_reach_stated(render_client(client, masked=self._masked), client.reach)
            async for client in in_slices(self._clients.values())
        ]

    async def scopes(self) -> dict[str, Any]:
        """Return the client scopes, and the realm's lists for new clients."""
        scopes = await self._stores.client_scopes.list_values(self._realm.id)
        listed = {
            kind: [scope.name for scope in scopes if scope.realm_default is kind]
            for kind in RealmDefault
        }
        return {
            "clientScopes": [render_client_scope(scope) async for scope in in_slices(scopes)],
            "defaultDefaultClientScopes": listed[RealmDefault.DEFAULT],
            "defaultOptionalClientScopes": listed[RealmDefault.OPTIONAL],
        }

    async def scope_mappings(self, *, clients: bool = True) -> dict[str, Any]:
        """Return the roles in the scope of client scopes, and of clients where `clients`."""
        of_realm: list[dict[str, Any]] = []
        of_clients: dict[str, list[dict[str, Any]]] = {}
        for holder, role_ids in await self._holders(clients=clients):
            names = self._names(role_ids)
            if names["realm"]:
                of_realm.append({**holder, "roles": names["realm"]})
            for client, roles in names["client"].items():
                of_clients.setdefault(client, []).append({**holder, "roles": roles})
        found = {"scopeMappings": of_realm, "clientScopeMappings": dict(sorted(of_clients.items()))}
        return {name: mappings for name, mappings in found.items() if mappings}

    async def _holders(self, *, clients: bool) -> list[tuple[dict[str, str], frozenset[str]]]:
        realm_id, mappings = self._realm.id, self._stores.role_scopes
        of_clients = (
            await mappings.list_roles_in_scope(realm_id, HolderKind.CLIENT) if clients else {}
        )
        of_scopes = await mappings.list_roles_in_scope(realm_id, HolderKind.CLIENT_SCOPE)
        return [
            ({"client": client.client_id}, of_clients[client.id])
            for client in self._clients.values()
            if client.id in of_clients
        ] + [
            ({"clientScope": scope.name}, of_scopes[scope.id])
            for scope in await self._stores.client_scopes.list_values(realm_id)
            if scope.id in of_scopes
        ]

    async def components(self) -> dict[str, Any]:
        """Return registration policies, the user profile where the realm has its own, and keys."""
        stores, realm = self._stores, self._realm
        keys = sorted(
            map(key_component, await stores.keys.list_keys(realm.id)),
            key=lambda component: component.id or "",
        )
        policies = await realm_policies(stores, realm.id)
        profile = await profile_components(stores, realm)
        return {"components": render_components((*policies, *profile, *keys))}

    async def sign_in(self, *, whole: bool = False) -> dict[str, Any]:
        """Return flows, actions and texts: those of the realm alone, or all where `whole`."""
        realm_id, documents = self._realm.id, self._stores.documents
        stored = {kind: await documents.list_documents(realm_id, kind) for kind in _OF_SIGN_IN}
        flows, configs, actions = (stored[kind] for kind in _OF_SIGN_IN)
        texts = await documents.list_documents(realm_id, DocumentKind.LOCALIZATION)
        written = render_sign_in(
            flows_in(realm_id, flows, configs),
            configs_in(realm_id, configs),
            actions_in(actions),
            masked=self._masked,
        )
        stored_only = written if whole or flows or configs or actions else {}
        return stored_only | ({"localizationTexts": texts} if whole or texts else {})

    async def users(
        self, *, service_accounts_only: bool = False
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the users by name, read in batches; service accounts alone have no credentials."""
        last = ""
        while batch := await self._stores.user_batches.after(
            self._realm.id, last, _BATCH, accounts_only=service_accounts_only
        ):
            for whole in batch:
                written = self._user(whole)
                if service_accounts_only:
                    del written["credentials"]
                yield written
            last = batch[-1].user.username

    def _user(self, whole: WholeUser) -> dict[str, Any]:
        user = whole.user
        names = self._names(whole.role_ids)
        paths = [self._groups[group].path for group in whole.group_ids if group in self._groups]
        one_time = any(credential.type == OTP for credential in whole.credentials)
        written = full_user(user, totp=one_time) | {
            "realmRoles": names["realm"],
            **({"clientRoles": names["client"]} if names["client"] else {}),
            "groups": sorted(paths),
        }
        if user.service_account_client is not None:
            written["serviceAccountClientId"] = self._public(user.service_account_client)
        written["credentials"] = [
            render_credential(credential, masked=self._masked) for credential in whole.credentials
        ]
        return written

    def _names(self, role_ids: Iterable[str]) -> dict[str, Any]:
        clients: dict[str, list[str]] = defaultdict(list)
        realm: list[str] = []
        known = (self._roles[role_id] for role_id in role_ids if role_id in self._roles)
        for role in sorted(known, key=lambda role: role.name):
            (realm if role.client is None else clients[self._public(role.client)]).append(role.name)
        return {"realm": realm, "client": dict(sorted(clients.items()))}

    def _public(self, client: str) -> str:
        return self._clients[client].client_id


_VIEW_CLIENTS: Final = (AdminRole.VIEW_CLIENTS, AdminRole.MANAGE_CLIENTS)
_VIEW_GROUPS: Final = (AdminRole.QUERY_GROUPS, AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS)
_IF_ANY: Final = frozenset({"clientScopeMappings", "defaultGroups", "scopeMappings", "users"})
"""Parts of a partial export that are left out where they are empty."""
_END: Final = b"\n}\n"
_INDENT: Final = b"\n    "


async def stream_realm(
    database: Database, name: str, *, include_secrets: bool = False
) -> AsyncGenerator[bytes, None]:
    """Yield the JSON text of the realm named `name`, part by part; raises RealmNotFound.

    A caller who stops before the end closes it: it holds a transaction.
    """
    async with database.read() as stores:
        realm = await stores.realms.find_by_name(name)
        if realm is None:
            raise RealmNotFound(name)
        parts = await RealmDocument(stores, realm, masked=not include_secrets).loaded()
        format_ = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        head = orjson.dumps(await parts.all_but_users(), option=format_)
        yield head.removesuffix(_END) + b',\n  "users": ['
        separator = b""
        async with aclosing(parts.users()) as users:
            async for user in users:
                text = orjson.dumps(user, option=orjson.OPT_INDENT_2)
                yield separator + _INDENT + text.replace(b"\n", _INDENT)
                separator = b","
        yield (b"\n  ]" if separator else b"]") + _END


class PartialExport:
    """Reads realms; every secret is masked. Service accounts are exported with their clients."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def document(
        self, acting: Acting, *, clients: bool, groups_and_roles: bool
    ) -> dict[str, Any]:
        """Return the realm with the requested resources; raises Forbidden."""
        if clients:
            acting.rights.require_role(*_VIEW_CLIENTS)
        if groups_and_roles:
            acting.rights.require_role(*_VIEW_GROUPS)
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name) or acting.realm
            parts = await RealmDocument(stores, realm, masked=True).loaded()
            document = await realm_document(stores, realm)
            if groups_and_roles:
                document["roles"] = await parts.roles(clients=clients)
                document["groups"] = await parts.groups()
            document |= await parts.scopes()
            document |= await parts.scope_mappings(clients=clients)
            if clients:
                document["clients"] = await parts.clients()
                document["users"] = [
                    _account(account, roles=groups_and_roles)
                    async for account in parts.users(service_accounts_only=True)
                ]
            document |= await parts.components()
            document |= await parts.sign_in(whole=True)
        return {
            **{name: part for name, part in document.items() if part or name not in _IF_ANY},
            "identityProviders": [],
            "identityProviderMappers": [],
            "keycloakVersion": COMPATIBLE_WITH,
        }


def _account(user: Mapping[str, Any], *, roles: bool) -> dict[str, Any]:
    """Return a service account as Keycloak exports it, its roles and groups where `roles`."""
    left_out = {"credentials"} if roles else {"credentials", "realmRoles", "clientRoles", "groups"}
    written = {name: value for name, value in user.items() if name not in left_out}
    if not written.get("clientRoles"):
        written.pop("clientRoles", None)
    return {**written, "totp": False, "disableableCredentialTypes": []}
