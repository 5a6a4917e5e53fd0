"""Columns that mean the same on SQLite and PostgreSQL.

PostgreSQL text holds neither NUL nor lone surrogates, and its indexes no values beyond a length.
SQLite holds all of them. A value that one of the two refuses is refused on both, before it is sent.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, TypeVar

from sqlalchemy import BigInteger, Dialect, Text
from sqlalchemy.types import TypeDecorator

from gateway.domain.clock import instant_of, microseconds_of
from gateway.domain.distinguished_names import parse_distinguished_name
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.caches import cached

ContainerT = TypeVar("ContainerT")

_LONGEST_NAME = 255
_EMPTY = "{}"
_PARSED_BYTES = 1024 * 1024


def is_name(value: str) -> bool:
    """Return whether the databases can hold `value` in an indexed column."""
    return (
        len(value) <= _LONGEST_NAME
        and "\0" not in value
        and (value.isascii() or not any(map(_is_surrogate, value)))
    )


def checked_name(value: str | None) -> str | None:
    """Return the value; raises InvalidInput where only one of the databases would accept it."""
    if value is None or is_name(value):
        return value
    given = "a name that cannot be stored"
    allowed = f"at most {_LONGEST_NAME} characters of Unicode without NUL"
    raise InvalidInput((FieldError("name", given, allowed),))


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


class Name(TypeDecorator[str]):
    """Text that is looked up: at most 255 characters, as in Keycloak's schema."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Refuse what only one of the databases would accept."""
        return checked_name(value)


class Instant(TypeDecorator[datetime]):
    """An aware instant, stored as whole microseconds since 1970: exact, compared as a number."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else microseconds_of(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else instant_of(value)


class Converted(TypeDecorator[Any]):
    """Text of a value that `write` makes and `parse` reads."""

    impl = Text
    cache_ok = True

    def __init__(self, write: Callable[[Any], str], parse: Callable[[str], Any]) -> None:
        super().__init__()
        self.write, self.parse = write, parse

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else self.write(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else self.parse(value)


def _encode(value: bytes) -> str:
    return b64encode(value).decode("ascii")


# Many rows of a table have the same name.
_parse_name = cached(_PARSED_BYTES)(parse_distinguished_name)
BASE64 = Converted(_encode, b64decode)
HEXADECIMAL = Converted("{:x}".format, partial(int, base=16))
DISTINGUISHED_NAME = Converted(str, _parse_name)


def word_of(words: type[StrEnum]) -> Converted:
    """Return the type of a column with a word of an enumeration."""
    return Converted(str, words)


class _Json(TypeDecorator[ContainerT]):
    """JSON as ASCII text in its order, unlike PostgreSQL's jsonb, which sorts the members."""

    impl = Text
    container: ClassVar[type[Any]]

    def process_bind_param(self, value: ContainerT | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(self.container(value), separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> ContainerT | None:
        if value is None:
            return None
        found: ContainerT = self.container(() if value == _EMPTY else json.loads(value))
        return found


class Document(_Json[Mapping[str, Any]]):
    """A JSON object."""

    cache_ok = True
    container = dict


class NameList(_Json[tuple[str, ...]]):
    """A few names, as a JSON array."""

    cache_ok = True
    container = tuple
