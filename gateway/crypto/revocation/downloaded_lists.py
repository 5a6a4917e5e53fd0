"""Revocation lists at URLs of the operator, a realm or a certificate, renewed before they expire.

A list that cannot be downloaded stays in force until it is stale. An older list than the one in
force does not replace it, since lists usually come over http, where an old list could be replayed.
A response has PEM blocks, or one list in DER; it is decoded in pieces, so that other threads run.
Spec: RFC 5280 §4.2.1.13, §5.1.2.5, §8; RFC 7468 §6; attacks A10
"""

import asyncio
import binascii
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from gateway.crypto.der import SEQUENCE
from gateway.crypto.revocation.list_set import DistributionPoint, RevocationListSet
from gateway.crypto.revocation.revocation_list import RevocationList, parse_revocation_list
from gateway.crypto.x509.parse import ParsedCertificate
from gateway.domain.clock import Clock
from gateway.domain.limits.caches import SingleFlight
from gateway.domain.ports.outgoing import DocumentUnavailable

LARGEST_DOCUMENT: Final = 128 * 1024 * 1024
"""Bytes of all lists of a document; PEM takes a third more than DER."""
MOST_LISTS: Final = 1_000
_BEGIN: Final = b"-----BEGIN X509 CRL-----"
_END: Final = b"-----END X509 CRL-----"
_ARMOR: Final = b"-----"
_SPACE: Final = b" \t\r\n"
_PIECE: Final = 256 * 1024


def parse_revocation_lists(document: bytes) -> tuple[RevocationList, ...]:
    """Return all lists; raises ValueError for none, for a block cut short and for too many."""
    if len(document) > LARGEST_DOCUMENT:
        raise ValueError(f"the revocation lists have more than {LARGEST_DOCUMENT} bytes")
    found: list[RevocationList] = []
    for der in _lists(document):
        if len(found) == MOST_LISTS:
            raise ValueError(f"there are more than {MOST_LISTS} revocation lists")
        found.append(parse_revocation_list(der))
    return tuple(found)


def _lists(document: bytes) -> Iterator[bytes]:
    if document[:1] == bytes((SEQUENCE,)):
        yield document
        return
    at = document.find(_BEGIN)
    if at < 0 or _ARMOR in document[:at]:
        raise ValueError("not a file of whole PEM revocation lists")
    while at < len(document):
        begin = at + len(_BEGIN)
        end = document.find(_ARMOR, begin)
        if end < 0 or not document.startswith(_END, end):
            raise ValueError("not a file of whole PEM revocation lists")
        yield _decoded(document, begin, end)
        end += len(_END)
        at = document.find(_BEGIN, end)
        at = len(document) if at < 0 else at
        if _ARMOR in document[end:at]:
            raise ValueError("not a file of whole PEM revocation lists")


def _decoded(document: bytes, begin: int, end: int) -> bytes:
    decoded, rest = bytearray(), b""
    try:
        for at in range(begin, end, _PIECE):
            rest += document[at : min(at + _PIECE, end)].translate(None, _SPACE)
            whole = len(rest) // 4 * 4
            decoded += binascii.a2b_base64(rest[:whole], strict_mode=True)
            rest = rest[whole:]
        decoded += binascii.a2b_base64(rest, strict_mode=True)
    except binascii.Error as error:
        raise ValueError("a PEM revocation list is not base64") from error
    return bytes(decoded)


INTERVAL: Final = timedelta(hours=1)
"""The longest time between two downloads of a URL."""
RETRY: Final = timedelta(seconds=30)
"""The shortest, and the time after a failure."""
_PAUSE: Final = timedelta(seconds=5)
LONGEST_WAIT: Final = timedelta(seconds=1)
"""Of requests that come before the first download."""


