"""Whether a certificate was revoked, by the lists at the distribution points that it names.

Only the certificates of a trusted path are asked, from the anchor downwards: an address is followed
once the authorities above its certificate are known to be good. A certificate without a point says
nothing here. Where no list can be downloaded, a current list that is configured is enough.
Spec: RFC 5280 §6.3.3; attacks A10, C21
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol

from gateway.crypto.revocation.distribution_points import (
    CertificatePoints,
    distribution_points_of,
)
from gateway.crypto.revocation.downloads import LONGEST_WAIT, DownloadedLists
from gateway.crypto.revocation.list_rule import RevocationListRule, end_of, is_listed
from gateway.crypto.revocation.point_lists import PointLists
from gateway.crypto.revocation.revocation_list import RevocationList
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.domain.certificates import CertificateFacts, CertificationPath, PresentedCertificate
from gateway.domain.limits.caches import SizedCache
from gateway.domain.realm import Realm, certificate_revocation_of

_READ_BYTES: Final = 1024 * 1024
"""Memory of a worker for what certificates name."""
_NOT_KNOWN: Final = CertificatePoints(problem="its distribution points are not known")


class ListedCertificates(Protocol):
    """Lists of revoked certificates."""

    async def is_revoked(
        self, certificate: CertificateFacts, issuer: ParsedCertificate, realm: Realm, now: datetime
    ) -> bool | None:
        """Tell whether a list of the issuer names the certificate; None without a current list.

        A certificate on a list that has ended is revoked all the same.
        """


class PointRevocations:
    """Revocations by the lists that certificates name. Belongs to one event loop."""

    def __init__(self, points: PointLists, configured: Sequence[ListedCertificates] = ()) -> None:
        """Take the lists that are configured, each of which is enough where it is current."""
        self._points = points
        self._configured = configured
        self._read: SizedCache[bytes, CertificatePoints] = SizedCache(_READ_BYTES)
        self._rule = RevocationListRule()

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        if not certificate_revocation_of(realm).follows_points or len(path.certificates) == 1:
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
        """Tell whether a list of the issuer names the certificate; None without a current list."""
        if not certificate_revocation_of(realm).follows_points:
            return None
        named = self._named(certificate)
        lists = await self._points.current(realm, named.urls, now)
        found = _newest(named, issuer, dict(zip(named.urls, lists, strict=True)))
        return is_listed(found, certificate.serial, now)

    def covering(
        self, path: CertificationPath, realm: Realm
    ) -> Iterator[tuple[str, datetime, datetime]]:
        """Yield the authorities of a path that have a list, when it was issued and when it ends.

        The lists are those of the last `refusal`.
        """
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
        """Return what a certificate names; it was parsed before, so it can be read again."""
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
    """Return the newest list of the issuer that is about the certificate."""
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
