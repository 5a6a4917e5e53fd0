"""Revocation lists at the distribution points of certificates, for realms that follow these.

A list counts in the realm whose certificate named its address. The operator does not choose the
URLs in certificates, so everything is bounded: bytes and time of a download, downloads at the same
time of a server and of a realm, and the memory of all lists. The realm that uses the most memory
loses its least recently used list first.

Only certificates of a trusted path are evaluated, from the anchor downwards: an address is followed
once the authorities above its certificate are not revoked. If no list can be downloaded, a current
list that is configured is enough. Spec: RFC 5280 §4.2.1.13, §6.3; attacks A10, C21
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from gateway.crypto.revocation.downloaded_lists import LONGEST_WAIT, DownloadedLists, renew_all
from gateway.crypto.revocation.list_set import (
    CertificatePoints,
    RevocationListRule,
    distribution_points_of,
    end_of,
    is_listed,
)
from gateway.crypto.revocation.realm_lists import CHECK_INTERVAL, RealmListStatus, realm_list_status
from gateway.crypto.revocation.revocation_list import RevocationList
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.domain.certificates import CertificateFacts, CertificationPath, PresentedCertificate
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits.caches import SingleFlight, SizedCache
from gateway.domain.ports.outgoing import DocumentUnavailable
from gateway.domain.realm import Realm

LARGEST_AT_POINT: Final = 8 * 1024 * 1024
"""Bytes of one document; a list of 200,000 entries."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Memory of a worker for the lists of all points."""
POINT_BYTES: Final = 16 * 1024
"""Memory of a point besides its lists, with its address of at most 2 kB."""
IDLE: Final = timedelta(hours=1)
"""A list that no certificate needed for so long is not downloaded ahead."""
OF_A_REALM: Final = 4
"""Concurrent downloads of one realm, so that it cannot delay other realms."""
OF_A_SERVER: Final = 2
"""Of these, downloads from one server."""
MOST_WAITING: Final = 256
"""Downloads of one realm that run or wait; a further one fails, and is tried again later."""
TOO_MANY: Final = "too many downloads of the realm wait"
_PAUSE: Final = timedelta(seconds=5)
_ROOM: Final = 8
"""When the memory is full, one part of so many is made free."""


@dataclass(slots=True)
class _Point:
    """The list at one address."""

    lists: DownloadedLists
    used_at: datetime

    @property
    def size(self) -> int:
        return POINT_BYTES + self.lists.size


@dataclass(slots=True)
class _RealmSlots:
    """The downloads that a realm may have at the same time."""

    all: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(OF_A_REALM))
    by_server: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    waiting: int = 0
    """Running downloads included."""