class DownloadedLists:
    """The lists at `urls`; belongs to one event loop."""

    def __init__(
        self,
        urls: Sequence[str],
        fetch: Callable[[str], Awaitable[bytes]],
        clock: Clock,
        on_download: Callable[[], object] = bool,
    ) -> None:
        """`fetch` raises DocumentUnavailable; `on_download` is called after a change."""
        self._on_download = on_download
        self._fetch = fetch
        self._clock = clock
        self._lists = dict.fromkeys(urls, RevocationListSet())
        self._due: dict[str, datetime | None] = dict.fromkeys(urls)
        self._failures: dict[str, str] = {}
        self._attempted = False
        self._waiting_since: float | None = None
        self._first: SingleFlight[str, None] = SingleFlight()

    @property
    def problem(self) -> str | None:
        """Why a URL has no list, or an outdated one."""
        return next(iter(self._failures.values()), None)

    def find_lists(self, authority: ParsedCertificate) -> Iterable[RevocationList]:
        """Yield the newest list of the authority from each URL that has one."""
        for lists in self._lists.values():
            found = lists.find_list(authority)
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

    def reason_at(self, issuer: ParsedCertificate) -> str | None:
        """Return why no downloaded list of the issuer is usable; else None."""
        found = (each.reason_at(issuer) for each in self._lists.values() if not each.is_empty)
        return next(found, None)

    async def renew(self) -> None:
        """Download the lists that are due, once for all waiting callers."""
        await self._first.run("", self.refresh)

    async def run(self) -> None:
        """Download due lists until cancelled."""
        while True:
            await self.renew()
            await asyncio.sleep(_PAUSE.total_seconds())

    async def wait_for_first(self, longest: timedelta = LONGEST_WAIT) -> None:
        """Wait until every URL was tried, for `longest` at most.

        No caller waits later than `LONGEST_WAIT` after the first caller began to.
        """
        if self._attempted:
            return
        now = asyncio.get_running_loop().time()
        if self._waiting_since is None:
            self._waiting_since = now
        task = self._first.start("", self.refresh)
        left = self._waiting_since + LONGEST_WAIT.total_seconds() - now
        timeout = min(left, longest.total_seconds())
        if timeout > 0:
            await asyncio.wait((task,), timeout=timeout)

    @property
    def is_attempted(self) -> bool:
        """Return whether no caller needs to wait for a first download."""
        return self._attempted

    def wait_again(self) -> None:
        """Let callers wait for the next download as for the first one, where it is due."""
        now = self._clock.now()
        if self._attempted and any(due is None or due <= now for due in self._due.values()):
            self._attempted, self._waiting_since = False, None

    def is_current(self, now: datetime) -> bool:
        """Return whether a list that was found by the key of an authority has not ended."""
        return any(item.next_update and item.next_update >= now for item in self.verified)

    def find_at(
        self, point: DistributionPoint, issuer: ParsedCertificate, *, authority: bool
    ) -> RevocationList | None:
        """Return the newest list of the issuer that is about a certificate with this point."""
        found = (
            lists.find_at(point, issuer, authority=authority) for lists in self._lists.values()
        )
        known = (item for item in found if item is not None)
        return max(known, key=lambda item: item.issued, default=None)

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
            lists, merged = await asyncio.to_thread(_merged, self._lists[url], content, now)
        except (DocumentUnavailable, ValueError) as error:
            self._due[url] = now + RETRY
            problem = f"{url} cannot be used: {error}"
            if self._failures.get(url) != problem:
                self._failures[url] = problem
                structlog.get_logger().error("revocation list not downloaded", reason=problem)
            return
        self._lists[url] = merged
        self._failures.pop(url, None)
        self._due[url] = now + _until_next(lists, now)
        self._on_download()


async def renew_all(lists: Iterable[DownloadedLists]) -> None:
    """Download what is due; downloads beyond `LONGEST_WAIT` continue in the background."""
    renewals = [asyncio.ensure_future(each.renew()) for each in lists]
    if renewals:
        # A server that does not answer delays its own lists only.
        await asyncio.wait(renewals, timeout=LONGEST_WAIT.total_seconds())


def _merged(
    known: RevocationListSet, content: bytes, now: datetime
) -> tuple[tuple[RevocationList, ...], RevocationListSet]:
    """Return the lists of a document, and the set in force with it; raises ValueError."""
    lists = parse_revocation_lists(content)
    return lists, known.replaced_by(lists, now)


def _until_next(lists: Iterable[RevocationList], now: datetime) -> timedelta:
    """Return when to download again: after half of the time that the first list has left."""
    ends = [item.next_update for item in lists if item.next_update is not None]
    return max(RETRY, min(INTERVAL, (min(ends, default=now) - now) / 2))
