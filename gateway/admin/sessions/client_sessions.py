"""Who is signed in by way of a client. Keycloak: clients/{id}/user-sessions, session-count."""

from collections.abc import Sequence
from typing import Any, Final

from gateway.admin.access import TooMany
from gateway.admin.clients import get_client
from gateway.admin.sessions.user_sessions import written_sessions
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.sessions import UserSession

MOST: Final = 10_000
"""How many sessions one answer may hold."""


class ClientSessions:
    """The use cases. All raise Missing and StoreUnavailable."""

    def __init__(self, database: Database, online: OnlineSessionStore) -> None:
        self._database = database
        self._online = online

    async def count(self, realm: Realm, client_id: str, *, offline: bool) -> int:
        """Return in how many sessions of one kind the client takes part."""
        async with self._database.read() as stores:
            client = await get_client(stores, realm.id, client_id)
            store = stores.offline_sessions if offline else self._online
            return await store.count_of_client(realm.id, client.id)

    async def page(
        self, realm: Realm, client_id: str, first: int, maximum: int | None, *, offline: bool
    ) -> list[dict[str, Any]]:
        """Return a page of the sessions of one kind, oldest first; raises TooMany."""
        wanted = MOST + 1 if maximum is None else min(maximum, MOST + 1)
        async with self._database.read() as stores:
            client = await get_client(stores, realm.id, client_id)
            found = await self._found(stores, realm, client.id, first, wanted, offline=offline)
            if len(found) > MOST:
                raise TooMany(f"More than {MOST} sessions: ask page by page, with first and max")
            return await written_sessions(stores, realm, found)

    async def of_both_kinds(
        self, realm: Realm, client_id: str, first: int, maximum: int
    ) -> tuple[UserSession, ...]:
        """Return a page of the sessions of both kinds, online ones first."""
        online = await self._online.of_client(realm.id, client_id, first, maximum)
        before = await self._online.count_of_client(realm.id, client_id)
        if len(online) == maximum:
            return online
        async with self._database.read() as stores:
            offline = await stores.offline_sessions.of_client(
                realm.id, client_id, max(0, first - before), maximum - len(online)
            )
        return (*online, *offline)

    async def _found(
        self,
        stores: Stores,
        realm: Realm,
        client: str,
        first: int,
        maximum: int,
        *,
        offline: bool,
    ) -> Sequence[UserSession]:
        if maximum == 0:
            return ()
        store = stores.offline_sessions if offline else self._online
        return await store.of_client(realm.id, client, first, maximum)
