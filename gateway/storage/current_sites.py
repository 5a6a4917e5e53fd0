"""The protected sites of a worker: those of the rules file and those of all realms.

The table stays the same object until a site changes. A change of a realm drops its sites by
message, or by the change log, which is read at most `CHANGES_AGE` before an answer; all are loaded
again after a lost connection, and by age. While the database is unavailable the table is used for
up to an hour, unless a realm is known to have changed. A rules file that is not valid is logged
with all its errors, and its former sites stay.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol, TypeVar

import structlog

from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError, InvalidInput, StoreUnavailable
from gateway.domain.forward_auth import ReservedNames, Site
from gateway.domain.ports.invalidation import REALM_TOPIC, Invalidation
from gateway.domain.ports.storage import Database
from gateway.forward_auth.site_table import SiteTable, settled_table
from gateway.storage.cache import cache_age

ContentT = TypeVar("ContentT", bytes, bytes | None)

POLL: Final = timedelta(milliseconds=500)
"""A change takes effect within a second."""


class ChangingFile(Protocol):
    """A file that is replaced while the gateway runs."""

    path: Path

    def read_content(self) -> bytes:
        """Return the content as it is now; raises OSError."""

    def read_if_changed(self) -> bytes | None:
        """Return the content if it is another than the last time; raises OSError."""


class RulesFile:
    """The sites of the last valid version; `source` names the file in errors."""

    def __init__(
        self,
        file: ChangingFile,
        source: str,
        parse: Callable[[bytes, str], tuple[Site, ...]],
        public_urls: Collection[str] = (),
    ) -> None:
        """Read nothing yet: without a `load` there are no sites.

        The hosts of `public_urls`, which are the gateway's, are reserved besides those of the file.
        """
        self._file = file
        self._source = source
        self._parse = parse
        self._public_urls = public_urls
        self._failure: str | None = None
        self.sites: tuple[Site, ...] = ()
        self._reserved: ReservedNames | None = None

    def reserved_names(self) -> ReservedNames:
        """Return the names that no realm may have, read first where nothing was; as `load`."""
        if self._reserved is None:
            self.load()
        return self._reserved or ReservedNames.of((), self._public_urls)

    def load(self) -> None:
        """Read the file; raises InvalidInput with all its errors, also where it is missing."""
        self._use(self._parse(self._read(self._file.read_content), self._source))

    async def watch(self) -> None:
        """Read new versions until cancelled."""
        while True:
            await asyncio.sleep(POLL.total_seconds())
            await self.refresh()

    async def refresh(self) -> None:
        """Read a new version if there is one."""
        # A file of megabytes takes seconds to parse: other requests go on meanwhile.
        await asyncio.to_thread(self._refresh)

    def _refresh(self) -> None:
        try:
            content = self._read(self._file.read_if_changed)
            if content is None:
                return
            self._use(self._parse(content, self._source))
        except InvalidInput as refusal:
            self._report(refusal)
        else:
            self._failure = None
            structlog.get_logger().info("rules file read", sites=len(self.sites))

    def _use(self, sites: tuple[Site, ...]) -> None:
        self._reserved = ReservedNames.of(sites, self._public_urls)
        self.sites = sites

    def _report(self, refusal: InvalidInput) -> None:
        """Log the errors, of a file that stays missing once."""
        if str(refusal) != self._failure:
            errors = [str(error) for error in refusal.errors]
            structlog.get_logger().error("rules file refused", errors=errors)
        self._failure = str(refusal)

    def _read(self, read: Callable[[], ContentT]) -> ContentT:
        try:
            return read()
        except OSError as failure:
            sentence = f"the file cannot be read: {failure.strerror or failure}"
            error = FieldError(self._source, "nothing", "a readable file", sentence=sentence)
            raise InvalidInput((error,)) from failure


CHANGES_AGE: Final = timedelta(milliseconds=500)
_OUTAGE_AGE: Final = timedelta(hours=1)
_OUTAGE_PAUSE: Final = timedelta(seconds=1)
"""How long the table is used without a query after the database failed."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    of_realms: Mapping[str, tuple[Site, ...]]
    """By the realm's id."""
    of_file: tuple[Site, ...]
    table: SiteTable
    loaded_at: datetime
    version: int
    """The changes that it has, see `CurrentSites`."""


