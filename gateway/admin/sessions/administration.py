"""Who is signed in, and ending it: one session, all of a user, or all of a realm.

A user who is logged out gets a `notBefore` too, so that no token issued before it is believed.
Keycloak: 7.2 (sessions, logout), 7.1 (logout-all)
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from gateway.admin.access import find_realm, find_realm_alone, find_user, find_user_alone
from gateway.admin.users import user_topics
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError, InvalidInput, StoreUnavailable
from gateway.domain.ports.invalidation import Invalidation, realm_topic
from gateway.domain.ports.sessions import SessionStore
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.sessions import UserSession
from gateway.representations.refusals import describe


class SessionAdministration:
    """The use cases, over online and offline sessions. All raise RealmNotFound, InvalidInput."""

    def __init__(
        self, *, database: Database, online: SessionStore, clock: Clock, invalidation: Invalidation
    ) -> None:
        self._database = database
        self._online = online
        self._clock = clock
        self._invalidation = invalidation

    async def of_user(self, realm_name: str, name: str) -> tuple[UserSession, ...]:
        """Return the user's sessions, online ones first."""
        async with self._database.read() as stores:
            realm = await find_realm(stores, realm_name)
            user = await find_user(stores, realm, name)
            offline = await stores.offline_sessions.of_user(realm.id, user.id)
        return (*await self._online.of_user(realm.id, user.id), *offline)

    async def of_client(
        self, realm_name: str, client_id: str, first: int, maximum: int
    ) -> tuple[UserSession, ...]:
        """Return a page of the sessions in which the client takes part, online ones first."""
        async with self._database.read() as stores:
            realm = await find_realm(stores, realm_name)
            client = await stores.clients.find_by_client_id(realm.id, client_id)
            if client is None:
                allowed = f"a client of the realm {realm.name}"
                raise InvalidInput((FieldError("client", describe(client_id), allowed),))
            online = await self._online.of_client(realm.id, client.id, first, maximum)
            before = await self._online.count_of_client(realm.id, client.id)
            offline: Sequence[UserSession] = ()
            if len(online) < maximum:
                offline = await stores.offline_sessions.of_client(
                    realm.id, client.id, max(0, first - before), maximum - len(online)
                )
        return (*online, *offline)

    async def end(self, realm_name: str, session_id: str) -> bool:
        """End one session, online or offline; tell whether there was one."""
        async with self._database.write() as stores:
            realm = await find_realm(stores, realm_name)
            offline = await stores.offline_sessions.end(realm.id, session_id)
            await stores.refresh_tokens.end_of_session(realm.id, session_id)
        return await self._online.end(realm.id, session_id) or offline

    async def log_out(self, realm_name: str, name: str) -> int:
        """End the user's sessions and stop believing its tokens; return how many there were."""
        async with self._database.write() as stores:
            realm = await find_realm(stores, realm_name)
            user = await find_user_alone(stores, realm, name)
            changed = replace(user, not_before=self._now())
            await stores.users.replace(changed)
            offline = await _end_offline(stores, realm, user.id)
            topics = user_topics(changed)
            await stores.change_log.record(topics)
        with suppress(StoreUnavailable):
            await self._invalidation.publish(topics)
        return offline + await self._online.end_of_user(realm.id, user.id)

    async def log_out_all(self, realm_name: str) -> int:
        """End every session of the realm and stop believing its tokens; return how many."""
        async with self._database.write() as stores:
            realm = await find_realm_alone(stores, realm_name)
            await stores.realms.replace(replace(realm, not_before=self._now()))
            offline = await stores.offline_sessions.end_of_realm(realm.id)
            topics = (realm_topic(realm.id),)
            await stores.change_log.record(topics)
        with suppress(StoreUnavailable):
            await self._invalidation.publish(topics)
        return offline + await self._online.end_of_realm(realm.id)

    def _now(self) -> int:
        return int(self._clock.now().timestamp())


async def _end_offline(stores: Stores, realm: Realm, user_id: str) -> int:
    for session in await stores.offline_sessions.of_user(realm.id, user_id):
        await stores.refresh_tokens.end_of_session(realm.id, session.id)
    return await stores.offline_sessions.end_of_user(realm.id, user_id)
