"""Sessions of users, clients and realms: administrators list and end them.

With a consent end the offline tokens of its client, and the client's part in the sessions of the
user. Notices for the clients of sessions are stored in the transaction that ends the sessions.
Keycloak: 7.1 (logout-all, push-revocation, sessions, client-session-stats), 7.2 (sessions,
offline-sessions, logout, consents), 17.5 applications; clients/{id}/user-sessions, session-count
"""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    ListingPage,
    existing,
    get_user,
    get_user_for_update,
    require_one_answer,
)
from gateway.admin.changes import Administration, Change, Changes
from gateway.admin.clients import get_client
from gateway.admin.users import invalidate_user
from gateway.authentication.profile_updates import without_pending_email
from gateway.domain.client_departures import (
    detach_from_sessions,
    queue_logout_notices,
    withdraw_consent,
)
from gateway.domain.errors import StoreUnavailable
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import NotFound
from gateway.domain.sessions import UserSession
from gateway.representations.users import render_consent, render_session

_NO_SESSION: Final = "Sesssion not found"


class SessionAdministration(Administration):
    """Lists, counts and ends sessions of realms, users and clients.

    All methods raise StoreUnavailable, and NotFound for unknown users, clients and sessions.
    """

    def __init__(self, changes: Changes, online: OnlineSessionStore) -> None:
        super().__init__(changes)
        self._online = online

    async def reject_sessions_of_realm(self, acting: Acting) -> None:
        """End every session of the realm, and reject all tokens issued so far."""
        async with self._changes.begin(acting, alone=True) as change:
            await _reject_tokens(change)
            await self._online.end_of_realm(change.realm.id)

    async def end_sessions_of_realm(self, acting: Acting) -> int:
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

    async def end_session(self, acting: Acting, session_id: str, *, offline: bool) -> None:
        """End one session; raises NotFound where there is none of that kind.

        An offline one ends with the online session of the same id, as in Keycloak 26.7; an online
        one ends alone. Both end once the notices for their clients are stored.
        """
        online: UserSession | None = None
        with suppress(StoreUnavailable) if offline else nullcontext():
            online = await self._online.find_session(acting.realm.id, session_id)
        async with self._changes.begin(acting) as change:
            stores, realm_id = change.stores, change.realm.id
            begun_in_it = await stores.offline_sessions.find_session(realm_id, session_id)
            existing(begun_in_it if offline else online, _NO_SESSION)
            ending = (online, begun_in_it if offline else None)
            await queue_logout_notices(stores, [one for one in ending if one], change.now)
            if offline:
                await stores.offline_sessions.end(realm_id, session_id)
            if offline or begun_in_it is None:
                await stores.refresh_tokens.end_of_session(realm_id, session_id)
            _record_end(change, session_id)
        await self._online.end(acting.realm.id, session_id)

    async def end_session_of_either_kind(self, acting: Acting, session_id: str) -> None:
        """End one session of either kind; raises NotFound where there is none.

        The database is changed first, so that tokens are rejected even if Redis is unavailable.
        """
        online = None
        with suppress(StoreUnavailable):
            online = await self._online.find_session(acting.realm.id, session_id)
        async with self._changes.begin(acting) as change:
            stores, realm_id = change.stores, change.realm.id
            offline = await stores.offline_sessions.find_session(realm_id, session_id)
            ending = tuple(one for one in (online, offline) if one is not None)
            await queue_logout_notices(stores, ending, change.now)
            ended = await stores.offline_sessions.end(realm_id, session_id)
            await stores.refresh_tokens.end_of_session(realm_id, session_id)
            if ended:
                _record_end(change, session_id)
        ended_online = await self._online.end(acting.realm.id, session_id)
        if not ended and not ended_online:
            raise NotFound(_NO_SESSION)
        if not ended:
            async with self._changes.begin(acting) as change:
                _record_end(change, session_id)

    async def count_sessions_by_client(self, realm: Realm) -> list[dict[str, Any]]:
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

    async def list_online_sessions_of_user(
        self, realm: Realm, user_id: str
    ) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            await get_user(stores, realm.id, user_id)
            return await written_sessions(
                stores, realm, await self._online.of_user(realm.id, user_id)
            )

    async def list_offline_sessions_of_user(
        self, realm: Realm, user_id: str, client: str
    ) -> list[dict[str, Any]]:
        """Return the offline sessions with the client of that internal id."""
        async with self._database.read() as stores:
            await get_user(stores, realm.id, user_id)
            existing(await stores.clients.find_by_id(realm.id, client), "Client not found")
            sessions = await stores.offline_sessions.of_user(realm.id, user_id)
            taken = [session for session in sessions if client in session.clients]
            return await written_sessions(stores, realm, taken)

    async def list_consents(self, realm: Realm, user_id: str) -> list[dict[str, Any]]:
        """Return the clients that have a consent or offline tokens of the user."""
        async with self._database.read() as stores:
            await get_user(stores, realm.id, user_id)
            given = await stores.consents.of_user(realm.id, user_id)
            consents = {consent.client: consent for consent in given}
            sessions = await stores.offline_sessions.of_user(realm.id, user_id)
            offline = {client for session in sessions for client in session.clients}
            taking_part = dict.fromkeys((*consents, *sorted(offline)))
            found = [await stores.clients.find_by_id(realm.id, client) for client in taking_part]
        return [
            render_consent(client, consents.get(client.id), offline=client.id in offline)
            for client in found
            if client is not None
        ]

    async def revoke_consent(self, acting: Acting, user_id: str, client_id: str) -> None:
        """Revoke the consent to the client with that public name, and its tokens.

        The client leaves the user's sessions: without the consent it may not take part in them.
        """
        async with self._changes.begin(acting) as change:
            stores, realm_id = change.stores, change.realm.id
            user = await get_user_for_update(stores, realm_id, user_id)
            found = await stores.clients.find_by_client_id(realm_id, client_id)
            client = existing(found, "Client not found")
            withdrawn = await withdraw_consent(stores, user, client)
            if not withdrawn.consent and not withdrawn.offline_sessions:
                raise NotFound("Consent nor offline token not found")
            path = f"users/{user_id}/consents/{client_id}"
            change.record(OperationType.ACTION, ResourceType.USER, path)
        if withdrawn.consent:
            await detach_from_sessions(self._online, user, client)

    async def list_sessions_of_user(self, realm: Realm, user_id: str) -> tuple[UserSession, ...]:
        """Return the online sessions, then the offline ones."""
        async with self._database.read() as stores:
            await get_user(stores, realm.id, user_id)
            offline = await stores.offline_sessions.of_user(realm.id, user_id)
        return (*await self._online.of_user(realm.id, user_id), *offline)

    async def end_sessions_of_user(self, acting: Acting, user_id: str) -> int:
        """End online and offline sessions, and reject all tokens issued so far; return how many.

        Keycloak keeps the offline sessions, though it rejects all tokens that were issued for them.
        The database is changed first, so that tokens are rejected even if Redis is unavailable.
        """
        online: tuple[UserSession, ...] = ()
        with suppress(StoreUnavailable):
            online = await self._online.of_user(acting.realm.id, user_id)
        async with self._changes.begin(acting) as change:
            await _reject_tokens_of_user(change, user_id)
            stores, realm_id = change.stores, change.realm.id
            sessions = await stores.offline_sessions.of_user(realm_id, user_id)
            await queue_logout_notices(stores, (*online, *sessions), change.now)
            for session in sessions:
                await stores.refresh_tokens.end_of_session(realm_id, session.id)
            offline = await stores.offline_sessions.end_of_user(realm_id, user_id)
        return offline + await self._online.end_of_user(realm_id, user_id)

    async def count_sessions_of_client(self, realm: Realm, client_id: str, *, offline: bool) -> int:
        async with self._database.read() as stores:
            client = await get_client(stores, realm.id, client_id)
            store = stores.offline_sessions if offline else self._online
            return await store.count_of_client(realm.id, client.id)

    async def list_sessions_of_client(
        self, realm: Realm, client_id: str, page: ListingPage, *, offline: bool
    ) -> list[dict[str, Any]]:
        """Return a page of the sessions of one kind, oldest first; raises TooMany."""
        async with self._database.read() as stores:
            client = await get_client(stores, realm.id, client_id)
            found: Sequence[UserSession] = ()
            if page.limit:
                store = stores.offline_sessions if offline else self._online
                found = await store.of_client(realm.id, client.id, page.first, page.limit)
            require_one_answer(found, "sessions")
            return await written_sessions(stores, realm, found)

    async def list_sessions_of_client_by_kind(
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


def _record_end(change: Change, session_id: str) -> None:
    path = f"sessions/{session_id}"
    change.record(OperationType.DELETE, ResourceType.USER_SESSION, path)


async def _reject_tokens(change: Change) -> int:
    """Reject all tokens issued so far and end the offline sessions; return how many."""
    not_before = max(change.realm.not_before, int(change.now.timestamp()))
    realm = replace(change.realm, not_before=not_before)
    await change.replace_realm(realm)
    ended = await change.stores.offline_sessions.end_of_realm(realm.id)
    change.invalidate(realm_topic(realm.id))
    change.record(OperationType.ACTION, ResourceType.REALM, "logout-all", {})
    return ended


async def _reject_tokens_of_user(change: Change, user_id: str) -> None:
    """Reject the tokens issued so far; a link to a new address ends in the same second too."""
    before = await get_user_for_update(change.stores, change.realm.id, user_id)
    without = without_pending_email(before)
    after = replace(without, not_before=int(change.now.timestamp()))
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
    return [render_session(session, client_ids) for session in sessions]
