"""Realms by name and id."""

from typing import Protocol

from gateway.domain.realm import Realm


class RealmRepository(Protocol):
    """Realms by name and id. A realm is one JSON document with a few indexed columns."""

    async def find_by_name(self, name: str) -> Realm | None:
        """Return the realm named exactly `name`."""

    async def find_alone(self, name: str) -> Realm | None:
        """Return the same, and let nobody else change the realm until the transaction ends."""

    async def exists(self, realm_id: str) -> bool:
        """Return whether there is a realm with that id."""

    async def list(self) -> tuple[Realm, ...]:
        """Return every realm, by name."""

    async def add(self, realm: Realm) -> None:
        """Store a new realm; raises AlreadyExists."""

    async def replace(self, realm: Realm) -> None:
        """Overwrite the realm with the same id; raises AlreadyExists when its new name is taken."""

    async def remove(self, realm_id: str) -> None:
        """Forget the realm and all that is in it; one that is gone is gone."""
