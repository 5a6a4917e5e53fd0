"""Protected sites of a realm: administrators list and change them, realm files contain them.

Whether a realm may have a host is decided where sites are stored, for realm files as well.
The `guardSites` of a file replace a site with the same name, which keeps its `bearerAudience` where
the file has none; no site is removed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.admin.changes import Change, Changes
from gateway.domain.errors import AlreadyExists, FieldError
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.forward_auth import Site, UnreadableSite, unusable_setting
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database, SiteRepository, Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, NotFound
from gateway.representations.field_table import Names
from gateway.representations.refusals import raise_all
from gateway.representations.sites import (
    MOST_SITES,
    parse_realm_sites,
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
            return render_site(await _get_site(stores.sites, realm.id, name))

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
            before = await _get_site(change.stores.sites, change.realm.id, name)
            change.require_match(render_site, before)
            site = parse_site({"name": name, **document}, realm=change.realm.name)
            if site.name != name:
                raise InvalidRequest("The name of a site cannot be changed")
            await self._store(change, with_bearer_audience(site, before), OperationType.UPDATE)

    async def remove(self, acting: Acting, name: str) -> None:
        """Remove a site: its hosts are refused then. Raises NotFound and PreconditionFailed."""
        async with self._changes.begin(acting, alone=True) as change:
            site = await _get_site(change.stores.sites, change.realm.id, name)
            change.require_match(render_site, site)
            await change.stores.sites.remove(change.realm.id, name)
            _record_site(change, OperationType.DELETE, site)

    async def _store(self, change: Change, site: Site, operation: OperationType) -> None:
        await _require_usable_client(change, site)
        await change.stores.sites.put(change.realm.id, site)
        _record_site(change, operation, site)


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


async def _get_site(sites: SiteRepository, realm_id: str, name: str) -> Site | UnreadableSite:
    """Return the site, readable or not; raises NotFound."""
    found = await sites.find(realm_id, name)
    if found is None:
        raise NotFound(_NOT_FOUND)
    return found


def _record_site(change: Change, operation: OperationType, site: Site | UnreadableSite) -> None:
    path = f"guard/sites/{site.name}"
    change.record(operation, ResourceType.CUSTOM, path, render_site(site))
    change.invalidate(realm_topic(change.realm.id))


_MEMBER: Final = "guardSites"
_NAMES: Final = Names((_MEMBER,))


def read_sites(document: Mapping[str, Any], realm_name: str, path: str) -> tuple[Site, ...]:
    """Return the sites of a realm file; raises InvalidInput."""
    errors: list[FieldError] = []
    at, sites = _NAMES.collect(document, path, errors).get(_MEMBER, ("", []))
    raise_all(errors)
    return parse_realm_sites(sites, at, realm_name)


async def store_sites(stores: Stores, realm: Realm, given: Sequence[Site]) -> bool:
    """Store the sites of a file; return whether anything has changed.

    Raises AlreadyExists for a host of another site, and InvalidInput for too many sites.
    """
    if not given:
        return False
    known = {site.name: site for site in await stores.sites.list(realm.id)}
    new = [with_bearer_audience(site, known.get(site.name)) for site in given]
    changed = [site for site in new if site != known.get(site.name)]
    total = len(known.keys() | {site.name for site in given})
    if total > MOST_SITES:
        raise_all((FieldError(_MEMBER, f"{total} sites", f"at most {MOST_SITES} in the realm"),))
    for site in changed:
        await stores.sites.put(realm.id, site)
    return bool(changed)


@dataclass(frozen=True, slots=True)
class ForwardAuthUseCases:
    """Every use case of protected sites."""

    sites: SiteAdministration
