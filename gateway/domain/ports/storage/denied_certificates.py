"""Deny lists of realms."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from gateway.domain.denied_certificates import DeniedCertificate, DeniedIdentity


class DeniedCertificateRepository(Protocol):
    """The entries of every realm's deny list."""

    async def list(
        self, realm_id: str, first: int = 0, maximum: int | None = None
    ) -> Sequence[DeniedCertificate]:
        """Return the entries of a realm, oldest first, expired ones among them."""

    async def identities(self, realm_id: str) -> Sequence[DeniedIdentity]:
        """Return all entries of a realm for comparisons, expired ones among them."""

    async def count(self, realm_id: str) -> int:
        """Return the number of entries of a realm."""

    async def find(self, realm_id: str, identity: str) -> DeniedCertificate | None:
        """Return the entry with that id."""

    async def add(self, realm_id: str, entry: DeniedCertificate) -> None:
        """Store a new entry; raises AlreadyExists."""

    async def remove(self, realm_id: str, identity: str) -> bool:
        """Remove the entry; return whether it existed."""

    async def purge(self, before: datetime) -> int:
        """Remove the entries that expired before the instant; return how many."""
