"""The sites that this worker protects now: those of the rules file and those of all realms.

The table stays the same object until a site changes. A change of a realm drops its sites by
message; all are loaded again after a lost connection, and by age. While the database is
unavailable the table is used for up to an hour, unless a realm is known to have changed.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.forward_auth import Site
from gateway.domain.ports.invalidation import REALM_TOPIC, Invalidation
from gateway.domain.ports.storage import Database
from gateway.forward_auth.site_table import SiteTable
from gateway.storage.rules_file import RulesFile

_UNCONNECTED_AGE: Final = timedelta(seconds=5)
"""While no messages of other gateways arrive."""
_OUTAGE_AGE: Final = timedelta(hours=1)
_OUTAGE_PAUSE: Final = timedelta(seconds=1)
"""How long the table is used without a query after the database failed."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    of_realms: dict[str, tuple[Site, ...]]
    """By the realm's id."""
    of_file: tuple[Site, ...]
    table: SiteTable
    loaded_at: datetime
    retry_at: datetime | None = None
    """When the database is asked again after it failed."""


class CurrentSites:
    """The table of sites; belongs to one event loop. `age` is that of cached realms."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        invalidation: Invalidation,
        file: RulesFile | None,
        age: timedelta,
    ) -> None:
        self._database = database
        self._clock = clock
        self._invalidation = invalidation
        self._file = file
        self._age = age
        self._loaded: _Loaded | None = None
        self._changed: set[str] = set()
        self._missed = False
        self._loading = asyncio.Lock()
        invalidation.subscribe(self._invalidate)

    async def table(self) -> SiteTable:
        """Return the sites by host; raises StoreUnavailable."""
        now = self._clock.now()
        found = self._fresh(now)
        if found is None:
            async with self._loading:
                found = self._fresh(now) or await self._load(now)
        return found

    @property
    def file_hosts(self) -> frozenset[str]:
        """The hosts of the rules file, which no realm can take."""
        of_file = () if self._file is None else self._file.sites
        return frozenset(host for site in of_file for host in site.hosts)

    def _fresh(self, now: datetime) -> SiteTable | None:
        loaded = self._loaded
        if loaded is None or self._changed or self._missed:
            return None
        if self._file is not None and loaded.of_file is not self._file.sites:
            return None
        age = self._age if self._invalidation.connected else min(self._age, _UNCONNECTED_AGE)
        return loaded.table if loaded.loaded_at <= now < loaded.loaded_at + age else None
