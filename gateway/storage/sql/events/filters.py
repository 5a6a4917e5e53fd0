"""Filters on columns of events, and the indexes that serve them.

A filter that must not choose the index compares `column || ''`, for which there is no index. In a
path `*` matches any text; every other character matches itself.
Sources: https://www.sqlite.org/lang_expr.html (GLOB),
https://www.postgresql.org/docs/15/indexes-opclass.html (text_pattern_ops)
"""

from dataclasses import dataclass
from typing import Any, Final, Protocol

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Text,
    TextClause,
    and_,
    cast,
    literal,
    literal_column,
    text,
    tuple_,
)

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.events import Period
from gateway.storage.sql.column_types import is_name, microseconds_of
from gateway.storage.sql.text_search import escape, is_like

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
class OneOf:
    """The column has one of the values."""

    column: Column[Any]
    values: tuple[str, ...]
    by_pattern: bool = False
    """Whether PostgreSQL indexes the column for patterns."""

    def found(self, events: EventsOf) -> tuple[Condition, ...]:
        """Return a condition for each value."""
        if self._is_equality(events):
            return tuple(and_(self.column == value, *events.within()) for value in self.values)
        # PostgreSQL removes equal columns from an order, and would read along the index of time
        # where it expects the value to be frequent: a range of rows has this order alone.
        since, before = events.period.since, events.period.before
        least = -_EVER if since is None else microseconds_of(since)
        end = _EVER if before is None else microseconds_of(before)
        row = tuple_(self.column, events.time)
        return tuple(
            and_(row >= _row(value, least), row < _row(value, end)) for value in self.values
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
class Matching:
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
    return [OneOf(column, tuple(dict.fromkeys(values))) for column, values in wanted]


def path_filter(column: Column[str], pattern: str | None) -> list[Filter] | None:
    """Return the filter of a path; None where no event can match.

    Raises InvalidInput for a pattern that costs too much.
    """
    parts = (pattern or _ANYTHING).split(_ANYTHING)
    inner = [part for part in parts[1:-1] if part]  # ** is the same as *
    if len(inner) >= _MOST_WILDCARDS:
        allowed = f"at most {_MOST_WILDCARDS} times *"
        raise InvalidInput((FieldError("resourcePath", "more", allowed),))
    if not all(map(is_name, parts)):
        return None
    if len(parts) == 1:
        return [OneOf(column, (parts[0],), by_pattern=True)]
    like = _ANYTHING.join((parts[0], *inner, parts[-1]))
    return [] if like == _ANYTHING else [Matching(column, like)]


def _row(value: str, microseconds: int) -> ColumnElement[Any]:
    return tuple_(literal(value, Text), literal(microseconds, BigInteger))


def _hidden(column: Column[str]) -> ColumnElement[str]:
    return cast(column.op("||")(""), Text)


def _glob(pattern: str) -> str:
    return pattern.replace("[", "[[]").replace("?", "[?]")
