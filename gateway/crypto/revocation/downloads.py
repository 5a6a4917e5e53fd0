"""Revocation lists at URLs of the operator, downloaded again before they end.

A list that cannot be downloaded stays in force until it is stale. An older list than the one in
force does not replace it, since lists usually come over http, where nothing else keeps a former one
from being sent again. Spec: RFC 5280 §5.1.2.5, §8; attacks A10
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from gateway.crypto.revocation.documents import parse_revocation_lists
from gateway.crypto.revocation.list_set import RevocationListSet
from gateway.crypto.revocation.revocation_list import RevocationList
from gateway.crypto.x509.parse import ParsedCertificate
from gateway.domain.clock import Clock
from gateway.domain.limits.single_flight import SingleFlight
from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable

INTERVAL: Final = timedelta(hours=1)
"""The longest time between two downloads of a URL."""
RETRY: Final = timedelta(seconds=30)
"""The shortest, and the time after a failure."""
_PAUSE: Final = timedelta(seconds=5)
_LONGEST_WAIT: Final = timedelta(seconds=1)
"""Of a request that comes before the first download."""


class DownloadedLists:
    """The lists at `urls`; belongs to one event loop."""

    def __init__(
        self, urls: Sequence[str], fetch: Callable[[str], Awaitable[bytes]], clock: Clock
    ) -> None:
        """Take `fetch`, which raises DocumentUnavailable."""
        self._fetch = fetch
        self._clock = clock
        self._lists = dict.fromkeys(urls, RevocationListSet())
        self._due: dict[str, datetime | None] = dict.fromkeys(urls)
        self._failures: dict[str, str] = {}
        self._attempted = False
        self._first: SingleFlight[str, None] = SingleFlight()

    @property
    def problem(self) -> str | None:
        """Why a URL has no list, or an outdated one."""
        return next(iter(self._failures.values()), None)

    def find(self, authority: ParsedCertificate) -> Iterable[RevocationList]:
        """Yield the newest list of the authority from each URL that has one."""
        for lists in self._lists.values():
            found = lists.find(authority)
            if found is not None:
                yield found

    @property
    def verified(self) -> frozenset[RevocationList]:
        """The lists that were found by the key of an authority."""
        return frozenset(item for lists in self._lists.values() for item in lists.verified)

    @property
    def size(self) -> int:
        """About the bytes that the lists take in memory."""
        return sum(lists.size for lists in self._lists.values())

    def missing(self, authority: ParsedCertificate) -> str | None:
        """Return why there may be a list of the authority that cannot be used."""
        for lists in self._lists.values():
            if lists.is_empty:
                return "a revocation list of the realm could not be downloaded"
            reason = lists.reason(authority)
            if reason is not None:
                subject = authority.subject
                return f"there is no revocation list of {subject} that can be used: {reason}"
        return None

    async def renew(self) -> None:
        """Download what is due, once for all who wait."""
        await self._first.run("", self.refresh)

    async def run(self) -> None:
        """Download what is due, until cancelled."""
        while True:
            await self.renew()
            await asyncio.sleep(_PAUSE.total_seconds())

    async def wait_for_first(self) -> None:
        """Return once every URL was tried, or after a second."""
        if not self._attempted:
            task = self._first.start("", self.refresh)
            await asyncio.wait((task,), timeout=_LONGEST_WAIT.total_seconds())

    async def refresh(self) -> None:
        """Download every list that is due; a failure is logged once."""
        now = self._clock.now()
        await asyncio.gather(
            *(
                self._download(url, now)
                for url, due in self._due.items()
                if due is None or due <= now
            )
        )
        self._attempted = True

    async def _download(self, url: str, now: datetime) -> None:
        try:
            content = await self._fetch(url)
            lists = await asyncio.to_thread(parse_revocation_lists, content)
        except (DocumentUnavailable, ValueError) as error:
            self._due[url] = now + RETRY
            problem = f"{url} cannot be used: {error}"
            if self._failures.get(url) != problem:
                self._failures[url] = problem
                structlog.get_logger().error("revocation list not downloaded", reason=problem)
            return
        kept = [item for item in self._lists[url].newest if _is_newer(item, lists)]
        self._lists[url] = RevocationListSet((*lists, *kept))
        self._failures.pop(url, None)
        self._due[url] = now + _until_next(lists, now)


def _is_newer(known: RevocationList, lists: Iterable[RevocationList]) -> bool:
    """Tell whether the document has lists of that issuer, all older than the known one."""
    of_issuer = [item.issued for item in lists if item.issuer == known.issuer]
    return bool(of_issuer) and max(of_issuer) < known.issued


def _until_next(lists: Iterable[RevocationList], now: datetime) -> timedelta:
    """Return when to download again: after half of the time that the first list has left."""
    ends = [item.next_update for item in lists if item.next_update is not None]
    left = min(ends, default=now) - now
    return max(RETRY, min(INTERVAL, left / 2))
