"""Revocation lists that were read together, found by the authority whose key signed them.

An authority need not be known when the lists are read: its signature is verified when a path first
contains it, over a digest that was computed with the list.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from cryptography import x509

from gateway.crypto.revocation.revocation_list import RevocationList
from gateway.crypto.x509.parse import ParsedCertificate

_MOST_VERIFIED: Final = 10_000
_MOST_OF_A_NAME: Final = 32
"""Lists of one issuer whose signature is verified, the newest: each takes a part of a request."""


class RevocationListSet:
    """Lists of any number of authorities."""

    def __init__(self, lists: Iterable[RevocationList] = ()) -> None:
        self._by_issuer: defaultdict[x509.Name, list[RevocationList]] = defaultdict(list)
        for item in lists:
            self._by_issuer[item.issuer].append(item)
        self._signed_by: dict[bytes, tuple[RevocationList, ...]] = {}
        """By the digest of an authority, newest first."""
        self._usable: dict[bytes, RevocationList | None] = {}
        """What was found among them: asked for with each use of a certificate."""

    @property
    def is_empty(self) -> bool:
        """Tell whether there is no list."""
        return not self._by_issuer

    @property
    def size(self) -> int:
        """About the bytes that the lists take in memory."""
        return sum(item.serials.size for named in self._by_issuer.values() for item in named)

    @property
    def newest(self) -> frozenset[RevocationList]:
        """Of the lists that were found by the key of an authority, the newest of each."""
        return frozenset(signed[0] for signed in self._signed_by.values() if signed)

    @property
    def verified(self) -> frozenset[RevocationList]:
        """The lists that were found by the key of an authority."""
        return frozenset(item for signed in self._signed_by.values() for item in signed)

    def find(self, authority: ParsedCertificate) -> RevocationList | None:
        """Return the newest usable list that the authority has signed."""
        digest = authority.digest
        if digest not in self._usable:
            signed = self._signed(authority)
            self._usable[digest] = next((item for item in signed if item.unusable is None), None)
        return self._usable[digest]

    def reason(self, authority: ParsedCertificate) -> str | None:
        """Return why a list of the authority cannot be used; None where there is none."""
        return next((item.unusable for item in self._signed(authority) if item.unusable), None)

    def _signed(self, authority: ParsedCertificate) -> tuple[RevocationList, ...]:
        known = self._signed_by.get(authority.digest)
        if known is None:
            named = self._by_issuer.get(authority.certificate.subject, ())
            newest = sorted(named, key=lambda item: item.issued, reverse=True)[:_MOST_OF_A_NAME]
            signed = [item for item in newest if item.is_signed_by(authority)]
            known = tuple(signed)
            if len(self._signed_by) >= _MOST_VERIFIED:
                self._signed_by.clear()
                self._usable.clear()
            self._signed_by[authority.digest] = known
        return known
