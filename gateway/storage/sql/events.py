"""User events and admin events in SQL: batches, filters, and pages whose cost does not grow.

Each filter has an index in the order of time. With several filters, the one with the fewest rows
is used, by counting up to SAMPLE rows of each; so no combination scans a realm. The cost still
grows with the events before the page, with frequent values that rarely occur together, and for a
path that begins with `*`. A filter that must not choose the index compares `column || ''`, for
which there is no index. In a path `*` matches any text; every other character matches itself.

User events arrive in batches of one statement, and again if the process that stored them died
before it recorded that. Keycloak: Event, AdminEvent.
Sources: https://www.sqlite.org/lang_expr.html (GLOB),
https://www.postgresql.org/docs/15/indexes-opclass.html (text_pattern_ops)
"""

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any, Final, Protocol

import orjson
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Row,
    Select,
    Table,
    Text,
    TextClause,
    and_,
    cast,
    func,
    literal,
    literal_column,
    select,
    text,
    tuple_,
    union_all,
)

from gateway.domain.clock import microseconds_of
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.events import (
    ALL_NAMES,
    KIND_OF,
    AdminEvent,
    AdminEventQuery,
    AuthDetails,
    EventPage,
    OperationType,
    Period,
    ResourceType,
    UserEvent,
    UserEventQuery,
)
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import admin_events, user_events
from gateway.storage.sql.text_search import escape, is_like
from gateway.storage.sql.transaction import SqlRepository, Transaction, values_of

_ANYTHING: Final = "*"
_MOST_WILDCARDS: Final = 5
"""Each further one multiplies the cost of a comparison."""
_LAST: Final = "\U0010ffff"

_EVER: Final = 2**62
"""Microseconds, before and after 1970."""

Condition = ColumnElement[bool]


class Filter(Protocol):
    """One condition of events."""

    def found(self, events: "EventsOf") -> tuple[Condition, ...]:
        """Return conditions, each of which an index serves, within the period."""

    def order(self, events: "EventsOf") -> tuple[ColumnElement[Any], ...]:
        """Return the order in which the rows are found, before their ids."""

    def along(self, events: "EventsOf") -> tuple[ColumnElement[Any] | TextClause, ...]:
        """Return the order of the index."""

    def holds(self, dialect: str) -> Condition:
        """Return a condition that no index serves."""


@dataclass(frozen=True, slots=True)
class EventsOf:
    """The events of a table in a database that happened in a period."""

    dialect: str
    time: Column[Any]
    period: Period

    def within(self) -> tuple[Condition, ...]:
        """Return the conditions of the period."""
        since, before = self.period.since, self.period.before
        begun = () if since is None else (self.time >= since,)
        return begun if before is None else (*begun, self.time < before)


@dataclass(frozen=True, slots=True)
class AnyOfValues:
    """The column has one of the values."""

    column: Column[Any]
    values: tuple[str, ...]
    by_pattern: bool = False
    """Whether PostgreSQL indexes the column for patterns."""

    def found(self, events: EventsOf) -> tuple[Condition, ...]:
        if self._is_equality(events):
            return tuple(and_(self.column == value, *events.within()) for value in self.values)
        # PostgreSQL removes equal columns from an order, and would read along the index of time
        # where it expects the value to be frequent: a range of rows has this order alone.
        since, before = events.period.since, events.period.before
        least = -_EVER if since is None else microseconds_of(since)
        end = _EVER if before is None else microseconds_of(before)
        row = tuple_(self.column, events.time)
        return tuple(
            and_(row >= _position(value, least), row < _position(value, end))
            for value in self.values
        )

    def order(self, events: EventsOf) -> tuple[ColumnElement[Any], ...]:
        return (events.time,) if self._is_equality(events) else (self.column, events.time)

    def along(self, events: EventsOf) -> tuple[ColumnElement[Any], ...]:
        return self.order(events)

    def holds(self, dialect: str) -> Condition:
        del dialect
        return _hidden(self.column).in_(self.values)

    def _is_equality(self, events: EventsOf) -> bool:
        return events.dialect == "sqlite" or self.by_pattern


@dataclass(frozen=True, slots=True)
class LikePattern:
    """The column matches a pattern with a `*`."""

    column: Column[Any]
    pattern: str

    @property
    def beginning(self) -> str:
        """The text before the first `*`; where it is empty, no index helps."""
        return self.pattern.partition(_ANYTHING)[0]

    def found(self, events: EventsOf) -> tuple[Condition, ...]:
        least, end = literal(self.beginning, Text), literal(self.beginning + _LAST, Text)
        if events.dialect == "postgresql":
            found = and_(self.column.op("~>=~")(least), self.column.op("~<~")(end))
        else:
            found = and_(self.column >= least, self.column < end)
        return (and_(found, *events.within()),)

    def order(self, events: EventsOf) -> tuple[ColumnElement[Any], ...]:
        return (events.time.op("+")(literal_column("0")),)

    def along(self, events: EventsOf) -> tuple[ColumnElement[Any] | TextClause, ...]:
        by_pattern = events.dialect == "postgresql"
        return (text(f"{self.column.name} USING ~<~") if by_pattern else self.column,)

    def holds(self, dialect: str) -> Condition:
        hidden = _hidden(self.column)
        if dialect == "postgresql":
            return is_like(hidden, escape(self.pattern).replace(_ANYTHING, "%"))
        return hidden.op("GLOB")(literal(_glob(self.pattern), Text))


