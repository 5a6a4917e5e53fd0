"""Protected sites of a realm: administrators list and change them, realm files contain them.

Whether a realm may have a host is decided where sites are stored, for realm files as well. A site
that is replaced keeps its `bearerAudience` where the document has none.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.admin.changes import Change
from gateway.admin.resources import Input
from gateway.domain.forward_auth import Site, UnreadableSite, unusable_setting
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest
from gateway.representations.sites import parse_site, with_bearer_audience

AnySite = Site | UnreadableSite


class StoredSites:
    """The sites of a realm by name, those that cannot be read among them."""

    def __init__(self, stores: Stores) -> None:
        self._sites = stores.sites
        self.find_value, self.remove_value = self._sites.find_site, self._sites.remove_site

    async def list_values(self, realm_id: str, *_: object, **__: object) -> Sequence[AnySite]:
        readable = await self._sites.list_sites(realm_id)
        unreadable = await self._sites.list_unreadable(realm_id)
        return sorted((*readable, *unreadable), key=lambda site: site.name)

    async def count_values(self, realm_id: str) -> int:
        return len(await self.list_values(realm_id))

    async def put_value(self, realm_id: str, value: AnySite) -> None:
        """Store a site; raises AlreadyExists for a host that it may not have."""
        if isinstance(value, Site):
            await self._sites.put_site(realm_id, value)

    add = put_value


def parse_resource(document: Input[AnySite]) -> Site:
    """Return the site of a document; raises InvalidInput."""
    site = parse_site(document.content, realm=document.realm_name)
    return with_bearer_audience(site, document.before)


async def require_usable_client(change: Change, site: AnySite) -> None:
    """Raise InvalidRequest for a client with a setting by which no browser can sign in.

    The client may be created later: the sign-in is refused then, with the same reason.
    """
    if isinstance(site, UnreadableSite) or site.client is None:
        return
    client = await change.stores.clients.find_by_client_id(change.realm.id, site.client)
    unusable = None if client is None else unusable_setting(client)
    if unusable is not None:
        raise InvalidRequest(f"Client {site.client} cannot sign browsers in: {unusable}")


async def resolve_file_site(
    _stores: Stores, _realm: Realm, site: Any, known: Mapping[str, AnySite]
) -> AnySite:
    """Return the site as it is to be stored; `known` are those of the realm by name."""
    return with_bearer_audience(site, known.get(site.name))
