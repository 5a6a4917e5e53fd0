"""The sessions of a user.

Keycloak: 7.2 (sessions, offline-sessions, logout): a logout does not end offline sessions
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.admin.access import Acting, Change, Changes, existing, get_user, get_user_for_update
from gateway.admin.users import invalidate_user
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.sessions import UserSession
from gateway.representations.sessions import write_session


class UserSessions:
    """The use cases. All raise Missing and StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes, online: OnlineSessionStore) -> None:
        self._database = database
        self._changes = changes
        self._online = online

    async def online(self, realm: Realm, user_id: str) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            await get_user(stores, realm.id, user_id)
            return await written_sessions(
                stores, realm, await self._online.of_user(realm.id, user_id)
            )

    async def offline(self, realm: Realm, user_id: str, client: str) -> list[dict[str, Any]]:
        """Return the offline sessions with the client of that internal id."""
        async with self._database.read() as stores:
            await get_user(stores, realm.id, user_id)
            existing(await stores.clients.find_by_id(realm.id, client), "Client not found")
            sessions = await stores.offline_sessions.of_user(realm.id, user_id)
            taken = [session for session in sessions if client in session.clients]
            return await written_sessions(stores, realm, taken)

    async def of_both_kinds(self, realm: Realm, user_id: str) -> tuple[UserSession, ...]:
        """Return the online sessions, then the offline ones."""
        async with self._database.read() as stores:
            await get_user(stores, realm.id, user_id)
            offline = await stores.offline_sessions.of_user(realm.id, user_id)
        return (*await self._online.of_user(realm.id, user_id), *offline)

    async def log_out(self, acting: Acting, user_id: str) -> None:
        """End the online sessions, and reject all tokens issued so far."""
        async with self._changes.begin(acting) as change:
            await _reject_tokens(change, user_id)
            await self._online.end_of_user(change.realm.id, user_id)

    async def end_all(self, acting: Acting, user_id: str) -> int:
        """End online and offline sessions, and reject all tokens issued so far; return how many.

        The database is changed first, so that tokens are rejected even if Redis is unavailable.
        """
        async with self._changes.begin(acting) as change:
            await _reject_tokens(change, user_id)
            stores, realm_id = change.stores, change.realm.id
            for session in await stores.offline_sessions.of_user(realm_id, user_id):
                await stores.refresh_tokens.end_of_session(realm_id, session.id)
            offline = await stores.offline_sessions.end_of_user(realm_id, user_id)
        return offline + await self._online.end_of_user(realm_id, user_id)


async def _reject_tokens(change: Change, user_id: str) -> None:
    before = await get_user_for_update(change.stores, change.realm.id, user_id)
    after = replace(before, not_before=int(change.now.timestamp()))
    await change.stores.users.replace(after)
    change.record(OperationType.ACTION, ResourceType.USER, f"users/{user_id}/logout")
    invalidate_user(change, after)


async def written_sessions(
    stores: Stores, realm: Realm, sessions: Sequence[UserSession]
) -> list[dict[str, Any]]:
    """Return sessions as the admin API shows them, their clients by name."""
    taking_part = dict.fromkeys(client for session in sessions for client in session.clients)
    found = [await stores.clients.find_by_id(realm.id, client) for client in taking_part]
    client_ids = {client.id: client.client_id for client in found if client is not None}
    return [write_session(session, client_ids) for session in sessions]
