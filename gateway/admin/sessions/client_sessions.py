"""The sessions with a client. Keycloak: clients/{id}/user-sessions, session-count."""

from collections.abc import Sequence
from typing import Any

from gateway.admin.access import Page, require_one_answer
from gateway.admin.clients import find_client
from gateway.admin.sessions.user_sessions import written_sessions
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.sessions import UserSession


class ClientSessions:
    """The use cases. All raise Missing and StoreUnavailable."""

    def __init__(self, database: Database, online: OnlineSessionStore) -> None:
        self._database = database
        self._online = online

    async def count(self, realm: Realm, client_id: str, *, offline: bool) -> int:
        async with self._database.read() as stores:
            client = await find_client(stores, realm.id, client_id)
            store = stores.offline_sessions if offline else self._online
            return await store.count_of_client(realm.id, client.id)

    async def page(
        self, realm: Realm, client_id: str, page: Page, *, offline: bool
    ) -> list[dict[str, Any]]:
        """Return a page of the sessions of one kind, oldest first; raises TooMany."""
        async with self._database.read() as stores:
            client = await find_client(stores, realm.id, client_id)
            found: Sequence[UserSession] = ()
            if page.limit:
                store = stores.offline_sessions if offline else self._online
                found = await store.of_client(realm.id, client.id, page.first, page.limit)
            require_one_answer(found, "sessions")
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
