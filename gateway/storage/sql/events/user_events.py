"""User events. Keycloak: Event.

They arrive in batches, and again where the process that stored them died before it recorded that.
A batch is one statement.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
from sqlalchemy import Row, text

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.events import ALL_NAMES, KIND_OF, EventPage, UserEvent, UserEventQuery
from gateway.storage.sql.column_types import is_name, microseconds_of
from gateway.storage.sql.events.filters import filters_of
from gateway.storage.sql.events.pages import EventPages, remove_oldest
from gateway.storage.sql.schema import user_events
from gateway.storage.sql.transaction import Transaction

_INSERT: Final = {
    "sqlite": """
        INSERT INTO user_events (realm_id, id, time, type, client_id, user_id, session_id,
            ip_address, error, details)
        SELECT realms.id, given.value ->> 1, given.value ->> 2, given.value ->> 3,
            given.value ->> 4, given.value ->> 5, given.value ->> 6, given.value ->> 7,
            given.value ->> 8, given.value ->> 9
        FROM json_each(:events) AS given JOIN realms ON realms.id = given.value ->> 0
        WHERE true ON CONFLICT (realm_id, id) DO NOTHING
        """,
    # The lock keeps the realm from being removed between the join and the insertion.
    "postgresql": """
        INSERT INTO user_events (realm_id, id, time, type, client_id, user_id, session_id,
            ip_address, error, details)
        SELECT realms.id, given.value ->> 1, CAST(given.value ->> 2 AS bigint), given.value ->> 3,
            given.value ->> 4, given.value ->> 5, given.value ->> 6, given.value ->> 7,
            given.value ->> 8, given.value ->> 9
        FROM json_array_elements(CAST(:events AS json)) AS given(value)
        JOIN realms ON realms.id = given.value ->> 0
        FOR KEY SHARE OF realms ON CONFLICT (realm_id, id) DO NOTHING
        """,
}


class SqlUserEvents:
    """UserEventRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def add_all(self, events: Sequence[UserEvent]) -> None:
        if not events:
            return
        given = orjson.dumps([_row(event) for event in events]).decode()
        await self._transaction.execute(text(_INSERT[self._transaction.dialect]), {"events": given})

    async def page(
        self, realm_id: str, query: UserEventQuery, page: EventPage
    ) -> tuple[UserEvent, ...]:
        columns = user_events.c
        names = () if set(query.names) == set(ALL_NAMES) else query.names
        filters = filters_of(
            (columns.user_id, query.user_id),
            (columns.ip_address, query.ip_address),
            (columns.client_id, query.client_id),
            (columns.type, names),
        )
        if filters is None:
            return ()
        pages = EventPages(self._transaction, user_events, realm_id, query.period)
        return tuple(map(_event, await pages.page(filters, page)))

    async def remove(self, realm_id: str, before: datetime, most: int) -> int:
        return await remove_oldest(self._transaction, user_events, realm_id, before, most)


def _row(event: UserEvent) -> list[str | int | None]:
    names = (
        *(event.client_id, event.user_id, event.session_id, event.ip_address, event.error),
        *(event.realm_id, event.id),
    )
    for name in names:
        if name is not None and not is_name(name):
            given = "a text that cannot be stored"
            raise InvalidInput((FieldError("event", given, "names without NUL and surrogates"),))
    *others, realm_id, event_id = names
    details = _text(event.details)
    return [realm_id, event_id, microseconds_of(event.time), event.name, *others, details]


def _text(details: Mapping[str, str]) -> str:
    """Return JSON text; lone surrogates are escaped, which takes longer."""
    try:
        return orjson.dumps(details).decode()
    except TypeError:
        return json.dumps(dict(details), separators=(",", ":"))


def _event(row: Row[Any]) -> UserEvent:
    return UserEvent(
        id=row.id,
        realm_id=row.realm_id,
        time=row.time,
        kind=KIND_OF[row.type],
        client_id=row.client_id,
        user_id=row.user_id,
        session_id=row.session_id,
        ip_address=row.ip_address,
        error=row.error,
        details=row.details,
    )
