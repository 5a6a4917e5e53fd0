"""Listing, registering and removing the certificate authorities of a realm or of a client."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    NotFound,
    require_changeable_clients,
)
from gateway.admin.authorities.registration import new_authority
from gateway.admin.changes import Change, Changes
from gateway.admin.client_reach import lower_reach
from gateway.admin.clients import get_client
from gateway.domain.authorities import MOST_AUTHORITIES, Authority
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.authorities import parse_authority, render_authority

_NOT_FOUND: Final = "Authority not found"


class AuthorityAdministration:
    """The use cases. All raise StoreUnavailable.

    `client` is the internal id of a client, None for the realm itself: NotFound where there is
    none. `sha256` is that of the certificate, in lower-case hexadecimal.
    """

    def __init__(self, database: Database, changes: Changes, parser: AuthorityParser) -> None:
        self._database = database
        self._changes = changes
        self._parser = parser

    async def list(self, realm: Realm, client: str | None = None) -> list[dict[str, Any]]:
        """Return the authorities of the realm itself, or those of the client."""
        async with self._database.read() as stores:
            if client is not None:
                await get_client(stores, realm.id, client)
            found = await stores.authorities.list(realm.id)
        own = (authority for authority in found if authority.client == client)
        return [self._rendered(authority) async for authority in in_slices(own)]

    async def one(self, realm: Realm, client: str | None, sha256: str) -> dict[str, Any]:
        """Return the authority; raises NotFound."""
        async with self._database.read() as stores:
            found = await stores.authorities.find(realm.id, client, sha256)
        return self._rendered(_existing(found))

    async def add(self, acting: Acting, client: str | None, document: Mapping[str, Any]) -> str:
        """Register an authority and return its `sha256`.

        Raises InvalidInput, InvalidRequest, AlreadyExists and Forbidden.
        """
        authority = new_authority(self._parser, parse_authority(document), client)
        async with self._changes.begin(acting, alone=True) as change:
            await _require_client(change, client)
            stored, realm_id = change.stores.authorities, change.realm.id
            if await stored.find(realm_id, client, authority.sha256) is not None:
                raise AlreadyExists(f"Authority {authority.sha256} already exists")
            if len(await stored.list(realm_id)) >= MOST_AUTHORITIES:
                raise InvalidRequest(
                    f"A realm has at most {MOST_AUTHORITIES} authorities, its clients included"
                )
            await stored.put(realm_id, authority)
            self._record(change, OperationType.CREATE, authority)
        return authority.sha256

    async def remove(self, acting: Acting, client: str | None, sha256: str) -> None:
        """Remove an authority: its certificates are not trusted then. Raises NotFound."""
        async with self._changes.begin(acting, alone=True) as change:
            await _require_client(change, client)
            stored, realm_id = change.stores.authorities, change.realm.id
            authority = _existing(await stored.find(realm_id, client, sha256))
            await stored.remove(realm_id, client, sha256)
            self._record(change, OperationType.DELETE, authority)

    def _rendered(self, authority: Authority) -> dict[str, Any]:
        return render_authority(authority.kind, self._parser.describe_authority(authority.der))

    def _record(self, change: Change, operation: OperationType, authority: Authority) -> None:
        path = f"certificates/authorities/{authority.sha256}"
        if authority.client is not None:
            path = f"clients/{authority.client}/{path}"
        change.record(operation, ResourceType.CUSTOM, path, self._rendered(authority))
        change.invalidate(realm_topic(change.realm.id))


async def _require_client(change: Change, client: str | None) -> None:
    """Raise NotFound or Forbidden unless it is None or a client that may be changed.

    The authorities decide who can authenticate as the client: its reach is lowered.
    """
    if client is not None:
        found = await get_client(change.stores, change.realm.id, client)
        require_changeable_clients(change.acting, found.client_id)
        await lower_reach(change, found.id)


def _existing(authority: Authority | None) -> Authority:
    if authority is None:
        raise NotFound(_NOT_FOUND)
    return authority