class PointLists:
    """The lists at distribution points; belongs to one event loop."""

    def __init__(
        self,
        fetch: Callable[[str], Awaitable[bytes]],
        clock: Clock,
        find_realm: Callable[[str], Awaitable[Realm | None]],
        *,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`fetch` raises DocumentUnavailable; `find_realm` finds a realm by name."""
        self._fetch = fetch
        self._clock = clock
        self._find_realm = find_realm
        self._most_bytes = most_bytes
        self._points: dict[tuple[str, str], _Point] = {}
        """By the realm's id and the URL, the least recently used first."""
        self._names: dict[str, str] = {}
        """Of realms, by their id."""
        self._slots: defaultdict[str, _RealmSlots] = defaultdict(_RealmSlots)
        """By the realm's id."""
        self._downloading: SingleFlight[str, bytes] = SingleFlight()
        self._bytes = 0
        """At least what `_points` weighs."""
        self._checked_at = clock.now()

    async def current(
        self, realm: Realm, urls: Sequence[str], now: datetime, longest: timedelta = LONGEST_WAIT
    ) -> tuple[DownloadedLists, ...]:
        """Return the known list of each address; waits for first downloads, `longest` at most."""
        self._names[realm.id] = realm.name
        lists = tuple(self._use(realm.id, url, now) for url in urls)
        waiting = [each.wait_for_first(longest) for each in lists if not each.is_attempted]
        if waiting:
            await asyncio.gather(*waiting)
        return lists

    def known(self, realm: Realm, url: str) -> DownloadedLists | None:
        """Return the known list of the address, without a download."""
        point = self._points.get((realm.id, url))
        return None if point is None else point.lists

    @property
    def size(self) -> int:
        """About the bytes that all lists take in memory."""
        return sum(point.size for point in self._points.values())

    async def run(self) -> None:
        """Download due lists until cancelled."""
        while True:
            await self.refresh()
            await asyncio.sleep(_PAUSE.total_seconds())

    async def refresh(self) -> None:
        """Download lists in use before they expire, and drop unused lists."""
        now = self._clock.now()
        if not self._checked_at <= now < self._checked_at + CHECK_INTERVAL:
            self._checked_at = now
            await self._check_realms()
        for key, point in tuple(self._points.items()):
            if not _is_used(point, now) and not point.lists.is_current(now):
                del self._points[key]
        await renew_all(point.lists for point in self._points.values() if _is_used(point, now))

    def statuses(self, now: datetime) -> Iterator[RealmListStatus]:
        """Yield the state of the lists of each realm that are in use."""
        by_realm: defaultdict[str, list[DownloadedLists]] = defaultdict(list)
        for (realm_id, _), point in self._points.items():
            if _is_used(point, now):
                by_realm[realm_id].append(point.lists)
        for realm_id, lists in by_realm.items():
            yield realm_list_status(self._names[realm_id], lists, now)

    def _use(self, realm_id: str, url: str, now: datetime) -> DownloadedLists:
        key = (realm_id, url)
        point = self._points.pop(key, None)
        if point is None:
            lists = DownloadedLists(
                (url,), lambda each: self._download(realm_id, each), self._clock, self._make_room
            )
            point = _Point(lists, now)
            self._bytes += POINT_BYTES
        elif not _is_used(point, now):
            point.lists.wait_again()
        point.used_at = now
        self._points[key] = point
        if self._bytes > self._most_bytes:
            self._make_room()
        return point.lists

    async def _download(self, realm_id: str, url: str) -> bytes:
        slots = self._slots[realm_id]
        if slots.waiting >= MOST_WAITING:
            raise DocumentUnavailable(TOO_MANY)
        of_server = slots.by_server.setdefault(_server_of(url), asyncio.Semaphore(OF_A_SERVER))
        slots.waiting += 1
        try:
            # Waiting for a slot is no part of the time that a download may take.
            async with of_server, slots.all:
                return await self._downloading.run(url, lambda: self._fetched(url))
        finally:
            slots.waiting -= 1

    async def _fetched(self, url: str) -> bytes:
        return await self._fetch(url)

    def _make_room(self) -> None:
        weights = {key: point.size for key, point in self._points.items()}
        self._bytes = sum(weights.values())
        if self._bytes <= self._most_bytes:
            return
        of_realms: defaultdict[str, int] = defaultdict(int)
        for (realm_id, _), weight in weights.items():
            of_realms[realm_id] += weight
        while self._bytes > self._most_bytes - self._most_bytes // _ROOM:
            heaviest = max(of_realms, key=of_realms.__getitem__)
            key = next(each for each in self._points if each[0] == heaviest)
            del self._points[key]
            of_realms[heaviest] -= weights[key]
            self._bytes -= weights[key]

    async def _check_realms(self) -> None:
        """Drop the lists of realms that are gone or follow no points any more."""
        for realm_id, name in tuple(self._names.items()):
            try:
                realm = await self._find_realm(name)
            except StoreUnavailable:
                continue
            is_same = realm is not None and realm.id == realm_id
            if realm is None or not is_same or not realm.certificates.revocation.follows_points:
                self._names.pop(realm_id, None)
        known = self._names.keys()
        self._points = {key: each for key, each in self._points.items() if key[0] in known}
        servers: defaultdict[str, set[str]] = defaultdict(set)
        for realm_id, url in self._points:
            servers[realm_id].add(_server_of(url))
        for realm_id, slots in tuple(self._slots.items()):
            for server in slots.by_server.keys() - servers[realm_id]:
                del slots.by_server[server]
            if not slots.by_server:
                del self._slots[realm_id]


def _server_of(url: str) -> str:
    """Return host and port as written; the fetcher refuses invalid addresses."""
    return url.split("/", 3)[2].lower()


def _is_used(point: _Point, now: datetime) -> bool:
    return now < point.used_at + IDLE


_READ_BYTES: Final = 1024 * 1024
"""Memory of a worker for lists that certificates name."""
_NOT_KNOWN: Final = CertificatePoints(problem="its distribution points are not known")


class ListedCertificates(Protocol):
    """Lists of revoked certificates."""

    async def is_revoked(
        self, certificate: CertificateFacts, issuer: ParsedCertificate, realm: Realm, now: datetime
    ) -> bool | None:
        """Return the status by a current list, None without; an ended list still revokes."""


class PointRevocations:
    """Revocations by the lists that certificates name. Belongs to one event loop."""

    def __init__(self, points: PointLists, configured: Sequence[ListedCertificates] = ()) -> None:
        self._points = points
        self._configured = configured
        self._read: SizedCache[bytes, CertificatePoints] = SizedCache(_READ_BYTES)
        self._rule = RevocationListRule()

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        if not realm.certificates.revocation.follows_points or len(path.certificates) == 1:
            return None
        loop = asyncio.get_running_loop()
        deadline = loop.time() + LONGEST_WAIT.total_seconds()
        for link in reversed(tuple(path.links)):
            longest = timedelta(seconds=deadline - loop.time())
            refusal = await self._refusal(link, realm, now, longest)
            if refusal is not None:
                return refusal
        return None

    async def is_revoked(
        self, certificate: CertificateFacts, issuer: ParsedCertificate, realm: Realm, now: datetime
    ) -> bool | None:
        """Return whether a list of the issuer names it; None without a current list."""
        if not realm.certificates.revocation.follows_points:
            return None
        named = self._named(certificate)
        lists = await self._points.current(realm, named.urls, now)
        found = _newest(named, issuer, dict(zip(named.urls, lists, strict=True)))
        return is_listed(found, certificate.serial, now)

    def covering(
        self, path: CertificationPath, realm: Realm
    ) -> Iterator[tuple[str, datetime, datetime]]:
        """Yield authorities with a list, its issue and end, as of the last `refusal`."""
        for certificate, issuer in path.links:
            named = self._named(certificate)
            known = {url: self._points.known(realm, url) for url in named.urls}
            lists = {url: each for url, each in known.items() if each is not None}
            if isinstance(issuer, ParsedCertificate):
                found = _newest(named, issuer, lists)
                if found is not None:
                    yield str(issuer.subject), found.issued, end_of(found)

    async def _refusal(
        self,
        link: tuple[CertificateFacts, CertificateFacts],
        realm: Realm,
        now: datetime,
        longest: timedelta,
    ) -> str | None:
        certificate, issuer = link
        named = self._named(certificate)
        if not named.are_named:
            return None
        if not isinstance(issuer, ParsedCertificate):
            return self._rule.refusal(link, None, "its issuer cannot be checked", realm, now)
        lists = await self._points.current(realm, named.urls, now, longest)
        by_url = dict(zip(named.urls, lists, strict=True))
        found = _newest(named, issuer, by_url)
        if is_listed(found, certificate.serial, now) is None:
            for source in self._configured:
                if await source.is_revoked(certificate, issuer, realm, now) is False:
                    return None
        missing = _missing(certificate, named, issuer, by_url) if found is None else None
        return self._rule.refusal(link, found, missing, realm, now)

    def _named(self, certificate: CertificateFacts) -> CertificatePoints:
        if not isinstance(certificate, ParsedCertificate | PresentedCertificate):
            # Facts from a token. The certificate with that digest may be presented, now or later.
            return _NOT_KNOWN
        known = self._read.get(certificate.digest)
        if known is None:
            known = _points_of(certificate)
            self._read.put(certificate.digest, known)
        return known


def _points_of(certificate: ParsedCertificate | PresentedCertificate) -> CertificatePoints:
    if isinstance(certificate, PresentedCertificate):
        return distribution_points_of(parse_certificate(certificate.der))
    return distribution_points_of(certificate)


def _newest(
    named: CertificatePoints, issuer: ParsedCertificate, lists: dict[str, DownloadedLists]
) -> RevocationList | None:
    found = (
        lists[url].find_at(point, issuer, authority=named.authority)
        for point in named.points
        for url in point.urls
        if url in lists
    )
    known = (item for item in found if item is not None)
    return max(known, key=lambda item: item.issued, default=None)


def _missing(
    certificate: CertificateFacts,
    named: CertificatePoints,
    issuer: ParsedCertificate,
    lists: dict[str, DownloadedLists],
) -> str:
    """Return why no list is there, in words without an address: callers read it."""
    who = f"the revocation list that {certificate.subject} names"
    if named.problem is not None:
        return f"{who} cannot be used: {named.problem}"
    reasons = (each.reason_at(issuer) for each in lists.values())
    reason = next(filter(None, reasons), "it could not be downloaded")
    return f"{who} cannot be used: {reason}"