def filters_of(*asked: tuple[Column[Any], str | tuple[str, ...] | None]) -> list[Filter] | None:
    """Return the filters of columns by equality; None where no event can match."""
    wanted = [
        (column, (given,) if isinstance(given, str) else given) for column, given in asked if given
    ]
    if not all(is_name(value) for _, values in wanted for value in values):
        return None
    return [AnyOfValues(column, tuple(dict.fromkeys(values))) for column, values in wanted]


def path_filter(column: Column[str], pattern: str | None) -> list[Filter] | None:
    """Return the filter of a path, None if none can match; InvalidInput if it costs too much."""
    parts = (pattern or _ANYTHING).split(_ANYTHING)
    inner = [part for part in parts[1:-1] if part]  # ** is the same as *
    if len(inner) >= _MOST_WILDCARDS:
        allowed = f"at most {_MOST_WILDCARDS} times *"
        raise InvalidInput((FieldError("resourcePath", "more", allowed),))
    if not all(map(is_name, parts)):
        return None
    if len(parts) == 1:
        return [AnyOfValues(column, (parts[0],), by_pattern=True)]
    like = _ANYTHING.join((parts[0], *inner, parts[-1]))
    return [] if like == _ANYTHING else [LikePattern(column, like)]


def _position(value: str, microseconds: int) -> ColumnElement[Any]:
    return tuple_(literal(value, Text), literal(microseconds, BigInteger))


def _hidden(column: Column[str]) -> ColumnElement[str]:
    return cast(column.op("||")(""), Text)


def _glob(pattern: str) -> str:
    return pattern.replace("[", "[[]").replace("?", "[?]")


SAMPLE: Final = 10_000
"""Rows that are counted for each filter, and rows by path that are sorted at most."""

_ALONG_INDEXES: Final = """
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true)
"""
"""PostgreSQL estimates how many rows match several filters. With a wrong estimate it would scan the
table, so the transaction may only use an index in its order."""
_SORTED: Final = "SELECT set_config('enable_sort', 'on', true)"


class EventPages:
    """Finds the events of a realm in one of the tables."""

    def __init__(
        self, transaction: Transaction, table: Table, realm_id: str, period: Period
    ) -> None:
        self._transaction = transaction
        self._table = table
        self._realm_id = realm_id
        self._events = EventsOf(transaction.dialect, table.c.time, period)

    async def page(self, filters: Sequence[Filter], page: EventPage) -> Sequence[Row[Any]]:
        if page.maximum == 0:
            return []
        await self._set_locally(_ALONG_INDEXES)
        leading = await self._leading(filters)
        if isinstance(leading, LikePattern):
            await self._set_locally(_SORTED)
        others = [each.holds(self._events.dialect) for each in filters if each is not leading]
        if leading is None:
            found = self._by_time(others, page)
        else:
            found = self._found(leading, others, page)
        return (await self._transaction.execute(found)).all()

    async def _set_locally(self, settings: str) -> None:
        if self._events.dialect == "postgresql":
            await self._transaction.execute(text(settings))

    async def _leading(self, filters: Sequence[Filter]) -> Filter | None:
        """Return the filter whose index finds the rows, None for the index of time."""
        exact = [each for each in filters if not isinstance(each, LikePattern)]
        if len(filters) == len(exact) <= 1:
            return next(iter(exact), None)
        counted = [each for each in filters if not isinstance(each, LikePattern) or each.beginning]
        usable = [
            (number, order, each)
            for order, (number, each) in enumerate(
                zip(await self._counted(counted), counted, strict=True)
            )
            # Rows by path are not in the order of time: they are sorted, so they must be few.
            if number < SAMPLE or not isinstance(each, LikePattern)
        ]
        return min(usable, default=(0, 0, None))[2]

    async def _counted(self, filters: Sequence[Filter]) -> Sequence[int]:
        """Return the number of rows of each filter, SAMPLE or more for many."""
        if not filters:
            return []
        numbers = [
            [self._number(each, branch) for branch in each.found(self._events)] for each in filters
        ]
        sums = [reduce(operator.add, parts) for parts in numbers]
        return tuple((await self._transaction.execute(select(*sums))).one())

    def _number(self, each: Filter, branch: Condition) -> ColumnElement[int]:
        # The order is that of the index: without it PostgreSQL may look along another.
        some = self._select([literal(1)], branch).order_by(*each.along(self._events))
        return select(func.count()).select_from(some.limit(SAMPLE).subquery()).scalar_subquery()

    def _by_time(self, held: Sequence[Condition], page: EventPage) -> Select[Any]:
        columns = self._table.c
        rows = self._select(columns, *held, *self._events.within())
        return (
            rows.order_by(*_order(page, columns.time, columns.id))
            .offset(page.first)
            .limit(page.maximum)
        )

    def _found(self, leading: Filter, held: Sequence[Condition], page: EventPage) -> Select[Any]:
        """Return the page by one index; several values are merged from one list each."""
        columns = self._table.c
        if isinstance(leading, LikePattern):
            held = [*held, leading.holds(self._events.dialect)]
        order = _order(page, *leading.order(self._events), columns.id)
        enough = page.first + page.maximum
        found = [
            self._select(columns, branch, *held).order_by(*order).limit(enough)
            for branch in leading.found(self._events)
        ]
        if len(found) == 1:
            return found[0].offset(page.first).limit(page.maximum)
        rows = union_all(*(select(each.subquery()) for each in found)).subquery()
        merged = select(rows).order_by(*_order(page, rows.c.time, rows.c.id))
        return merged.offset(page.first).limit(page.maximum)

    def _select(self, columns: Iterable[ColumnElement[Any]], *held: Condition) -> Select[Any]:
        of_realm = self._table.c.realm_id == self._realm_id
        return select(*columns).select_from(self._table).where(of_realm, *held)


