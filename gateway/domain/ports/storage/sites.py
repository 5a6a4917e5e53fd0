"""Protected sites of realms."""

from collections.abc import Mapping
from typing import Protocol

from gateway.domain.forward_auth import Site, UnreadableSite


class SiteRepository(Protocol):
    """The sites that realms have themselves, by name; a host belongs to one site of one realm."""

    async def all(self) -> Mapping[str, tuple[Site, ...]]:
        """Return the sites of every realm that has any, by the realm's id.

        Sites that this version cannot read are left out.
        """

    async def protected(self, realm_id: str | None = None) -> Mapping[str, tuple[Site, ...]]:
        """Return the sites that decide about requests, by the realm's id; of all realms for None.

        A site that this version cannot read, which a later one may have stored, has its hosts and
        no rules: a wildcard of another site would else decide about them.
        """

    async def list(self, realm_id: str) -> tuple[Site, ...]:
        """Return the sites of a realm by name, without those that this version cannot read."""

    async def list_unreadable(self, realm_id: str | None = None) -> tuple[UnreadableSite, ...]:
        """Return those that this version cannot read, of all realms for None."""

    async def find(self, realm_id: str, name: str) -> Site | UnreadableSite | None:
        """Return the site, or that this version cannot read it; None where there is none."""

    async def put(self, realm_id: str, site: Site) -> None:
        """Store the site under its name, replacing the one there.

        Raises AlreadyExists for a host of another site, for one whose name, whatever the port,
        belongs to another realm, to the rules file or to the gateway, and for a cookie domain of
        which another realm has a part.
        """

    async def remove(self, realm_id: str, name: str) -> bool:
        """Remove the site; return whether it existed."""
