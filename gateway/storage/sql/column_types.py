"""Columns that mean the same on SQLite and PostgreSQL.

PostgreSQL text holds neither NUL nor lone surrogates and its indexes no endless values, SQLite
holds all of them: what one of the two would refuse is refused on both, before it is sent.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Dialect, Text
from sqlalchemy.types import TypeDecorator

from gateway.domain.errors import FieldError, InvalidInput

_LONGEST_NAME = 255
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def is_name(value: str) -> bool:
    """Tell whether the databases can hold `value` in an indexed column."""
    return (
        len(value) <= _LONGEST_NAME
        and "\0" not in value
        and (value.isascii() or not any(map(_is_surrogate, value)))
    )


def instant_of(microseconds: int) -> datetime:
    """Return the instant that is so many microseconds after 1970."""
    return _EPOCH + microseconds * _MICROSECOND


def microseconds_of(instant: datetime) -> int:
    """Return how many microseconds after 1970 that is; a naive instant raises TypeError."""
    return (instant - _EPOCH) // _MICROSECOND


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


class Name(TypeDecorator[str]):
    """Text that is looked up: at most 255 characters, as in Keycloak's schema."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Refuse what only one of the databases would take."""
        del dialect
        if value is None or is_name(value):
            return value
        given = "a name that cannot be stored"
        allowed = f"at most {_LONGEST_NAME} characters of Unicode without NUL"
        raise InvalidInput((FieldError("name", given, allowed),))


class Instant(TypeDecorator[datetime]):
    """An aware instant, kept as whole microseconds since 1970: exact, and compared as a number."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Count the microseconds; a naive instant raises TypeError."""
        del dialect
        return None if value is None else microseconds_of(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Return the instant in UTC."""
        del dialect
        return None if value is None else instant_of(value)


class Document(TypeDecorator[Mapping[str, Any]]):
    """A JSON object as ASCII text, with its order of members and any character escaped.

    Not PostgreSQL's jsonb: that sorts the members, so a document would not come back unchanged.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, Any] | None, dialect: Dialect) -> str | None:
        """Write the object."""
        del dialect
        return None if value is None else json.dumps(dict(value), separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> dict[str, Any] | None:
        """Read the object."""
        del dialect
        return None if value is None else dict(json.loads(value))


class Names(TypeDecorator[tuple[str, ...]]):
    """A few names, as a JSON array in ASCII."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> str | None:
        """Write the array."""
        del dialect
        return None if value is None else json.dumps(list(value), separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[str, ...] | None:
        """Read the array."""
        del dialect
        return None if value is None else tuple(json.loads(value))
