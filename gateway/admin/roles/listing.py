"""Roles as listings of the admin API show them, and as documents name them, within one transaction.

Keycloak: role mappings and scope mappings (`available`, `composite`); RoleRepresentation
(`composites`)
"""

from collections.abc import Iterable, Sequence
from typing import Any

from gateway.admin.access import (
    MissingPart,
    NotFound,
)
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.storage.role_catalogue import RoleHolder, RoleQuery
from gateway.domain.realm import Realm
from gateway.domain.roles import ListedRole
from gateway.representations.roles import (
    RoleName,
    RoleReference,
    mappings_answer,
    parse_role_references,
    role_answer,
)


async def read_references(document: Sequence[Any]) -> tuple[RoleReference, ...]:
    """Return the roles that a list names, each once; raises UnknownField and InvalidInput."""
    named = [reference async for reference in in_slices(parse_role_references(document))]
    return tuple(dict.fromkeys(named))


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
        """Return roles of one container by id and name; raises NotFound.

        `container` is the internal id of a client, or "" for the realm.
        """
        found = await self.identified(references, "Role not found")
        for role, reference in zip(found, references, strict=True):
            if role.role.name != reference.name or (role.role.client or "") != container:
                raise NotFound("Role not found")
        return found

    async def identified(
        self, references: Sequence[RoleReference], missing: str
    ) -> tuple[ListedRole, ...]:
        """Return roles by id; raises NotFound with the text `missing`."""
        ids = list(dict.fromkeys(reference.id for reference in references))
        known = await self._stores.role_catalogue.by_ids(self._realm.id, ids)
        if len(known) < len(ids):
            raise NotFound(missing)
        return tuple(known[reference.id] for reference in references)


async def composites_of(
    stores: Stores, realm: Realm, names: Iterable[RoleName]
) -> tuple[ListedRole, ...]:
    """Return the roles; raises MissingPart for one that does not exist.

    Roles of clients that do not exist are ignored, as in Keycloak.
    """
    wanted = tuple(names)
    public = sorted({name.client for name in wanted if name.client is not None})
    clients = {
        client.client_id: client.id for client in await stores.clients.named(realm.id, public)
    }
    found: list[ListedRole] = []
    for name in wanted:
        if name.client is not None and name.client not in clients:
            continue
        owner = None if name.client is None else clients[name.client]
        role = await stores.role_catalogue.find_by_name(realm.id, owner, name.name)
        if role is None:
            kind = "Realm" if name.client is None else "Client"
            raise MissingPart(f"{kind} Role with name {name.name} does not exist")
        found.append(role)
    return tuple(found)
