"""Reading clients, as much of each as the caller may see.

Keycloak: GET clients, clients/{id}/service-account-user, clients/{id}/installation/providers/{id}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    NotFound,
    TooMany,
    WireFamily,
)
from gateway.admin.clients.access import (
    VIEW_CLIENTS,
    client_document,
    clients_out_of_reach,
    get_client,
    has_roles,
    load_client_document,
)
from gateway.admin.clients.policy_enforcement import (
    PolicyCaller,
    enforce_policies,
    refused_by_policies,
)
from gateway.client_policies import EventKind
from gateway.domain.clients import Client
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.ports.storage.clients import ClientSearch
from gateway.domain.realm import Realm
from gateway.representations.clients import INSTALLATIONS, Installation
from gateway.representations.users import full_user

MOST: Final = 10_000
"""How many clients one answer may hold."""
_MOST_ATTRIBUTES: Final = 10
_INSTALLATIONS: Final = {kind.id: kind for kind in INSTALLATIONS}
_ALL: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ClientQuery:
    """One client by its public name, or a page of those that match."""

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

        A caller who may only query clients gets none: each requires the right to view it.
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
                client_document(acting, client, masked=client.id in masked)
                async for client in in_slices(found)
            ]

    async def clients(self, realm: Realm, part: str) -> tuple[Client, ...]:
        """Return all clients whose public names contain `part` as values, by name."""
        async with self._database.read() as stores:
            return await stores.clients.search(realm.id, ClientSearch(part), 0, _ALL)

    async def one(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Return the client; raises NotFound, and Forbidden for a caller who may only query."""
        async with self._database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
            acting.rights.require(*VIEW_CLIENTS)
            with refused_by_policies():
                await enforce_policies(
                    *(stores, acting.realm, PolicyCaller(acting), EventKind.VIEW, client),
                    before=client,
                )
            return await load_client_document(acting, stores, client)


class ClientAccounts:
    """Reads service accounts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, realm: Realm, client_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            client = await get_client(stores, realm.id, client_id)
            account = await stores.users.find_service_account(realm.id, client.id)
        if account is None or not client.service_accounts_enabled:
            text = f"Service account not enabled for the client '{client.client_id}'"
            raise InvalidRequest(text, WireFamily.PROSE)
        return full_user(account, totp=False)


class ClientInstallation:
    """Renders configuration files for adapters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, acting: Acting, client_id: str, kind: str, url: str) -> str:
        """Return a file; a secret that the caller may not know is masked. Raises NotFound."""
        async with self._database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
            found = _INSTALLATIONS.get(kind)
            if found is None:
                raise NotFound("Unknown Provider")
            masked = bool(await clients_out_of_reach(acting, stores, [client]))
            roles = await has_roles(stores, client)
        return found.write(Installation(acting.realm, client, url, has_roles=roles, masked=masked))


async def _matching(stores: Stores, realm_id: str, query: ClientQuery) -> Sequence[Client]:
    if query.client_id is not None:
        client = await stores.clients.find_by_client_id(realm_id, query.client_id)
        return [] if client is None else [client]
    wanted = MOST + 1 if query.maximum is None else min(query.maximum, MOST + 1)
    search = ClientSearch(query.part, query.attributes)
    return await stores.clients.search(realm_id, search, query.first, wanted)