class CurrentSites:
    """The table of sites; belongs to one event loop. `age` is that of cached realms."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        invalidation: Invalidation,
        *,
        read_changes: Callable[[], Awaitable[None]],
        file: RulesFile | None,
        age: timedelta,
        public_urls: Sequence[str] = (),
    ) -> None:
        """Take `read_changes`, which delivers changes whose messages were lost.

        The hosts of `public_urls`, which are the gateway's, are refused to stored sites.
        """
        self._database = database
        self._clock = clock
        self._invalidation = invalidation
        self._read_changes = read_changes
        self._file = file
        self._age = age
        self._public_urls = public_urls
        self._loaded: _Loaded | None = None
        self._version = 0
        """The number of messages so far."""
        self._changed: dict[str, int] = {}
        """Ids of realms whose loaded sites are outdated, with the version of the last change."""
        self._missed = 0
        """The version since which messages may have been lost."""
        self._outage_at: datetime | None = None
        self._current_at: datetime | None = None
        """When the change log was read last."""
        self._loading = asyncio.Lock()
        invalidation.subscribe(self._forget_topic)

    async def table(self) -> SiteTable:
        """Return the sites by host; raises StoreUnavailable."""
        now = self._clock.now()
        current_at = self._current_at
        if current_at is None or not current_at <= now < current_at + CHANGES_AGE:
            self._current_at = now
            # Without the database `_usable` decides whether what is loaded may be used.
            with suppress(StoreUnavailable):
                await self._read_changes()
        found = self._usable(now)
        if found is None:
            async with self._loading:
                found = self._usable(now) or await self._load_table(now)
        return found

    def _usable(self, now: datetime) -> SiteTable | None:
        """Return the table that may be used without a query, None where one is needed."""
        loaded = self._loaded
        if loaded is None or self._changed or loaded.of_file is not self._of_file():
            return None
        if self._is_young(loaded, now):
            return loaded.table
        return loaded.table if self._is_paused(now) and _survives_outage(loaded, now) else None

    def _is_young(self, loaded: _Loaded, now: datetime) -> bool:
        if loaded.version < self._missed:
            return False
        age = cache_age(self._invalidation, self._age)
        return loaded.loaded_at <= now < loaded.loaded_at + age

    def _is_paused(self, now: datetime) -> bool:
        outage = self._outage_at
        return outage is not None and outage <= now < outage + _OUTAGE_PAUSE

    def _of_file(self) -> tuple[Site, ...]:
        return () if self._file is None else self._file.sites

    async def _load_table(self, now: datetime) -> SiteTable:
        before = self._loaded
        # What changes from now on may not be in what is read.
        version = self._version
        try:
            of_realms, loaded_at = await self._read(before, now)
        except StoreUnavailable:
            if not self._is_paused(now):
                self._outage_at = now
            if before is None or self._changed or not _survives_outage(before, now):
                raise
            of_realms, loaded_at, version = before.of_realms, before.loaded_at, before.version
        of_file = self._of_file()
        if before is not None and (before.of_realms, before.of_file) == (of_realms, of_file):
            table = before.table
        else:
            every = [site for of_realm in of_realms.values() for site in of_realm]
            # A hundred thousand rules take a part of a second: other requests go on meanwhile.
            table = await asyncio.to_thread(settled_table, of_file, every, self._public_urls)
            _report_contested(table, None if before is None else before.table)
        self._loaded = _Loaded(of_realms, of_file, table, loaded_at, version)
        self._changed = {name: last for name, last in self._changed.items() if last > version}
        return table

    async def _read(
        self, before: _Loaded | None, now: datetime
    ) -> tuple[Mapping[str, tuple[Site, ...]], datetime]:
        """Return the sites of realms by id, and when the oldest of them were read."""
        is_young = before is not None and self._is_young(before, now)
        if before is not None and is_young and not self._changed:
            return before.of_realms, before.loaded_at
        if self._is_paused(now):
            raise StoreUnavailable("sql")
        async with self._database.read() as stores:
            if before is None or not is_young:
                return await stores.sites.protected(), now
            new: dict[str, tuple[Site, ...]] = {}
            for realm_id in tuple(self._changed):
                of_realm = await stores.sites.protected(realm_id)
                new[realm_id] = of_realm.get(realm_id, ())
        return {**before.of_realms, **new}, before.loaded_at

    def _forget_topic(self, topic: str | None) -> None:
        self._version += 1
        if topic is None:
            self._missed = self._version
        elif topic.startswith(REALM_TOPIC):
            self._changed[topic.removeprefix(REALM_TOPIC)] = self._version


def _survives_outage(loaded: _Loaded, now: datetime) -> bool:
    return loaded.loaded_at <= now < loaded.loaded_at + _OUTAGE_AGE


def _report_contested(table: SiteTable, before: SiteTable | None) -> None:
    """Log each host name that is refused because more than one owner has it, once."""
    known = {} if before is None else before.contested
    for name, reason in table.contested.items():
        if known.get(name) != reason:
            structlog.get_logger().error("host is contested", host=name, reason=reason)
