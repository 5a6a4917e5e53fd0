"""Finding clients of a realm, as much of them as the caller may see. Keycloak: GET clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.admin.access import Acting, TooMany
from gateway.admin.clients.access import (
    VIEW_CLIENTS,
    clients_out_of_reach,
    describe_client,
    find_client,
    shown_client,
)
from gateway.domain.clients import Client
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.ports.storage.clients import ClientSearch
from gateway.domain.realm import Realm

MOST: Final = 10_000
"""How many clients one answer may hold."""
_MOST_ATTRIBUTES: Final = 10
_ALL: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ClientQuery:
    """Which clients are asked for: one by its public name, or a page of those that match."""

    client_id: str | None = None
    part: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    first: int = 0
    maximum: int | None = None


class ClientListing:
    """Reads clients for administrators. All methods raise StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, acting: Acting, query: ClientQuery) -> list[dict[str, Any]]:
        """Return the clients that match; raises TooMany.

        Who may only query clients sees none: each of them would take the right to view it.
        """
        if not acting.rights.has(*VIEW_CLIENTS):
            return []
        if len(query.attributes) > _MOST_ATTRIBUTES:
            raise TooMany(f"More than {_MOST_ATTRIBUTES} attributes in q")
        async with self._database.read() as stores:
            found = await _matching(stores, acting.realm.id, query)
            if len(found) > MOST:
                raise TooMany(f"More than {MOST} clients: ask page by page, with first and max")
            masked = await clients_out_of_reach(acting, stores, found)
            return [
                describe_client(acting, client, masked=client.id in masked)
                async for client in in_slices(found)
            ]

    async def clients(self, realm: Realm, part: str) -> tuple[Client, ...]:
        """Return all clients whose public names contain `part` as values, by name."""
        async with self._database.read() as stores:
            return await stores.clients.search(realm.id, ClientSearch(part), 0, _ALL)

    async def one(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Return the client; raises Forbidden, and Missing for whoever may look for clients."""
        async with self._database.read() as stores:
            client = await find_client(stores, acting.realm.id, client_id)
            acting.rights.require(*VIEW_CLIENTS)
            return await shown_client(acting, stores, client)


async def _matching(stores: Stores, realm_id: str, query: ClientQuery) -> Sequence[Client]:
    if query.client_id is not None:
        client = await stores.clients.find_by_client_id(realm_id, query.client_id)
        return [] if client is None else [client]
    wanted = MOST + 1 if query.maximum is None else min(query.maximum, MOST + 1)
    search = ClientSearch(query.part, query.attributes)
    return await stores.clients.search(realm_id, search, query.first, wanted)
