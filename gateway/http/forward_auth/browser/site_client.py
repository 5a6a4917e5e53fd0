"""The client of a site, as its pages show it."""

from gateway.domain.clients import Client
from gateway.domain.forward_auth import Site
from gateway.domain.ports.directory import Directory, RealmEntry


class SiteClients:
    """Finds the clients that browsers sign in to."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def find(self, realm: RealmEntry, site: Site) -> Client | None:
        """Return the client; raises StoreUnavailable."""
        if site.client is None:
            return None
        entry = await self._directory.client(realm.realm.id, site.client)
        return None if entry is None else entry.client
