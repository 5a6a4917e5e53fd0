"""Roles as listings of the admin API show them, within one transaction.

Keycloak: role mappings and scope mappings (`available`, `composite`)
"""

from collections.abc import Sequence
from typing import Any

from gateway.admin.access import Missing
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.storage.role_catalogue import RoleHolder, RoleQuery
from gateway.domain.realm import Realm
from gateway.domain.roles import ListedRole
from gateway.representations.roles import RoleReference, mappings_answer, role_answer


class RoleListing:
    """Reads the roles of one realm. All methods raise StoreUnavailable."""

    def __init__(self, stores: Stores, realm: Realm) -> None:
        self._stores = stores
        self._realm = realm

    async def documents(self, query: RoleQuery, *, brief: bool = True) -> list[dict[str, Any]]:
        found = await self._stores.role_catalogue.list(self._realm.id, query)
        return [role_answer(role, brief=brief) for role in found]

    async def mappings(self, holder: RoleHolder) -> dict[str, Any]:
        """Return the roles granted to the holder directly, by realm and client."""
        found = await self._stores.role_catalogue.list(self._realm.id, RoleQuery(holder))
        return mappings_answer(found)

    async def named(
        self, references: Sequence[RoleReference], container: str
    ) -> tuple[ListedRole, ...]:
        """Return roles of one container by id and name; raises Missing.

        `container` is the internal id of a client, or "" for the realm.
        """
        found = await self.identified(references, "Role not found")
        for role, reference in zip(found, references, strict=True):
            if role.role.name != reference.name or (role.role.client or "") != container:
                raise Missing("Role not found")
        return found

    async def identified(
        self, references: Sequence[RoleReference], missing: str
    ) -> tuple[ListedRole, ...]:
        """Return roles by id; raises Missing with the text `missing`."""
        ids = list(dict.fromkeys(reference.id for reference in references))
        known = await self._stores.role_catalogue.by_ids(self._realm.id, ids)
        if len(known) < len(ids):
            raise Missing(missing)
        return tuple(known[reference.id] for reference in references)
