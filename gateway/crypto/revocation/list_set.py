"""Revocation lists by the authority whose key signed them, and their effect on a certificate.

An authority need not be known when the lists are read: its signature is verified when a path first
contains it, over a digest that was computed with the list. Spec: RFC 5280 §4.2.1.13, §6.3; attacks
A9, A10
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import structlog
from cryptography import x509

from gateway.crypto.revocation.revocation_list import ListScope, RevocationList
from gateway.crypto.x509.parse import ParsedCertificate
from gateway.domain.certificates import CertificateFacts
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.certificates import WAS_REVOKED
from gateway.domain.realm import Realm

MOST_URLS: Final = 3
"""Addresses of one certificate that lists are downloaded from; further ones do not count."""
_MOST_NAMES: Final = 20
"""Names of a point that are compared with the names of a list."""
_LONGEST_URL: Final = 2048
_SCHEMES: Final = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class DistributionPoint:
    """The place of one list: `urls` all lead to it, `names` are its possible names."""

    urls: tuple[str, ...]
    names: frozenset[x509.GeneralName] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CertificatePoints:
    """Distribution points; `problem`: why none can be downloaded, None if none is named."""

    points: tuple[DistributionPoint, ...] = ()
    problem: str | None = None
    authority: bool = False
    """Whether the certificate belongs to an authority."""

    @property
    def are_named(self) -> bool:
        """Return whether the certificate names a point, whether it can be used or not."""
        return bool(self.points) or self.problem is not None

    @property
    def urls(self) -> tuple[str, ...]:
        """All addresses, each once."""
        return tuple(dict.fromkeys(url for point in self.points for url in point.urls))


def distribution_points_of(certificate: ParsedCertificate) -> CertificatePoints:
    """Return the points of a certificate, in its order, with MOST_URLS addresses together."""
    constraints = certificate.extension(x509.BasicConstraints)
    authority = constraints is not None and constraints.ca
    named = certificate.extension(x509.CRLDistributionPoints)
    if named is None:
        return CertificatePoints(authority=authority)
    points: list[DistributionPoint] = []
    problem, free = "its distribution points name no http address", MOST_URLS
    for each in named:
        unusable = _unusable(each)
        if unusable is not None:
            problem = unusable
            continue
        urls = _urls(each)[:free]
        if urls:
            free -= len(urls)
            points.append(DistributionPoint(urls, frozenset((each.full_name or ())[:_MOST_NAMES])))
    return CertificatePoints(tuple(points), None if points else problem, authority)


def _unusable(point: x509.DistributionPoint) -> str | None:
    if point.crl_issuer is not None:
        return "its distribution point leads to an indirect list"
    if point.reasons is not None:
        return "its distribution point names only what was revoked for some reasons"
    return None


def _urls(point: x509.DistributionPoint) -> tuple[str, ...]:
    values = (
        name.value
        for name in point.full_name or ()
        if isinstance(name, x509.UniformResourceIdentifier)
    )
    found = (
        value
        for value in values
        if len(value) <= _LONGEST_URL and value.lower().startswith(_SCHEMES)
    )
    return tuple(dict.fromkeys(found))


_MOST_VERIFIED: Final = 10_000
_OTHERS: Final = "it is about other certificates"
_MOST_OF_A_NAME: Final = 32
"""Lists of one issuer whose signature is verified, the newest: each takes a part of a request."""


class RevocationListSet:
    """Lists of any number of authorities."""

    def __init__(
        self, lists: Iterable[RevocationList] = (), kept: Iterable[RevocationList] = ()
    ) -> None:
        """Take `kept`, lists of a former set that the key of an authority has signed."""
        self._by_issuer = _by_issuer(lists)
        self._kept = _by_issuer(kept)
        """Apart from the others, so that forged lists of the same name cannot crowd them out."""
        self._authorities: dict[bytes, ParsedCertificate] = {}
        """By digest: authorities whose lists were looked up."""
        self._signed_by: dict[bytes, tuple[RevocationList, ...]] = {}
        """By the digest of an authority, newest first."""
        self._usable: dict[bytes, RevocationList | None] = {}
        """The list of each authority: looked up at each use of a certificate."""

    @property
    def is_empty(self) -> bool:
        return not self._by_issuer and not self._kept

    @property
    def size(self) -> int:
        """About the bytes that the lists take in memory."""
        groups = (*self._by_issuer.values(), *self._kept.values())
        return sum(item.size for named in groups for item in named)

    @property
    def verified(self) -> frozenset[RevocationList]:
        """The lists that were found by the key of an authority."""
        return frozenset(item for signed in self._signed_by.values() for item in signed)

    def find_list(self, authority: ParsedCertificate) -> RevocationList | None:
        """Return the newest complete list that the authority has signed."""
        digest = authority.digest
        if digest not in self._usable:
            signed = self._signed(authority)
            self._usable[digest] = next((item for item in signed if item.is_complete), None)
        return self._usable[digest]

    def reason(self, authority: ParsedCertificate) -> str | None:
        """Return why a list of the authority cannot be used; None where there is none."""
        return next((item.incomplete for item in self._signed(authority) if item.incomplete), None)

    def find_at(
        self, point: DistributionPoint, issuer: ParsedCertificate, *, authority: bool
    ) -> RevocationList | None:
        """Return the issuer's newest list about a certificate, or `authority`, with this point."""
        for item in self._signed(issuer):
            if item.unusable is None and (
                item.scope is None or item.scope.covers(point.names, authority=authority)
            ):
                return item
        return None

    def reason_at(self, issuer: ParsedCertificate) -> str:
        """Return why `find_at` finds no list of the issuer."""
        signed = self._signed(issuer)
        if not signed:
            return "it is not signed by the issuer"
        return next((item.unusable for item in signed if item.unusable), _OTHERS)

    def replaced_by(self, lists: Iterable[RevocationList], now: datetime) -> "RevocationListSet":
        """Return the newer lists, and the known lists that they do not replace; for a thread.

        A verified list is replaced by a list of its key and scope that is not older, an expired
        list by such a list of any scope.
        """
        successors = RevocationListSet(lists)
        kept: dict[int, RevocationList] = {}
        for digest, authority in tuple(self._authorities.items()):
            signed = successors._signed(authority)
            for known in _newest_of_each_scope(self._signed_by.get(digest, ())):
                has_ended = known.next_update is not None and known.next_update < now
                if not any(_replaces(item, known, any_scope=has_ended) for item in signed):
                    kept[id(known)] = known
        if not kept:
            return successors
        others = (item for named in successors._by_issuer.values() for item in named)
        merged = RevocationListSet(others, kept.values())
        # What follows is compared with these, whether they are asked for before or not.
        for authority in tuple(self._authorities.values()):
            merged._signed(authority)
        return merged

    def _signed(self, authority: ParsedCertificate) -> tuple[RevocationList, ...]:
        known = self._signed_by.get(authority.digest)
        if known is None:
            named = self._by_issuer.get(authority.certificate.subject, ())
            newest = sorted(named, key=lambda item: item.issued, reverse=True)[:_MOST_OF_A_NAME]
            found = (*newest, *self._kept.get(authority.certificate.subject, ()))
            signed = [item for item in found if item.is_signed_by(authority)]
            known = tuple(sorted(signed, key=lambda item: item.issued, reverse=True))
            if len(self._signed_by) >= _MOST_VERIFIED:
                self._signed_by.clear()
                self._usable.clear()
                self._authorities.clear()
            self._signed_by[authority.digest] = known
            self._authorities[authority.digest] = authority
        return known


