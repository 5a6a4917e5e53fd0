"""Revocation lists at URLs that realms name, beside those of the settings.

A list counts in the realms that name its URL alone. Only a certificate with a trusted path leads to
a download. The lists of a realm that was deleted, or names other URLs, are dropped.
Spec: RFC 5280 §6.3; attacks A10, A12
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gateway.crypto.revocation.downloaded_lists import DownloadedLists, renew_all
from gateway.crypto.revocation.list_set import RevocationListRule, end_of, is_listed
from gateway.crypto.revocation.revocation_list import RevocationList
from gateway.crypto.x509.parse import ParsedCertificate
from gateway.domain.certificates import CertificateFacts, CertificationPath
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.outgoing import DocumentUnavailable
from gateway.domain.realm import Realm


@dataclass(frozen=True, slots=True)
class RealmListStatus:
    """The lists of one realm that were used. `problem` says why a URL has none, or an old one."""

    realm: str
    age: timedelta | None
    next_update: datetime | None
    problem: str | None


def realm_list_status(
    realm: str, lists: Collection[DownloadedLists], now: datetime
) -> RealmListStatus:
    """Return the state of the lists of the realm with that name."""
    used = [item for each in lists for item in each.verified]
    next_update = min(map(end_of, used), default=None)
    problem = next((each.problem for each in lists if each.problem), None)
    if problem is None and next_update is not None and next_update < now:
        problem = "a list is stale"
    age = max((now - item.issued for item in used), default=None)
    return RealmListStatus(realm, age, next_update, problem)


LARGEST_OF_REALM: Final = 8 * 1024 * 1024
"""Bytes of one document; a list of 200,000 entries.

