"""Signing keys of a realm."""

from typing import Protocol

from gateway.domain.keys import RealmKey


class KeyRepository(Protocol):
    """Signing keys of a realm, private parts sealed."""

    async def list(self, realm_id: str) -> tuple[RealmKey, ...]:
        """Return all keys of the realm, newest first."""

    async def list_alone(self, realm_id: str) -> tuple[RealmKey, ...]:
        """Return the same, and let nobody else change them until the transaction ends."""

    async def add(self, key: RealmKey) -> None:
        """Store a new key."""

    async def replace(self, key: RealmKey) -> None:
        """Overwrite all but the material of the key with the same id.

        The material are kid, algorithm, private key and certificate.
        """

    async def exchange(self, key: RealmKey) -> None:
        """Overwrite all of the key with the same id, its material too."""

    async def remove(self, realm_id: str, key_id: str) -> bool:
        """Forget the key; tell whether there was one."""