def _by_issuer(lists: Iterable[RevocationList]) -> dict[x509.Name, list[RevocationList]]:
    found: defaultdict[x509.Name, list[RevocationList]] = defaultdict(list)
    for item in lists:
        found[item.issuer].append(item)
    return dict(found)


def _newest_of_each_scope(signed: Iterable[RevocationList]) -> Iterable[RevocationList]:
    """Return the first list of each scope, of lists that begin with the newest."""
    found: dict[ListScope | None, RevocationList] = {}
    for item in signed:
        found.setdefault(item.scope, item)
    return found.values()


def _replaces(item: RevocationList, known: RevocationList, *, any_scope: bool) -> bool:
    return (any_scope or item.scope == known.scope) and item.issued >= known.issued


_SILENCE: Final = timedelta(minutes=1)
"""Between two warnings of the same kind."""
_WARNED_BYTES: Final = 256 * 1024


class RevocationListRule:
    """Refuses revoked certificates, and unknown ones unless the realm accepts them."""

    def __init__(self) -> None:
        self._warned: SizedCache[tuple[str, str], datetime] = SizedCache(_WARNED_BYTES)

    def refusal(
        self,
        link: tuple[CertificateFacts, CertificateFacts],
        found: RevocationList | None,
        missing: str | None,
        realm: Realm,
        now: datetime,
    ) -> str | None:
        """Return why the first certificate of the link counts as revoked, else None.

        `found` is the newest list of its issuer; `missing` says why a needed list was not found.
        """
        certificate, issuer = link
        unknown = missing if found is None else _outside_its_time(found, issuer, now)
        if unknown is not None and realm.certificates.revocation.requires_lists:
            return unknown
        if found is not None and found.revokes(certificate.serial):
            return f"{certificate.subject} {WAS_REVOKED}"
        if unknown is not None:
            self._warn(unknown, realm, now)
        return None

    def _warn(self, reason: str, realm: Realm, now: datetime) -> None:
        """Log that the realm accepts a certificate all the same, once in a while."""
        known = self._warned.get((realm.id, reason))
        if known is None or not known <= now < known + _SILENCE:
            self._warned.put((realm.id, reason), now)
            log = structlog.get_logger()
            log.warning("revocation of a certificate is not known", realm=realm.name, reason=reason)


def is_listed(found: RevocationList | None, serial: int, now: datetime) -> bool | None:
    """Return whether a list revokes the number; None where there is no list, or a stale one."""
    if found is None or not found.issued <= now <= end_of(found):
        return True if found is not None and found.revokes(serial) else None
    return found.revokes(serial)


def end_of(item: RevocationList) -> datetime:
    """Return the end of a list: a list without one is not usable, and so is never found."""
    return item.next_update or item.issued


def _outside_its_time(item: RevocationList, issuer: CertificateFacts, now: datetime) -> str | None:
    if now > end_of(item):
        return f"the revocation list of {issuer.subject} is stale"
    if now < item.issued:
        return f"the revocation list of {issuer.subject} is not valid yet"
    return None
