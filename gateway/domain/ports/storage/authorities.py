"""Certificate authorities that administrators register."""

from typing import Protocol

from gateway.domain.authorities import Authority


class AuthorityRepository(Protocol):
    """The authorities of a realm and of its clients; one goes when its client goes.

    `client` is an internal id, None for an authority of the realm itself.
    """

    async def list(self, realm_id: str) -> tuple[Authority, ...]:
        """Return all of the realm, those of its clients included, in a stable order."""

    async def find(self, realm_id: str, client: str | None, sha256: str) -> Authority | None:
        """Return the authority with that certificate."""

    async def put(self, realm_id: str, authority: Authority) -> None:
        """Store the authority; the kind of one with that certificate is replaced."""

    async def remove(self, realm_id: str, client: str | None, sha256: str) -> bool:
        """Remove the authority; return whether it existed."""
