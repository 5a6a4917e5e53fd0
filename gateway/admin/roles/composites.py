"""The composites of a new role, by name. Keycloak: RoleRepresentation (`composites`)."""

from collections.abc import Iterable

from gateway.admin.access import MissingPart
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.roles import ListedRole
from gateway.representations.roles import RoleName


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
