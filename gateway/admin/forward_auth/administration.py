"""Listing, creating, changing and removing the protected sites of a realm.

Whether a realm may have a host is decided where sites are stored, for realm files as well.
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import Acting, InvalidRequest, NotFound
from gateway.admin.changes import Change, Changes
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.forward_auth import Site, UnreadableSite, unusable_setting
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database
from gateway.domain.ports.storage.sites import SiteRepository
from gateway.domain.realm import Realm
from gateway.representations.forward_auth import (
    MOST_SITES,
    parse_site,
    render_site,
    with_bearer_audience,
)

_NOT_FOUND: Final = "Site not found"


class SiteAdministration:
    """The use cases. All raise StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def list(self, realm: Realm) -> list[dict[str, Any]]:
        """Return the sites of the realm by name, those that cannot be read among them."""
        async with self._database.read() as stores:
            found: list[Site | UnreadableSite] = [
                *await stores.sites.list(realm.id),
                *await stores.sites.list_unreadable(realm.id),
            ]
        return [render_site(site) for site in sorted(found, key=lambda site: site.name)]

    async def one(self, realm: Realm, name: str) -> dict[str, Any]:
        """Return the site; raises NotFound."""
        async with self._database.read() as stores:
            return render_site(await _existing(stores.sites, realm.id, name))

    async def create(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Add a site and return its name; raises InvalidInput, InvalidRequest, AlreadyExists."""
        async with self._changes.begin(acting, alone=True) as change:
            site = parse_site(document, realm=change.realm.name)
            sites, realm_id = change.stores.sites, change.realm.id
            names = {known.name for known in await sites.list(realm_id)}
            names |= {known.name for known in await sites.list_unreadable(realm_id)}
            if site.name in names:
                raise AlreadyExists(f"Site {site.name} already exists")
            if len(names) >= MOST_SITES:
                raise InvalidRequest(f"A realm has at most {MOST_SITES} sites")
            await self._store(change, with_bearer_audience(site, None), OperationType.CREATE)
        return site.name

    async def replace(self, acting: Acting, name: str, document: Mapping[str, Any]) -> None:
        """Replace a site, which keeps its name and, where none is given, its `bearerAudience`.

        Raises NotFound, InvalidInput, InvalidRequest, AlreadyExists and PreconditionFailed.
        """
        async with self._changes.begin(acting, alone=True) as change:
            before = await _existing(change.stores.sites, change.realm.id, name)
            change.require_match(render_site, before)
            site = parse_site({"name": name, **document}, realm=change.realm.name)
            if site.name != name:
                raise InvalidRequest("The name of a site cannot be changed")
            await self._store(change, with_bearer_audience(site, before), OperationType.UPDATE)

    async def remove(self, acting: Acting, name: str) -> None:
        """Remove a site: its hosts are refused then. Raises NotFound and PreconditionFailed."""
        async with self._changes.begin(acting, alone=True) as change:
            site = await _existing(change.stores.sites, change.realm.id, name)
            change.require_match(render_site, site)
            await change.stores.sites.remove(change.realm.id, name)
            _record(change, OperationType.DELETE, site)

    async def _store(self, change: Change, site: Site, operation: OperationType) -> None:
        await _require_usable_client(change, site)
        await change.stores.sites.put(change.realm.id, site)
        _record(change, operation, site)


async def _require_usable_client(change: Change, site: Site) -> None:
    """Raise InvalidRequest for a client with a setting by which no browser can sign in.

    The client may be created later: the sign-in is refused then, with the same reason.
    """
    if site.client is None:
        return
    client = await change.stores.clients.find_by_client_id(change.realm.id, site.client)
    unusable = None if client is None else unusable_setting(client)
    if unusable is not None:
        raise InvalidRequest(f"Client {site.client} cannot sign browsers in: {unusable}")


async def _existing(sites: SiteRepository, realm_id: str, name: str) -> Site | UnreadableSite:
    """Return the site, readable or not; raises NotFound."""
    found = await sites.find(realm_id, name)
    if found is None:
        raise NotFound(_NOT_FOUND)
    return found


def _record(change: Change, operation: OperationType, site: Site | UnreadableSite) -> None:
    path = f"guard/sites/{site.name}"
    change.record(operation, ResourceType.CUSTOM, path, render_site(site))
    change.invalidate(realm_topic(change.realm.id))
