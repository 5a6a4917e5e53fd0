"""The document at the `sectorIdentifierUri` of a client lists its redirect URIs.

Otherwise a client could join the sector of others, and recognize their users. The document is
fetched before the transaction of a change begins.
Spec: OpenID Connect Core §8.1; Keycloak: SHA256PairwiseSubMapper; attacks C21
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from gateway.admin.clients.listing import get_client
from gateway.domain.clients import Client
from gateway.domain.ports.outgoing import DocumentUnavailable, RemoteDocuments
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, WireFamily
from gateway.representations.client_scopes import PAIRWISE_MAPPER, SECTOR_URI

_UNAVAILABLE: Final = "Failed to get redirect URIs from the Sector Identifier URI."
_MISMATCH: Final = (
    "Client redirect URIs does not match redirect URIs fetched from the Sector Identifier URI."
)


@dataclass(frozen=True, slots=True)
class SectorIdentifiers:
    """Checks documents before they are parsed: wrong shapes are ignored, parsers refuse them.

    All methods raise InvalidRequest; those that read a client also NotFound and StoreUnavailable.
    """

    documents: RemoteDocuments
    database: Database

    async def require_of_new_client(self, document: Mapping[str, Any]) -> None:
        await self._require(_addresses(document.get("protocolMappers")), _redirects(document))

    async def require_of_changed_client(
        self, realm: Realm, client_id: str, document: Mapping[str, Any]
    ) -> None:
        """Check a client whose mappers or redirect URIs are sent, unless both stay as they are."""
        if not document.keys() & {"protocolMappers", "redirectUris", "rootUrl"}:
            return
        client = await self._client(realm, client_id)
        before = _document_of(client)
        after = {**before, **{name: document[name] for name in before if name in document}}
        addresses = set(_addresses(after["protocolMappers"]))
        if _redirects(after) == _redirects(before):
            addresses -= set(_addresses(before["protocolMappers"]))
        await self._require(addresses, _redirects(after))

    async def require_of_mappers(
        self, realm: Realm, client_id: str, documents: Iterable[Any]
    ) -> None:
        """Check mappers of a client that are added or changed."""
        addresses = set(_addresses(list(documents)))
        if addresses:
            client = await self._client(realm, client_id)
            await self._require(addresses, _redirects(_document_of(client)))

    async def _client(self, realm: Realm, client_id: str) -> Client:
        async with self.database.read() as stores:
            return await get_client(stores, realm.id, client_id)

    async def _require(self, addresses: Iterable[str], redirects: list[str]) -> None:
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


def _addresses(mappers: Any) -> Iterator[str]:
    """Yield the addresses that mappers for pairwise subjects name."""
    for mapper in mappers if isinstance(mappers, list) else ():
        if not isinstance(mapper, dict) or mapper.get("protocolMapper") != PAIRWISE_MAPPER:
            continue
        config = mapper.get("config")
        address = config.get(SECTOR_URI) if isinstance(config, dict) else None
        if isinstance(address, str) and address:
            yield address


def _redirects(document: Mapping[str, Any]) -> list[str]:
    """Return the redirect URIs, those that begin with a slash below the root URL."""
    root, uris = document.get("rootUrl"), document.get("redirectUris")
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
