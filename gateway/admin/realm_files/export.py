"""A realm as a file that `RealmImport` reads back, and a partial export without its users.

Secrets are masked unless `include_secrets`; on import a masked one is kept, or generated again.
Users are read in batches, so a realm of a million takes no more memory than one of a hundred.
Keycloak: realm export; 7.1 (partial-export)
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

import orjson

from gateway.admin.access import (
    Acting,
    AdminRole,
)
from gateway.admin.realm_files.document import RealmDocument
from gateway.admin.realms import realm_document
from gateway.domain.errors import RealmNotFound
from gateway.domain.ports.storage import Database
from gateway.representations.server_info import COMPATIBLE_WITH

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
            acting.rights.require(*_VIEW_CLIENTS)
        if groups_and_roles:
            acting.rights.require(*_VIEW_GROUPS)
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name) or acting.realm
            parts = await RealmDocument(stores, realm, masked=True).loaded()
            document = await realm_document(stores, realm)
            if groups_and_roles:
                document["roles"] = await parts.roles()
                document["groups"] = await parts.groups()
                document["defaultGroups"] = parts.default_groups()
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
