"""Searches for users: the conditions of a match, and the index entries that find matches.

Keycloak: GET users. `search` is a prefix, with `*` for any text, or the whole field in quotes; the
other texts are a part of their field, or the whole of it with `exact`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, literal, or_, select

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.users import UserQuery, canonical_name
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import user_attributes, users
from gateway.storage.sql.text_search import escape, is_like
from gateway.storage.sql.users.attribute_index import index_term
from gateway.storage.sql.users.terms import Term, flag_terms, terms_at_start, terms_within

_BY_ID: Final = "id:"
_MOST_WORDS: Final = 10
_MOST_WILDCARDS: Final = 3
"""Before the end of a word; each further one multiplies the cost of a comparison."""
_MOST_ATTRIBUTES: Final = 10
"""Each takes a search of its own."""
_SEARCHED: Final = ("username", "email", "first_name_lower", "last_name_lower")

Columns = Mapping[str, ColumnElement[Any]]
"""Of the table that is searched, by name."""
Condition = ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition of a match, and the index entries that find its users.

    `terms` are had by all of them, and by some others; `usernames` selects exactly them.
    """

    holds: Callable[[Columns], Condition]
    terms: tuple[Term, ...] = ()
    usernames: Select[tuple[str]] | None = None
    few: bool = False
    """Whether it holds for a handful of users at most in a realm of any size."""


def requirements(realm_id: str, query: UserQuery) -> tuple[Requirement, ...] | None:
    """Return the conditions of a match: empty if every user matches, None if no user can.

    Raises InvalidInput for a search that costs too much.
    """
    texts = [query.search, query.username, query.email, query.first_name, query.last_name]
    # In lower case, as they are compared: some texts are longer then.
    if not all(is_name(text.lower()) for text in texts if text and not text.startswith(_BY_ID)):
        return None
    if len(query.attributes) > _MOST_ATTRIBUTES:
        raise _too_costly("q", f"at most {_MOST_ATTRIBUTES} attributes")
    return tuple(_requirements(realm_id, query))


def _requirements(realm_id: str, query: UserQuery) -> Iterator[Requirement]:
    if query.search is not None:
        yield from _searched(realm_id, query.search.strip())
    texts = (query.username, query.email, query.first_name, query.last_name)
    for name, text in zip(_SEARCHED, texts, strict=True):
        if text:
            yield _equals(realm_id, name, text) if query.exact else _contains(name, text)
    yield from _flags(query)
    for name, value in query.attributes.items():
        yield _has_attribute(realm_id, name, value)
    since, until = query.created_from, query.created_until
    if since is not None:
        yield _created(realm_id, lambda created: created >= since)
    if until is not None:
        yield _created(realm_id, lambda created: created < until)


def _searched(realm_id: str, search: str) -> Iterator[Requirement]:
    if search.startswith(_BY_ID):
        yield _has_id(realm_id, search.removeprefix(_BY_ID).split())
    elif search.startswith('"') and search.endswith('"') and len(search) > 1:
        whole = search[1:-1].lower()
        yield _any(lambda column: column == whole, terms_at_start(whole))
    else:
        words = search.lower().split()
        if len(words) > _MOST_WORDS:
            raise _too_costly("search", f"at most {_MOST_WORDS} words")
        yield from (_begins_with(word) for word in words if word.strip("*"))


def _begins_with(word: str) -> Requirement:
    """Require a field that begins with `word`, in which `*` matches any text."""
    prefix, *others = word.rstrip("*").split("*")
    if len(others) > _MOST_WILDCARDS:
        raise _too_costly("search", f"at most {_MOST_WILDCARDS} times * within a word")
    pattern = "%".join(map(escape, (prefix, *others))) + "%"
    terms = [*(terms_at_start(prefix) if prefix else ())]
    terms += [term for part in others if part for term in terms_within(part)]
    return _any(lambda column: is_like(column, pattern), terms)


def _any(
    condition: Callable[[ColumnElement[Any]], Condition], terms: Sequence[Term] | Iterator[Term]
) -> Requirement:
    def holds(columns: Columns) -> Condition:
        return or_(*(condition(columns[name]) for name in _SEARCHED))

    return Requirement(holds, tuple(terms))


def _contains(name: str, text: str) -> Requirement:
    part = text.lower()
    pattern = f"%{escape(part)}%"
    return Requirement(lambda columns: is_like(columns[name], pattern), tuple(terms_within(part)))


def _equals(realm_id: str, name: str, text: str) -> Requirement:
    column = users.c[name]
    if name not in ("username", "email"):
        lower = text.lower()
        return Requirement(lambda columns: columns[name] == lower, tuple(terms_at_start(lower)))
    kept = canonical_name(text)
    return Requirement(
        lambda columns: columns[name] == kept,
        usernames=select(users.c.username).where(users.c.realm_id == realm_id, column == kept),
        few=True,
    )


def _has_id(realm_id: str, ids: Sequence[str]) -> Requirement:
    known = [user_id for user_id in ids if is_name(user_id)]
    return Requirement(
        lambda columns: columns["id"].in_(known),
        usernames=select(users.c.username).where(
            users.c.realm_id == realm_id, users.c.id.in_(known)
        ),
        few=True,
    )


def _flags(query: UserQuery) -> Iterator[Requirement]:
    for name in ("enabled", "email_verified"):
        flag = getattr(query, name)
        if flag is not None:
            yield Requirement(_is(name, flag))


def _is(name: str, flag: bool) -> Callable[[Columns], Condition]:  # noqa: FBT001 - a value to compare with
    return lambda columns: columns[name].is_(flag)


def _has_attribute(realm_id: str, name: str, value: str) -> Requirement:
    of_name = and_(
        user_attributes.c.realm_id == realm_id,
        user_attributes.c.name == index_term(name),
        user_attributes.c.value == index_term(value),
    )

    def holds(columns: Columns) -> Condition:
        # A value, not EXISTS, which may become a list of all users with the attribute.
        one = select(literal(1)).where(of_name, user_attributes.c.user_id == columns["id"])
        return one.limit(1).correlate_except(user_attributes).scalar_subquery().is_not(None)

    having = and_(users.c.realm_id == realm_id, users.c.id == user_attributes.c.user_id)
    usernames = select(users.c.username).join_from(user_attributes, users, having).where(of_name)
    return Requirement(holds, usernames=usernames)


def _created(realm_id: str, is_then: Callable[[ColumnElement[Any]], Condition]) -> Requirement:
    each = users.alias("each")

    def holds(columns: Columns) -> Condition:
        of_user = and_(each.c.realm_id == realm_id, each.c.id == columns["id"])
        one = select(literal(1)).where(of_user, is_then(each.c.created_at))
        return one.limit(1).correlate_except(each).scalar_subquery().is_not(None)

    usernames = select(users.c.username).where(
        users.c.realm_id == realm_id, is_then(users.c.created_at)
    )
    return Requirement(holds, usernames=usernames)


def flags_as_terms(query: UserQuery) -> tuple[Term, ...]:
    """Return the terms that find users where nothing else does."""
    return tuple(flag_terms(enabled=query.enabled, email_verified=query.email_verified))


def _too_costly(parameter: str, allowed: str) -> InvalidInput:
    return InvalidInput((FieldError(parameter, "more", allowed),))
