"""The sessions of a realm: how many there are, ending one, ending all.

Keycloak: 7.1 (logout-all, push-revocation, sessions, client-session-stats)
"""

from dataclasses import replace
from typing import Any

from gateway.admin.access import Acting, Change, Changes, Missing
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm


class RealmSessions:
    """Counts and ends sessions. All methods raise StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes, online: OnlineSessionStore) -> None:
        self._database = database
        self._changes = changes
        self._online = online

    async def log_out_all(self, acting: Acting) -> None:
        """End every session of the realm, and reject all tokens issued so far."""
        async with self._changes.begin(acting, alone=True) as change:
            await _reject_tokens(change)
            await self._online.end_of_realm(change.realm.id)

    async def end_all(self, acting: Acting) -> int:
        """Do the same, and return how many sessions there were.

        The database is changed first, so that tokens are rejected even if Redis is unavailable.
        """
        async with self._changes.begin(acting, alone=True) as change:
            offline = await _reject_tokens(change)
        return offline + await self._online.end_of_realm(acting.realm.id)

    async def push_revocation(self, acting: Acting) -> None:
        """Record the event; no client is notified in this version."""
        async with self._changes.begin(acting) as change:
            change.record(OperationType.ACTION, ResourceType.REALM, "push-revocation", {})

    async def end(self, acting: Acting, session_id: str, *, offline: bool) -> None:
        """End one session; raises Missing where there is none of that kind."""
        async with self._changes.begin(acting) as change:
            stores, realm_id = change.stores, change.realm.id
            store = stores.offline_sessions if offline else self._online
            if not await store.end(realm_id, session_id):
                raise Missing("Sesssion not found")
            await stores.refresh_tokens.end_of_session(realm_id, session_id)
            _record_end(change, session_id)

    async def end_of_either_kind(self, acting: Acting, session_id: str) -> None:
        """End one session of either kind; raises Missing where there is none.

        The database is changed first, so that tokens are rejected even if Redis is unavailable.
        """
        async with self._changes.begin(acting) as change:
            stores, realm_id = change.stores, change.realm.id
            ended = await stores.offline_sessions.end(realm_id, session_id)
            await stores.refresh_tokens.end_of_session(realm_id, session_id)
            if ended:
                _record_end(change, session_id)
        ended_online = await self._online.end(acting.realm.id, session_id)
        if not ended and not ended_online:
            raise Missing("Sesssion not found")
        if not ended:
            async with self._changes.begin(acting) as change:
                _record_end(change, session_id)

    async def statistics(self, realm: Realm) -> list[dict[str, Any]]:
        """Return the number of sessions of each client that has any."""
        async with self._database.read() as stores:
            clients = await stores.clients.ids(realm.id)
            ids = [*clients.values()]
            offline = await stores.offline_sessions.counts_of_clients(realm.id, ids)
            active = await self._online.counts_of_clients(realm.id, ids)
        return [
            {
                "offline": str(offline.get(identity, 0)),
                "clientId": client_id,
                "active": str(active.get(identity, 0)),
                "id": identity,
            }
            for client_id, identity in sorted(clients.items())
            if identity in offline or identity in active
        ]


def _record_end(change: Change, session_id: str) -> None:
    path = f"sessions/{session_id}"
    change.record(OperationType.DELETE, ResourceType.USER_SESSION, path)


async def _reject_tokens(change: Change) -> int:
    """Reject all tokens issued so far and end the offline sessions; return how many."""
    realm = replace(change.realm, not_before=int(change.now.timestamp()))
    await change.stores.realms.replace(realm)
    ended = await change.stores.offline_sessions.end_of_realm(realm.id)
    change.becomes(realm)
    change.tell(realm_topic(realm.id))
    change.record(OperationType.ACTION, ResourceType.REALM, "logout-all", {})
    return ended