async def remove_oldest(
    transaction: Transaction, table: Table, realm_id: str, before: object, most: int
) -> int:
    """Remove the oldest events before the instant; return how many."""
    oldest = (
        select(table.c.id)
        .where(table.c.realm_id == realm_id, table.c.time < before)
        .order_by(table.c.time, table.c.id)
        .limit(most)
    )
    return await transaction.delete_rows(table, table.c.id.in_(oldest), realm_id=realm_id)


def _order(page: EventPage, *columns: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    return [column.desc() if page.newest_first else column.asc() for column in columns]


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


_NAMES: Final = ("realm_id", "id", "client_id", "user_id", "session_id", "ip_address", "error")


class SqlUserEvents(SqlRepository):
    """UserEventRepository on SQL."""

    async def add_all(self, events: Sequence[UserEvent]) -> None:
        if not events:
            return
        given = orjson.dumps([_render_user_event(event) for event in events]).decode()
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
        return tuple(map(_parse_user_event, await pages.page(filters, page)))

    async def remove_oldest(self, realm_id: str, before: datetime, most: int) -> int:
        return await remove_oldest(self._transaction, user_events, realm_id, before, most)


def _render_user_event(event: UserEvent) -> list[str | int | None]:
    names = values_of(event, _NAMES)
    if not all(is_name(name) for name in names.values() if name is not None):
        given = "a text that cannot be stored"
        raise InvalidInput((FieldError("event", given, "names without NUL and surrogates"),))
    realm_id, event_id, *others = names.values()
    details = _text(event.details)
    return [realm_id, event_id, microseconds_of(event.time), event.name, *others, details]


def _text(details: Mapping[str, str]) -> str:
    """Return JSON text; lone surrogates are escaped, which takes longer."""
    try:
        return orjson.dumps(details).decode()
    except TypeError:
        return json.dumps(dict(details), separators=(",", ":"))


def _parse_user_event(row: Row[Any]) -> UserEvent:
    names = (*_NAMES, "time", "details")
    return UserEvent(**values_of(row, names), kind=KIND_OF[row.type])


_OF_ADMIN_EVENT: Final = ("id", "realm_id", "time", "resource_path", "representation", "details")


class SqlAdminEvents(SqlRepository):
    """AdminEventRepository on SQL."""

    async def add(self, event: AdminEvent) -> None:
        row = values_of(event, _OF_ADMIN_EVENT) | {
            "operation_type": event.operation,
            "resource_type": event.resource,
            "auth_realm_id": event.auth.realm_id,
            "auth_client": event.auth.client,
            "auth_user_id": event.auth.user_id,
            "ip_address": event.auth.ip_address,
        }
        await self._transaction.insert_later(admin_events, [row])

    async def page(
        self, realm_id: str, query: AdminEventQuery, page: EventPage
    ) -> tuple[AdminEvent, ...]:
        columns = admin_events.c
        operations = () if set(query.operations) == set(OperationType) else query.operations
        filters = filters_of(
            (columns.auth_user_id, query.auth_user_id),
            (columns.ip_address, query.ip_address),
            (columns.auth_client, query.auth_client),
            (columns.auth_realm_id, query.auth_realm_id),
            (columns.resource_type, query.resources),
            (columns.operation_type, operations),
        )
        path = path_filter(columns.resource_path, query.resource_path)
        if filters is None or path is None:
            return ()
        pages = EventPages(self._transaction, admin_events, realm_id, query.period)
        return tuple(map(_parse_admin_event, await pages.page([*path, *filters], page)))

    async def remove_oldest(self, realm_id: str, before: datetime, most: int) -> int:
        return await remove_oldest(self._transaction, admin_events, realm_id, before, most)


def _parse_admin_event(row: Row[Any]) -> AdminEvent:
    return AdminEvent(
        **values_of(row, _OF_ADMIN_EVENT),
        operation=OperationType(row.operation_type),
        resource=ResourceType(row.resource_type),
        auth=AuthDetails(row.auth_realm_id, row.auth_client, row.auth_user_id, row.ip_address),
    )
