"""Whether the objects exist that a path names before the resource that is asked for.

Keycloak finds users, groups, clients and client scopes segment by segment, before it reads the
body: a request that is wrong in both ways is answered with 404. Keycloak: 7 (resolution order)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from gateway.admin.access import existing, get_user
from gateway.admin.client_scopes import get_client_scope
from gateway.admin.clients import get_client
from gateway.admin.groups import get_group
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm


class PathObjectKind(Enum):
    """A kind of object below which a path goes on."""

    USER = auto()
    GROUP = auto()
    CLIENT = auto()
    CLIENT_SCOPE = auto()
    ROLE_OWNER = auto()
    """The client whose roles a user or group has: its refusal has another text."""


@dataclass(frozen=True, slots=True)
class PathObject:
    """An object that a path names by its internal id."""

    kind: PathObjectKind
    id: str


async def require_path_objects(
    database: Database, realm: Realm, objects: Sequence[PathObject]
) -> None:
    """Raise NotFound for the first object that does not exist; raises StoreUnavailable."""
    if not objects:
        return
    async with database.read() as stores:
        for one in objects:
            await _require_object(stores, realm, one)


async def _require_object(stores: Stores, realm: Realm, one: PathObject) -> None:
    match one.kind:
        case PathObjectKind.USER:
            await get_user(stores, realm.id, one.id)
        case PathObjectKind.GROUP:
            await get_group(stores, realm, one.id)
        case PathObjectKind.CLIENT:
            await get_client(stores, realm.id, one.id)
        case PathObjectKind.CLIENT_SCOPE:
            await get_client_scope(stores, realm, one.id)
        case PathObjectKind.ROLE_OWNER:
            existing(await stores.clients.find_by_id(realm.id, one.id), "Client not found")
