"""Recorded events of a realm and their configuration, for administrators.

Before a read, the events that the workers of this machine still keep are stored, so that every
answered request is included. Those of another machine arrive within a second or two.
Keycloak: 10.5 (events, events/config)
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.admin.changes import Administration, Changes
from gateway.domain.events import (
    AdminEventQuery,
    EventPage,
    OperationType,
    ResourceType,
    UserEventQuery,
)
from gateway.domain.ports.events import EventLog
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import AdminEventRepository, Database, Stores, UserEventRepository
from gateway.domain.realm import EventsConfig, Realm
from gateway.domain.refusals import InvalidRequest, WireFamily
from gateway.representations.events import (
    render_admin_event,
    render_events_config,
    render_user_event,
    update_events_config,
)

_PATH: Final = "events/config"
_UNAVAILABLE: Final = {"file": "The event listener file needs the setting REALMGATE_EVENTS_FILE"}


class EventAdministration(Administration):
    """The two logs of each realm and their settings.

    `listeners` are the names of event listeners that a realm may add.
    """

    def __init__(self, changes: Changes, log: EventLog, listeners: Collection[str]) -> None:
        super().__init__(changes)
        self._log = log
        self._listeners = listeners

    async def update_settings(self, acting: Acting, document: Mapping[str, Any]) -> None:
        """Change the event settings of the realm.

        Raises UnknownField, InvalidInput, InvalidRequest and PreconditionFailed.
        """
        async with self._changes.begin(acting, alone=True) as change:
            before = change.realm
            change.require_match(render_events_config, before.events)
            config = update_events_config(document, before.events)
            require_known_listeners(config, before.events, self._listeners)
            realm = replace(before, events=config)
            await change.replace_realm(realm)
            change.invalidate(realm_topic(realm.id))
            change.record(OperationType.UPDATE, ResourceType.REALM, _PATH, document)

    async def list_user_events(
        self, realm: Realm, query: UserEventQuery, page: EventPage
    ) -> list[dict[str, Any]]:
        await self._log.settle()
        async with self._database.read() as stores:
            events = await stores.user_events.page(realm.id, query, page)
        return [render_user_event(event) for event in events]

    async def list_admin_events(
        self, realm: Realm, query: AdminEventQuery, page: EventPage
    ) -> list[dict[str, Any]]:
        """Return a page; raises InvalidInput for a path pattern that takes too long."""
        async with self._database.read() as stores:
            events = await stores.admin_events.page(realm.id, query, page)
        return [render_admin_event(event) for event in events]

    async def clear_user_events(self, acting: Acting) -> None:
        await self._log.settle()
        await remove_events(self._database, _user_events, acting.realm.id, self._soon())

    async def clear_admin_events(self, acting: Acting) -> None:
        await remove_events(self._database, _admin_events, acting.realm.id, self._soon())

    def _soon(self) -> datetime:
        return self._clock.now() + _CLOCKS_DIFFER


def require_known_listeners(
    config: EventsConfig, before: EventsConfig, known: Collection[str]
) -> None:
    """Raise InvalidRequest for a listener that is neither `known` nor already the realm's."""
    for name in config.listeners:
        if name not in known and name not in before.listeners:
            raise InvalidRequest(_UNAVAILABLE.get(name, "Unknown event listener"), WireFamily.PROSE)


BATCH: Final = 2_000
"""How many events one transaction removes, so that other writers do not wait long."""
_CLOCKS_DIFFER: Final = timedelta(seconds=1)

Repository = UserEventRepository | AdminEventRepository


async def remove_events(
    database: Database, of: Callable[[Stores], Repository], realm_id: str, before: datetime
) -> None:
    """Remove the events before that instant, the oldest first, in batches."""
    removed = BATCH
    while removed == BATCH:
        async with database.write() as stores:
            removed = await of(stores).remove_oldest(realm_id, before, BATCH)


async def remove_expired_events(database: Database, realm: Realm, now: datetime) -> None:
    """Remove the events that have expired by the realm's settings; raises StoreUnavailable."""
    if realm.events.expiration:
        await remove_events(database, _user_events, realm.id, now - realm.events.expiration)
    lifespan = realm.admin_events_expiration
    if lifespan:
        await remove_events(database, _admin_events, realm.id, now - lifespan)


def _user_events(stores: Stores) -> UserEventRepository:
    return stores.user_events


def _admin_events(stores: Stores) -> AdminEventRepository:
    return stores.admin_events
