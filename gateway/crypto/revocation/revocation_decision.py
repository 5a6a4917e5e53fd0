"""Whether a certificate was revoked, by lists in a file and at URLs.

As with nginx, every authority of the settings needs a list, and a list past its next update refuses
all certificates of its authority, unless a setting of the realm accepts them. Other authorities of
a path, such as a realm's own, need no list; an existing one is used. The newest list of an
authority counts. The file is read again when it changes; when it becomes unreadable, the lists read
before stay in force until they are stale. Spec: RFC 5280 §5, §6.3; attacks A9, A10
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

import structlog

from gateway.crypto.revocation.downloaded_lists import DownloadedLists, parse_revocation_lists
from gateway.crypto.revocation.list_set import (
    RevocationListRule,
    RevocationListSet,
    end_of,
    is_listed,
)
from gateway.crypto.revocation.revocation_list import RevocationList, SerialNumbers
from gateway.crypto.x509.authorities import LONGEST_WAIT, AuthorityBundle, WatchedFile
from gateway.crypto.x509.parse import ParsedCertificate
from gateway.domain.certificates import CertificateFacts, CertificationPath
from gateway.domain.limits.caches import SingleFlight
from gateway.domain.ports.certificates import NO_LIST
from gateway.domain.realm import Realm


@dataclass(frozen=True, slots=True)
class RevocationStatus:
    """Age of the oldest list, first end, and why the present file cannot be used."""

    age: timedelta | None
    next_update: datetime | None
    problem: str | None


class RevocationLists:
    """The revocation lists of the settings. Belongs to one event loop."""

    def __init__(
        self, file: Path | None, bundle: AuthorityBundle, downloads: DownloadedLists | None = None
    ) -> None:
        """Read the file; raises OSError or ValueError. Each authority of `bundle` needs a list."""
        self._file = None if file is None else WatchedFile(file)
        self._downloads = downloads
        self._bundle = bundle
        self._edition: int | None = None
        self._required: frozenset[bytes] = frozenset()
        self._lists = RevocationListSet(
            () if self._file is None else parse_revocation_lists(self._file.read_content())
        )
        self._problem: str | None = None
        self._reading: SingleFlight[str, None] = SingleFlight()
        self._rule = RevocationListRule()

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        if self._downloads is not None or (
            self._file is not None and self._file.may_have_changed()
        ):
            await self._renew_lists()
        for certificate, issuer in pairwise(path.certificates):
            found = self._find_list(issuer) if isinstance(issuer, ParsedCertificate) else None
            if found is not None and found.clears(certificate.serial, now):
                continue
            missing = self._missing(issuer) if found is None else None
            refusal = self._rule.refusal((certificate, issuer), found, missing, realm, now)
            if refusal is not None:
                return refusal
        return None

    async def is_revoked(
        self,
        certificate: CertificateFacts,
        issuer: ParsedCertificate,
        realm: Realm,  # noqa: ARG002 - these lists count in every realm
        now: datetime,
    ) -> bool | None:
        """Return whether a list of the issuer names it; None without a current list."""
        await self._renew_lists()
        return is_listed(self._find_list(issuer), certificate.serial, now)

    async def renew(self) -> None:
        """Read changed files again; a large one continues in the background."""
        await self._bundle.renew()
        await self._renew_lists()

    async def _renew_lists(self) -> None:
        if self._downloads is not None:
            await self._downloads.wait_for_first()
        if self._file is not None and self._file.may_have_changed():
            task = self._reading.start("", partial(self._read_again, self._file))
            await asyncio.wait((task,), timeout=LONGEST_WAIT.total_seconds())

    def status(self, now: datetime) -> RevocationStatus:
        """Return the state of the lists that were read last."""
        found = [self._find_list(authority) for authority in self._bundle]
        lists = [item for item in found if item is not None]
        next_update = min(map(end_of, lists), default=None)
        of_urls = None if self._downloads is None else self._downloads.problem
        problem = self._problem or of_urls
        if problem is None and (next_update is None or next_update < now):
            problem = "no list of a known authority" if next_update is None else "a list is stale"
        return RevocationStatus(
            age=max((now - item.issued for item in lists), default=None),
            next_update=next_update,
            problem=problem,
        )

    def gaps(self, now: datetime) -> Iterator[tuple[ParsedCertificate, str]]:
        """Yield each authority whose certificates are refused for want of a list, and why."""
        for authority in self._bundle:
            found = self._find_list(authority)
            if found is None:
                yield authority, self._lists.reason(authority) or "there is none"
            elif now > end_of(found):
                yield authority, f"it ended at {end_of(found).isoformat(' ', 'minutes')}"
            elif now < found.issued:
                yield authority, f"it begins at {found.issued.isoformat(' ', 'minutes')}"

    def validity(self) -> Iterator[tuple[ParsedCertificate, datetime, datetime]]:
        """Yield each authority that has a list, when it was issued and when it expires."""
        for authority in self._bundle:
            found = self._find_list(authority)
            if found is not None:
                yield authority, found.issued, end_of(found)

    def covering(
        self,
        path: CertificationPath,
        realm: Realm,  # noqa: ARG002 - these lists count in every realm
    ) -> Iterator[tuple[str, datetime, datetime]]:
        """Yield the authorities of a path that have a list, when it was issued and when it ends."""
        for _, issuer in path.links:
            found = self._find_list(issuer) if isinstance(issuer, ParsedCertificate) else None
            if found is not None:
                yield str(issuer.subject), found.issued, end_of(found)

    def serials_of(self, authority: ParsedCertificate) -> SerialNumbers | None:
        """Return the revoked serial numbers; None without a usable list."""
        found = self._find_list(authority)
        return None if found is None else found.serials

    def _find_list(self, authority: ParsedCertificate) -> RevocationList | None:
        of_file = self._lists.find_list(authority)
        if self._downloads is None:
            return of_file
        found = [] if of_file is None else [of_file]
        found.extend(self._downloads.find_lists(authority))
        return max(found, key=lambda item: item.issued, default=None)

    def _missing(self, issuer: CertificateFacts) -> str | None:
        if self._bundle.edition != self._edition:
            self._edition = self._bundle.edition
            self._required = frozenset(authority.digest for authority in self._bundle)
        reason = self._lists.reason(issuer) if isinstance(issuer, ParsedCertificate) else None
        if reason is not None:
            return f"{NO_LIST} of {issuer.subject} that can be used: {reason}"
        if issuer.digest in self._required:
            return f"{NO_LIST} of {issuer.subject}"
        return None

    async def _read_again(self, file: WatchedFile) -> None:
        try:
            lists = await asyncio.to_thread(_read_lists, file)
            if lists is not None:
                self._lists = lists
                self._problem = None
        except (OSError, ValueError) as error:
            self._report(f"{file.path} cannot be read: {error}")

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            structlog.get_logger().error("revocation lists not renewed", reason=problem)


def _read_lists(file: WatchedFile) -> RevocationListSet | None:
    """Return the lists of a changed file; in a thread, since a large one takes long."""
    content = file.read_if_changed()
    return None if content is None else RevocationListSet(parse_revocation_lists(content))
