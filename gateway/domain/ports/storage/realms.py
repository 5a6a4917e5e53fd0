"""Realms and their signing keys."""

from typing import Protocol

from gateway.domain.keys import RealmKey
from gateway.domain.realm import Realm


class RealmRepository(Protocol):
    """Realms by name and id. A realm is one JSON document with a few indexed columns."""

    async def find_by_name(self, name: str) -> Realm | None:
        """Return the realm named exactly `name`; raises SecretUnreadable."""

    async def find_by_id(self, realm_id: str) -> Realm | None:
        """Return the realm with that id; raises SecretUnreadable."""

    async def get_for_update(self, name: str) -> Realm | None:
        """Return the same, locked until the transaction ends."""

    async def exists(self, realm_id: str) -> bool:
        """Return whether a realm with that id exists."""

    async def find_name(self, realm_id: str) -> str | None:
        """Return the name of the realm with that id."""

    async def list(self) -> tuple[Realm, ...]:
        """Return every realm, by name."""

    async def add(self, realm: Realm) -> None:
        """Store a new realm; raises AlreadyExists."""

    async def replace(self, realm: Realm) -> None:
        """Overwrite the realm with the same id; raises AlreadyExists when its new name is taken."""

    async def remove(self, realm_id: str) -> None:
        """Remove the realm and everything in it, if it exists."""


class KeyRepository(Protocol):
    """Signing keys of a realm, private parts sealed."""

    async def list(self, realm_id: str) -> tuple[RealmKey, ...]:
        """Return all keys of the realm, newest first."""

    async def list_for_update(self, realm_id: str) -> tuple[RealmKey, ...]:
        """Return the same, locked until the transaction ends."""

    async def add(self, key: RealmKey) -> None: ...

    async def replace(self, key: RealmKey, *, material: bool = False) -> None:
        """Overwrite the key with the same id.

        Its kid, algorithm, private key and certificate change only with `material`.
        """

    async def remove(self, realm_id: str, key_id: str) -> bool:
        """Remove the key; return whether it existed."""
