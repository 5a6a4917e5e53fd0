"""Reading and clearing the stored events of a realm. Keycloak: 10.5.

Before a read, the events that the workers of this machine still keep are stored, so that every
answered request is included. Those of another machine arrive within a second or two.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.domain.clock import Clock
from gateway.domain.events import AdminEventQuery, EventPage, UserEventQuery
from gateway.domain.ports.events import EventLog
from gateway.domain.ports.storage import AdminEventRepository, Database, Stores, UserEventRepository
from gateway.domain.realm import Realm
from gateway.representations.events import render_admin_event, render_user_event

BATCH: Final = 2_000
"""How many events one transaction removes, so that other writers do not wait long."""
_DIGITS: Final = 10
_CLOCKS_DIFFER: Final = timedelta(seconds=1)

Repository = UserEventRepository | AdminEventRepository


class EventLogs:
    """The two logs of each realm."""

    def __init__(self, database: Database, log: EventLog, clock: Clock) -> None:
        self._database = database
        self._log = log
        self._clock = clock

    async def user_events(
        self, realm: Realm, query: UserEventQuery, page: EventPage
    ) -> list[dict[str, Any]]:
        await self._log.settle()
        async with self._database.read() as stores:
            events = await stores.user_events.page(realm.id, query, page)
        return [render_user_event(event) for event in events]

    async def admin_events(
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


async def remove_events(
    database: Database, of: Callable[[Stores], Repository], realm_id: str, before: datetime
) -> None:
    """Remove the events before that instant, the oldest first, in batches."""
    removed = BATCH
    while removed == BATCH:
        async with database.write() as stores:
            removed = await of(stores).remove(realm_id, before, BATCH)


async def remove_expired_events(database: Database, realm: Realm, now: datetime) -> None:
    """Remove the events that have expired by the realm's settings; raises StoreUnavailable."""
    if realm.events.expiration:
        await remove_events(database, _user_events, realm.id, now - realm.events.expiration)
    lifespan = _admin_events_lifespan(realm)
    if lifespan:
        await remove_events(database, _admin_events, realm.id, now - lifespan)


def _admin_events_lifespan(realm: Realm) -> timedelta:
    """Return the attribute `adminEventsExpiration`: seconds, 0 for unlimited."""
    text = realm.attributes.get("adminEventsExpiration", "")
    return (
        timedelta(seconds=int(text)) if text.isdecimal() and len(text) <= _DIGITS else timedelta()
    )


def _user_events(stores: Stores) -> UserEventRepository:
    return stores.user_events


def _admin_events(stores: Stores) -> AdminEventRepository:
    return stores.admin_events
