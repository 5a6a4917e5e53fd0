"""Which clients a search meets: part of the public name, exact values of attributes.

Letters of ASCII alone are the same in both cases, on either database. A wildcard of LIKE is a
character like any other. Keycloak: GET clients, `clientId` with `search`, and `q`
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    Select,
    Text,
    cast,
    false,
    func,
    literal_column,
    or_,
    select,
    type_coerce,
)

from gateway.domain.ports.storage.clients import ClientSearch
from gateway.storage.sql.schema import clients

_SQLITE = "sqlite"


def matches(search: ClientSearch, dialect: str) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a match."""
    if search.part:
        yield _holds_part(search.part, dialect)
    for name, value in search.attributes.items():
        yield _has_attribute(name, value, dialect)


def is_always_listed() -> ColumnElement[bool]:
    """Return the condition of clients with `alwaysDisplayInConsole`, in the document's text.

    To parse the documents of ten thousand clients would take longer than to look through them.
    """
    document = type_coerce(clients.c.document, Text)
    return document.like(literal_column("""'%"alwaysDisplayInConsole":true%'"""))


def mentions(texts: Iterable[str]) -> ColumnElement[bool]:
    """Return the condition of clients whose document has one of the texts as a value somewhere."""
    document = type_coerce(clients.c.document, Text)
    found = (document.contains(json.dumps(text), autoescape=True) for text in texts)
    return or_(false(), *found)


def _holds_part(part: str, dialect: str) -> ColumnElement[bool]:
    name = type_coerce(clients.c.client_id, Text)
    plain = name if dialect == _SQLITE else name.collate("C")
    return func.lower(plain).contains(_lower(part), autoescape=True)


def _lower(text: str) -> str:
    return "".join(sign.lower() if sign.isascii() else sign for sign in text)


def _has_attribute(name: str, value: str, dialect: str) -> ColumnElement[bool]:
    document = type_coerce(clients.c.document, Text)
    if dialect == _SQLITE:
        entries = func.json_each(document, "$.attributes")
    else:
        entries = func.json_each_text(cast(document, JSON)["attributes"])
    entry = entries.table_valued("key", "value")
    found: Select[Any] = select(literal_column("1"))
    found = found.where(entry.c.key == name, entry.c.value == value)
    return found.correlate(clients).exists()
