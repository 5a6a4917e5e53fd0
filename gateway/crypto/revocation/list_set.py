"""Revocation lists that were read together, found by the authority whose key signed them.

An authority need not be known when the lists are read: its signature is verified when a path first
contains it, over a digest that was computed with the list.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from cryptography import x509

from gateway.crypto.revocation.distribution_points import DistributionPoint
from gateway.crypto.revocation.list_scope import ListScope
from gateway.crypto.revocation.revocation_list import RevocationList
from gateway.crypto.x509.parse import ParsedCertificate

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
        """By digest: those whose lists were asked for."""
        self._signed_by: dict[bytes, tuple[RevocationList, ...]] = {}
        """By the digest of an authority, newest first."""
        self._usable: dict[bytes, RevocationList | None] = {}
        """What was found among them: asked for with each use of a certificate."""

    @property
    def is_empty(self) -> bool:
        """Tell whether there is no list."""
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

    def find(self, authority: ParsedCertificate) -> RevocationList | None:
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
        """Return the newest list of the issuer that is about a certificate with this point.

        `authority` says whether the certificate is that of an authority.
        """
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
        """Return a set of newer lists, and of the known ones that none of them replaces.

        A list that was found by the key of an authority is replaced only by one of the same scope
        that the same key has signed, and that is not older; one that has ended, by one of any
        scope. Verifies signatures: meant for a thread.
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
