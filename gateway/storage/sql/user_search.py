"""Which rows a search for users means. Service accounts are never meant.

Answered from an index, whatever the number of users: `search` by prefix and by id, `exact`, `q`,
and a page of everybody. A part of a text, or what follows a `*`, is looked for in one user after
the other, in the order of the answer: quick where many match, as slow as the realm is large where
few do. Keycloak: GET users
"""

from collections.abc import Callable, Iterator
from typing import Final

from sqlalchemy import Column, ColumnElement, and_, false, or_, select, union

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.users import UserQuery
from gateway.storage.sql.attribute_index import index_term
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import user_attributes, users

_ESCAPE: Final = "/"
_BY_ID: Final = "id:"
_MOST_WORDS: Final = 10
_MOST_WILDCARDS: Final = 3
"""Before the end of a word; each more multiplies what one comparison may take."""

Condition = ColumnElement[bool]

_SEARCHED: Final[tuple[Column[str], ...]] = (
    users.c.username,
    users.c.email,
    users.c.first_name_lower,
    users.c.last_name_lower,
)
_found = users.alias("found")
_FOUND_BY: Final = tuple(_found.c[column.name] for column in _SEARCHED)


def matching(realm_id: str, query: UserQuery) -> Iterator[Condition]:
    """Return what all must hold of a user; raises InvalidInput for a search that costs too much."""
    # An expression, or SQLite takes the index of this column for the best: it fits all users.
    yield users.c.service_account_client.concat("").is_(None)
    if query.search is not None:
        yield from _searched(realm_id, query.search.strip())
    texts = (query.username, query.email, query.first_name, query.last_name)
    for column, text in zip(_SEARCHED, texts, strict=True):
        if text:
            yield _within(column, text.lower(), exact=query.exact)
    if query.enabled is not None:
        yield users.c.enabled.is_(query.enabled)
    if query.email_verified is not None:
        yield users.c.email_verified.is_(query.email_verified)
    for name, value in query.attributes.items():
        yield _has_attribute(realm_id, name, value)


def is_indexed(query: UserQuery) -> bool:
    """Tell whether an index finds what is searched, so that it need not be looked for."""
    texts = (query.username, query.email, query.first_name, query.last_name)
    search = (query.search or "").strip()
    return (
        bool(search and not search.startswith("*"))
        or bool(query.attributes)
        or (query.exact and any(texts))
    )


def _searched(realm_id: str, search: str) -> Iterator[Condition]:
    if search.startswith(_BY_ID):
        ids = search.removeprefix(_BY_ID).split()
        yield users.c.id.in_([user_id for user_id in ids if is_name(user_id)])
    elif search.startswith('"') and search.endswith('"') and len(search) > 1:
        whole = search[1:-1].lower()
        yield _any_is(realm_id, whole, lambda column: column == whole, indexed=True)
    else:
        words = search.lower().split()
        if len(words) > _MOST_WORDS:
            raise _too_costly(f"at most {_MOST_WORDS} words")
        yield from (_begins_with(realm_id, word) for word in words)


def _begins_with(realm_id: str, word: str) -> Condition:
    """Return the condition that a field begins with `word`, in which `*` stands for anything."""
    parts = word.rstrip("*").split("*")
    if len(parts) > _MOST_WILDCARDS + 1:
        raise _too_costly(f"at most {_MOST_WILDCARDS} times * within a word")
    pattern = "%".join(map(_literal, parts)) + "%"
    prefix, others = parts[0], parts[1:]

    def begins(column: Column[str]) -> Condition:
        conditions = _in_range(column, prefix) if prefix else []
        if others:
            conditions.append(column.like(pattern, escape=_ESCAPE))
        return and_(*conditions) if conditions else column.is_not(None)

    return _any_is(realm_id, word, begins, indexed=bool(prefix))


def _any_is(
    realm_id: str, text: str, condition: Callable[[Column[str]], Condition], *, indexed: bool
) -> Condition:
    if not is_name(text):
        return false()
    if not indexed:
        return or_(*map(condition, _SEARCHED))
    # One query for each field: with OR between them SQLite would use none of their indexes.
    return users.c.id.in_(
        union(
            *(
                select(_found.c.id).where(_found.c.realm_id == realm_id, condition(column))
                for column in _FOUND_BY
            )
        )
    )


def _in_range(column: Column[str], prefix: str) -> list[Condition]:
    """Return the range of all texts with the prefix: unlike LIKE it always finds its index."""
    conditions = [column >= prefix]
    beyond = _next(prefix)
    if beyond:
        conditions.append(column < beyond)
    return conditions


def _next(prefix: str) -> str:
    """Return the first text after all that begin with `prefix`; empty where there is none."""
    head = prefix.rstrip("\U0010ffff")
    if not head:
        return ""
    # The numbers of surrogates are no characters.
    following = "\ue000" if head[-1] == "\ud7ff" else chr(ord(head[-1]) + 1)
    return head[:-1] + following


def _within(column: Column[str], text: str, *, exact: bool) -> Condition:
    if not is_name(text):
        return false()
    if exact:
        return column == text
    return column.like(f"%{_literal(text)}%", escape=_ESCAPE)


def _literal(text: str) -> str:
    """Return the pattern that stands for the text itself."""
    for character in (_ESCAPE, "%", "_"):
        text = text.replace(character, _ESCAPE + character)
    return text


def _has_attribute(realm_id: str, name: str, value: str) -> Condition:
    return users.c.id.in_(
        select(user_attributes.c.user_id).where(
            user_attributes.c.realm_id == realm_id,
            user_attributes.c.name == index_term(name),
            user_attributes.c.value == index_term(value),
        )
    )


def _too_costly(allowed: str) -> InvalidInput:
    return InvalidInput((FieldError("search", "more", allowed),))