Larger ones are configured by REALMGATE_CLIENT_CRL_URLS.
"""
MOST_BYTES: Final = 128 * 1024 * 1024
"""Memory of a worker for the lists of all realms; a further list is not downloaded."""
_PAUSE: Final = timedelta(seconds=5)
CHECK_INTERVAL: Final = timedelta(minutes=1)
"""Between two looks whether realms still exist and name the same URLs."""
_AT_ONCE: Final = 2
"""Concurrent downloads of one realm, so that it cannot delay other realms."""


class RealmRevocationLists:
    """Revocations by the lists of realms; belongs to one event loop."""

    def __init__(
        self,
        fetch: Callable[[str], Awaitable[bytes]],
        clock: Clock,
        find_realm: Callable[[str], Awaitable[Realm | None]],
    ) -> None:
        """`fetch` raises DocumentUnavailable; `find_realm` finds a realm by name."""
        self._fetch = fetch
        self._clock = clock
        self._find_realm = find_realm
        self._urls: dict[str, tuple[str, tuple[str, ...]]] = {}
        """Name and URLs of each realm that has used its lists, by the realm's id."""
        self._lists: dict[str, DownloadedLists] = {}
        """By URL."""
        self._running: Counter[str] = Counter()
        """Downloads by the id of the realm whose slot they take."""
        self._changed = asyncio.Event()
        """Set, and replaced, when a slot is free or a realm names other URLs."""
        self._rule = RevocationListRule()
        self._checked_at = clock.now()

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        lists = await self._current(realm) if len(path.certificates) > 1 else ()
        if not lists:
            return None
        for link in path.links:
            refusal = self._refusal(link, lists, realm, now)
            if refusal is not None:
                return refusal
        return None

    async def is_revoked(
        self, certificate: CertificateFacts, issuer: ParsedCertificate, realm: Realm, now: datetime
    ) -> bool | None:
        """Return whether a list of the issuer names it; None without a current list."""
        return is_listed(_newest(issuer, await self._current(realm)), certificate.serial, now)

    def covering(
        self, path: CertificationPath, realm: Realm
    ) -> Iterator[tuple[str, datetime, datetime]]:
        """Yield authorities with a list, its issue and end, as of the last `refusal`."""
        urls = realm.certificates.revocation.list_urls
        lists = [self._lists[url] for url in urls if url in self._lists]
        for _, issuer in path.links:
            found = _newest(issuer, lists) if isinstance(issuer, ParsedCertificate) else None
            if found is not None:
                yield str(issuer.subject), found.issued, end_of(found)

    async def run(self) -> None:
        """Download due lists until cancelled."""
        while True:
            await self.refresh()
            await asyncio.sleep(_PAUSE.total_seconds())

    async def refresh(self) -> None:
        """Download all due lists, and drop lists that no realm names."""
        now = self._clock.now()
        if not self._checked_at <= now < self._checked_at + CHECK_INTERVAL:
            self._checked_at = now
            await self._check_realms()
        await renew_all(self._lists.values())

    def statuses(self, now: datetime) -> Iterator[RealmListStatus]:
        """Yield the state of the lists of each realm."""
        for name, urls in self._urls.values():
            yield realm_list_status(name, [self._lists[url] for url in urls], now)

    def _refusal(
        self,
        link: tuple[CertificateFacts, CertificateFacts],
        lists: Sequence[DownloadedLists],
        realm: Realm,
        now: datetime,
    ) -> str | None:
        issuer = link[1]
        if not isinstance(issuer, ParsedCertificate):
            return self._rule.refusal(link, None, "its issuer cannot be checked", realm, now)
        found = _newest(issuer, lists)
        missing = next(filter(None, (each.missing(issuer) for each in lists)), None)
        return self._rule.refusal(link, found, missing, realm, now)

    async def _current(self, realm: Realm) -> Sequence[DownloadedLists]:
        urls = realm.certificates.revocation.list_urls
        if not urls:
            return ()
        lists = self._follow(realm.id, realm.name, urls)
        await asyncio.gather(*(each.wait_for_first() for each in lists))
        return lists

    def _follow(self, realm_id: str, name: str, urls: tuple[str, ...]) -> list[DownloadedLists]:
        if self._urls.get(realm_id) != (name, urls):
            self._urls[realm_id] = (name, urls)
            for url in urls:
                if url not in self._lists:
                    self._lists[url] = DownloadedLists((url,), self._download, self._clock)
            self._drop_unused()
            self._wake()
        return [self._lists[url] for url in urls]

    async def _check_realms(self) -> None:
        for realm_id, (name, _) in tuple(self._urls.items()):
            try:
                realm = await self._find_realm(name)
            except StoreUnavailable:
                continue
            urls = () if realm is None else realm.certificates.revocation.list_urls
            if realm is None or realm.id != realm_id or not urls:
                self._urls.pop(realm_id, None)
            else:
                self._follow(realm_id, name, urls)
        self._drop_unused()

    def _drop_unused(self) -> None:
        named = {url for _, urls in self._urls.values() for url in urls}
        self._lists = {url: lists for url, lists in self._lists.items() if url in named}

    async def _download(self, url: str) -> bytes:
        if sum((lists.size for each, lists in self._lists.items() if each != url)) > MOST_BYTES:
            raise DocumentUnavailable(f"the lists of realms have more than {MOST_BYTES} bytes")
        # Waiting for a slot is no part of the time that a download may take.
        realm_id = await self._take_slot(url)
        try:
            return await self._fetch(url)
        finally:
            self._running[realm_id] -= 1
            self._running += Counter()  # drops counts of zero
            self._wake()

    async def _take_slot(self, url: str) -> str:
        """Wait for a free slot of any realm that names the URL, so that no realm delays others."""
        while True:
            owners = [each for each, (_, urls) in self._urls.items() if url in urls] or [""]
            for realm_id in owners:
                if self._running[realm_id] < _AT_ONCE:
                    self._running[realm_id] += 1
                    return realm_id
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _newest(issuer: ParsedCertificate, lists: Sequence[DownloadedLists]) -> RevocationList | None:
    of_issuer = (item for each in lists for item in each.find_lists(issuer))
    return max(of_issuer, key=lambda item: item.issued, default=None)
