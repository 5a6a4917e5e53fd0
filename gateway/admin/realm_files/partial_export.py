"""A realm without its users, for another to be made like it; every secret is masked.

Service accounts go with their clients. Keycloak: 7.1 (partial-export)
"""

from typing import Any, Final

from gateway.admin.access import Acting, AdminRole
from gateway.admin.realm_files.document import RealmDocument
from gateway.admin.realms import realm_document
from gateway.domain.ports.storage import Database, Stores

_SEE_CLIENTS: Final = (AdminRole.VIEW_CLIENTS, AdminRole.MANAGE_CLIENTS)
_SEE_GROUPS: Final = (AdminRole.QUERY_GROUPS, AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS)
_AT_ONCE: Final = 500


class PartialExport:
    """Reads realms."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def document(
        self, acting: Acting, *, clients: bool, groups_and_roles: bool
    ) -> dict[str, Any]:
        """Return the realm, with what is asked for beside its settings; raises Forbidden."""
        if clients:
            acting.rights.require(*_SEE_CLIENTS)
        if groups_and_roles:
            acting.rights.require(*_SEE_GROUPS)
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
                document["users"] = await _accounts(stores, realm.id, parts)
            document |= await parts.components()
            document |= await parts.sign_in()
        return document | {"identityProviders": [], "identityProviderMappers": []}


async def _accounts(stores: Stores, realm_id: str, parts: RealmDocument) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    last = ""
    while batch := await stores.user_batches.after(realm_id, last, _AT_ONCE, accounts_only=True):
        found += [parts.user(whole) for whole in batch]
        last = batch[-1].user.username
    return found
