"""A realm as a file that `RealmImport` reads back: settings, roles, groups, clients, users.

Secrets are masked unless they are asked for; a masked one is left alone on import, or made anew.
Signing keys are never part of it. Keycloak: realm export, partial export
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from gateway.domain.clients import Client
from gateway.domain.errors import RealmNotFound
from gateway.domain.groups import Group
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.roles import Role
from gateway.domain.users import User
from gateway.representations.client import write_client
from gateway.representations.credentials import write_credential
from gateway.representations.group import write_groups
from gateway.representations.realm import write_realm
from gateway.representations.role import write_role
from gateway.representations.user import write_user


async def export_realm(database: Database, name: str, *, include_secrets: bool = False) -> bytes:
    """Return the JSON text of the realm named `name`; raises RealmNotFound."""
    async with database.read() as stores:
        realm = await stores.realms.find_by_name(name)
        if realm is None:
            raise RealmNotFound(name)
        document = await _Export(stores, realm, masked=not include_secrets).document()
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


class _Export:
    """One realm, within one transaction."""

    def __init__(self, stores: Stores, realm: Realm, *, masked: bool) -> None:
        self._stores = stores
        self._realm = realm
        self._masked = masked
        self._clients: Mapping[str, Client] = {}
        self._roles: Mapping[str, Role] = {}
        self._groups: Mapping[str, Group] = {}
        self._members: Mapping[str, frozenset[str]] = {}

    async def document(self) -> dict[str, Any]:
        realm_id = self._realm.id
        self._clients = {client.id: client for client in await self._stores.clients.list(realm_id)}
        self._roles = {role.id: role for role in await self._stores.roles.list(realm_id)}
        users = await self._stores.users.list(realm_id)
        self._groups = {group.id: group for group in await self._stores.groups.list(realm_id)}
        self._members = await self._stores.groups.members(realm_id)
        return {
            **write_realm(self._realm, masked=self._masked),
            "roles": self._role_lists(),
            "groups": await self._group_tree(),
            "defaultGroups": [group.path for group in self._groups.values() if group.is_default],
            "clients": [
                write_client(client, masked=self._masked) for client in self._clients.values()
            ],
            "users": [await self._user(user) for user in users],
        }

    def _role_lists(self) -> dict[str, Any]:
        clients: dict[str, list[dict[str, Any]]] = defaultdict(list)
        realm: list[dict[str, Any]] = []
        for role in self._roles.values():
            parts = {part: names for part, names in self._names(role.composites).items() if names}
            written = write_role(role, parts)
            (realm if role.client is None else clients[self._public(role.client)]).append(written)
        return {"realm": realm, "client": dict(clients)}

    async def _group_tree(self) -> list[dict[str, Any]]:
        granted = await self._stores.groups.granted(self._realm.id)
        roles = {group: self._names(granted.get(group, ())) for group in self._groups}
        return write_groups(list(self._groups.values()), roles)

    async def _user(self, user: User) -> dict[str, Any]:
        names = self._names(await self._stores.roles.granted(self._realm.id, user.id))
        written = write_user(user) | {
            "realmRoles": names["realm"],
            "clientRoles": names["client"],
            "groups": sorted(self._groups[group].path for group in self._members.get(user.id, ())),
        }
        if user.service_account_client is not None:
            written["serviceAccountClientId"] = self._public(user.service_account_client)
        credentials = await self._stores.users.credentials(self._realm.id, user.id)
        written["credentials"] = [
            write_credential(credential, masked=self._masked) for credential in credentials
        ]
        return written

    def _names(self, role_ids: Iterable[str]) -> dict[str, Any]:
        clients: dict[str, list[str]] = defaultdict(list)
        realm: list[str] = []
        for role in sorted((self._roles[role_id] for role_id in role_ids), key=lambda r: r.name):
            (realm if role.client is None else clients[self._public(role.client)]).append(role.name)
        return {"realm": realm, "client": dict(sorted(clients.items()))}

    def _public(self, client: str) -> str:
        return self._clients[client].client_id
