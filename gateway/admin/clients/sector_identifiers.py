"""The document at the `sectorIdentifierUri` of a client lists its redirect URIs.

Otherwise a client could join the sector of others, and recognize their users. The document is
fetched before the transaction of a change begins.
Spec: OpenID Connect Core §8.1; Keycloak: SHA256PairwiseSubMapper; attacks C21
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from gateway.admin.clients.listing import get_client
from gateway.domain.clients import Client
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.outgoing import DocumentUnavailable, RemoteDocuments
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, WireFamily
from gateway.representations.client_scopes import PAIRWISE_MAPPER, SECTOR_URI
from gateway.representations.clients import given_field

_UNAVAILABLE: Final = "Failed to get redirect URIs from the Sector Identifier URI."
_MISMATCH: Final = (
    "Client redirect URIs does not match redirect URIs fetched from the Sector Identifier URI."
)


MOST_SECTORS: Final = 10
"""How many documents one import fetches."""
_NAMES: Final = ("protocolMappers", "redirectUris", "rootUrl")


@dataclass(frozen=True, slots=True)
class SectorIdentifiers:
    """Checks documents before they are parsed: wrong shapes are ignored, parsers refuse them.

    All methods raise InvalidRequest; reading a client raises NotFound and StoreUnavailable.
    """

    documents: RemoteDocuments
    database: Database

    async def require_of_new_client(self, document: Mapping[str, Any]) -> None:
        await self._require_listed(_addresses(_mappers(document)), _redirects(document))

    async def require_of_imported_clients(
        self, realm: Realm, items: Sequence[Mapping[str, Any]], *, skips_known: bool
    ) -> None:
        """Check the clients of a partial import; unchanged clients need no document.

        Each document is fetched once, and at most MOST_SECTORS are. `skips_known`: the import
        leaves clients as they are that exist.
        """
        given = [item async for item in in_slices(items) if any(_addresses(_mappers(item)))]
        names = [str(given_field(item, "clientId")) for item in given]
        async with self.database.read() as stores:
            found = await stores.clients.named(realm.id, names) if names else ()
        known = {client.client_id: _document_of(client) for client in found}
        redirects: dict[str, set[str]] = {}
        for name, item in zip(names, given, strict=True):
            before = known.get(name)
            if before is None or not skips_known:
                for address in _new_addresses(before, item):
                    redirects.setdefault(address, set()).update(_redirects(item))
        if len(redirects) > MOST_SECTORS:
            allowed = f"Clients of at most {MOST_SECTORS} sectorIdentifierUri in one import"
            raise InvalidRequest(allowed)
        for address, uris in redirects.items():
            await self._require_listed([address], sorted(uris))

    async def require_of_changed_client(
        self, realm: Realm, client_id: str, document: Mapping[str, Any]
    ) -> None:
        """Check a client whose mappers or redirect URIs are sent, unless both stay as they are."""
        sent = {name: given_field(document, name) for name in _NAMES}
        sent = {name: value for name, value in sent.items() if value is not None}
        if not sent:
            return
        before = _document_of(await self._get_client(realm, client_id))
        after = {**before, **sent}
        await self._require_listed(_new_addresses(before, after), _redirects(after))

    async def require_of_mappers(
        self, realm: Realm, client_id: str, documents: Iterable[Any]
    ) -> None:
        """Check mappers of a client that are added or changed."""
        addresses = set(_addresses(list(documents)))
        if addresses:
            client = await self._get_client(realm, client_id)
            await self._require_listed(addresses, _redirects(_document_of(client)))

    async def _get_client(self, realm: Realm, client_id: str) -> Client:
        async with self.database.read() as stores:
            return await get_client(stores, realm.id, client_id)

    async def _require_listed(self, addresses: Iterable[str], redirects: list[str]) -> None:
        for address in addresses:
            problem = await sector_problem(address, redirects, self.documents)
            if problem is not None:
                raise InvalidRequest(problem, WireFamily.OAUTH, code=problem)


async def sector_problem(
    address: str, redirects: Iterable[str], documents: RemoteDocuments
) -> str | None:
    """Return why the redirect URIs do not belong to the sector, in Keycloak's words."""
    try:
        listed = json.loads(await documents.fetch(address, newest=timedelta()))
    except (DocumentUnavailable, ValueError, RecursionError):
        return _UNAVAILABLE
    if not isinstance(listed, list):
        return _UNAVAILABLE
    return None if all(uri in listed for uri in redirects) else _MISMATCH


def _new_addresses(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> set[str]:
    """Return the addresses to check: all, unless the redirect URIs stay as they are."""
    addresses = set(_addresses(_mappers(after)))
    if before is not None and _redirects(after) == _redirects(before):
        addresses -= set(_addresses(_mappers(before)))
    return addresses


def _mappers(document: Mapping[str, Any]) -> Any:
    return given_field(document, "protocolMappers")


def _addresses(mappers: Any) -> Iterator[str]:
    """Yield the addresses that mappers for pairwise subjects name."""
    for mapper in mappers if isinstance(mappers, list) else ():
        if not isinstance(mapper, dict):
            continue
        if given_field(mapper, "protocolMapper") != PAIRWISE_MAPPER:
            continue
        config = mapper.get("config")
        address = config.get(SECTOR_URI) if isinstance(config, dict) else None
        if isinstance(address, str) and address:
            yield address


def _redirects(document: Mapping[str, Any]) -> list[str]:
    """Return the redirect URIs; a URI that begins with a slash is below the root URL."""
    root, uris = given_field(document, "rootUrl"), given_field(document, "redirectUris")
    prefix = root if isinstance(root, str) else ""
    found = uris if isinstance(uris, list) else []
    texts = [uri for uri in found if isinstance(uri, str)]
    return [f"{prefix}{uri}" if uri.startswith("/") else uri for uri in texts]


def _document_of(client: Client) -> dict[str, Any]:
    return {
        "rootUrl": client.redirects.root_url,
        "redirectUris": list(client.redirects.patterns),
        "protocolMappers": [
            {"protocolMapper": mapper.mapper_type, "config": dict(mapper.config)}
            for mapper in client.protocol_mappers
        ],
    }
