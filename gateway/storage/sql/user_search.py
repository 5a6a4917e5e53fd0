"""Searches for users: conditions, index terms, and pages at a cost independent of the realm's size.

`search` is a prefix, with `*` for any text, or the whole field in quotes; the other texts are a
part of their field, or the whole of it with `exact`. Keycloak: GET users, `q`

A page is first read along the order of names, which fills it quickly if many users match; else an
index of search terms finds the few matches. The cost still grows with the users before the page,
with counted users, and with many matches that are all late in the order.

A term is three successive characters of a user name, an address or a name; the last one and two are
terms as well, so a shorter text is the beginning of a term. A mark before each text makes its
beginning a term of its own. Triggers (SQLite) and the expression of an index (PostgreSQL) make the
same terms, see revision 0003. A user may have all terms of a search and not match it: results are
compared again. Attributes are searched by equality, without regard to case; long values, and texts
that a database refuses, are indexed by their digest, so no row exceeds the limit of PostgreSQL.
Source: https://www.sqlite.org/fts5.html, https://www.postgresql.org/docs/15/textsearch.html
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    FromClause,
    Integer,
    MetaData,
    Row,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    cast,
    column,
    func,
    literal,
    literal_column,
    or_,
    select,
    table,
)
from sqlalchemy.types import UserDefinedType

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.users import UserQuery, canonical_name
from gateway.storage.sql.column_types import Name, is_name
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.schema import user_attributes, users
from gateway.storage.sql.text_search import escape, is_like
from gateway.storage.sql.transaction import Transaction

_LENGTH: Final = 3
_MOST: Final = 12
"""More terms of a long text would hardly exclude more users."""
_START: Final = "\x02"
_ENABLED: Final = "\x03"
_EMAIL_VERIFIED: Final = "\x04"
_OF_REALM: Final = "\x01"


@dataclass(frozen=True, slots=True)
class Term:
    """A term, or where it is not `whole` the beginning of one."""

    text: str
    whole: bool = True


def terms_within(text: str) -> Iterator[Term]:
    """Return the terms that every text has of which `text` is a part."""
    if len(text) < _LENGTH:
        yield Term(text, whole=False)
    for start in range(len(text) - _LENGTH + 1):
        yield Term(text[start : start + _LENGTH])


def terms_at_start(text: str) -> Iterator[Term]:
    """Return the terms that every text has that begins with `text`."""
    return terms_within(_START + text)


def flag_terms(*, enabled: bool | None, email_verified: bool | None) -> Iterator[Term]:
    """Return the terms of the flags; few users may be disabled, or all of them."""
    for mark, flag in ((_ENABLED, enabled), (_EMAIL_VERIFIED, email_verified)):
        if flag is not None:
            yield Term(f"{mark}{int(flag)}")


def best_terms(terms: Iterable[Term]) -> Sequence[Term]:
    """Return those that leave the fewest users for the least work."""
    all_of_them = tuple(dict.fromkeys(terms))
    whole = tuple(term for term in all_of_them if term.whole) or all_of_them
    step = -(-len(whole) // _MOST) or 1
    return whole[::step]


def fts5_query(realm_id: str, terms: Sequence[Term]) -> str:
    """Return SQLite's MATCH expression; two realms may have one mark. Its terms are hexadecimal."""
    mark = f"{_hexadecimal(realm_id[:4] + realm_id[-4:])}r"
    return " AND ".join(
        f'"{mark}{_hexadecimal(term.text)}"{"" if term.whole else " *"}' for term in terms
    )


def tsquery(realm_id: str, terms: Sequence[Term]) -> str:
    """Return the tsquery of PostgreSQL."""
    return " & ".join(
        f"{_quoted(realm_id + _OF_REALM + term.text)}{'' if term.whole else ':*'}" for term in terms
    )


def _hexadecimal(text: str) -> str:
    return text.encode().hex()


def _quoted(text: str) -> str:
    doubled = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


_LONGEST_BYTES: Final = 64


def index_term(text: str) -> str:
    """Return the index entry of a name or a value."""
    lowered = text.lower()
    encoded = lowered.encode("utf-8", "surrogatepass")
    if len(encoded) < _LONGEST_BYTES and is_name(lowered):
        return lowered
    return hashlib.sha256(encoded).hexdigest()


def index_terms(attributes: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Return the pairs of name and value under which a user is found, each once."""
    pairs = ((name, text) for name, texts in attributes.items() for text in texts)
    return iter(dict.fromkeys((index_term(name), index_term(text)) for name, text in pairs))


_BY_ID: Final = "id:"
_MOST_WORDS: Final = 10
_MOST_WILDCARDS: Final = 3
"""Before the end of a word; each further one multiplies the cost of a comparison."""
_MOST_ATTRIBUTES: Final = 10
"""Each takes a search of its own."""
_TEXTS: Final = ("username", "email", "first_name_lower", "last_name_lower")

Columns = Mapping[str, ColumnElement[Any]]
"""Of the table that is searched, by name."""
Condition = ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class MatchRequirement:
    """One condition of a match, and the index entries that find its users.

    All its users have the `terms`, and so may others; `usernames` selects its users exactly.
    """

    holds: Callable[[Columns], Condition]
    terms: tuple[Term, ...] = ()
    usernames: Select[tuple[str]] | None = None
    few: bool = False
    """Whether it holds for a handful of users at most in a realm of any size."""


def requirements(realm_id: str, query: UserQuery) -> tuple[MatchRequirement, ...] | None:
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


def _requirements(realm_id: str, query: UserQuery) -> Iterator[MatchRequirement]:
    if query.search is not None:
        yield from _searched(realm_id, query.search.strip())
    texts = (query.username, query.email, query.first_name, query.last_name)
    for name, text in zip(_TEXTS, texts, strict=True):
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


def _searched(realm_id: str, search: str) -> Iterator[MatchRequirement]:
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


def _begins_with(word: str) -> MatchRequirement:
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
) -> MatchRequirement:
    def holds(columns: Columns) -> Condition:
        return or_(*(condition(columns[name]) for name in _TEXTS))

    return MatchRequirement(holds, tuple(terms))


def _contains(name: str, text: str) -> MatchRequirement:
    part = text.lower()
    pattern = f"%{escape(part)}%"
    return MatchRequirement(
        lambda columns: is_like(columns[name], pattern), tuple(terms_within(part))
    )


def _equals(realm_id: str, name: str, text: str) -> MatchRequirement:
    column = users.c[name]
    if name not in ("username", "email"):
        lower = text.lower()
        return MatchRequirement(
            lambda columns: columns[name] == lower, tuple(terms_at_start(lower))
        )
    kept = canonical_name(text)
    return MatchRequirement(
        lambda columns: columns[name] == kept,
        usernames=select(users.c.username).where(users.c.realm_id == realm_id, column == kept),
        few=True,
    )


def _has_id(realm_id: str, ids: Sequence[str]) -> MatchRequirement:
    known = [user_id for user_id in ids if is_name(user_id)]
    return MatchRequirement(
        lambda columns: columns["id"].in_(known),
        usernames=select(users.c.username).where(
            users.c.realm_id == realm_id, users.c.id.in_(known)
        ),
        few=True,
    )


def _flags(query: UserQuery) -> Iterator[MatchRequirement]:
    for name in ("enabled", "email_verified"):
        flag = getattr(query, name)
        if flag is not None:
            yield MatchRequirement(_is(name, flag))


def _is(name: str, flag: bool) -> Callable[[Columns], Condition]:  # noqa: FBT001 - a value to compare with
    return lambda columns: columns[name].is_(flag)


def _has_attribute(realm_id: str, name: str, value: str) -> MatchRequirement:
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
    return MatchRequirement(holds, usernames=usernames)


def _created(realm_id: str, is_then: Callable[[ColumnElement[Any]], Condition]) -> MatchRequirement:
    each = users.alias("each")

    def holds(columns: Columns) -> Condition:
        of_user = and_(each.c.realm_id == realm_id, each.c.id == columns["id"])
        one = select(literal(1)).where(of_user, is_then(each.c.created_at))
        return one.limit(1).correlate_except(each).scalar_subquery().is_not(None)

    usernames = select(users.c.username).where(
        users.c.realm_id == realm_id, is_then(users.c.created_at)
    )
    return MatchRequirement(holds, usernames=usernames)


def flags_as_terms(query: UserQuery) -> tuple[Term, ...]:
    """Return the terms that find users where nothing else does."""
    return tuple(flag_terms(enabled=query.enabled, email_verified=query.email_verified))


def _too_costly(parameter: str, allowed: str) -> InvalidInput:
    return InvalidInput((FieldError(parameter, "more", allowed),))


SAMPLE = 500
"""Users, first by name and then by id, that show how frequent a match is."""
_WORTH: Final = 3
"""A page is read along the names where this factor times the square of the matches in the sample is
more than the users up to the end of the page: in a realm of a million that costs no more than
finding all matches."""
_SHORTEST_WALK: Final = 5_000
"""Users that are read along the names at least: the first names are not a random sample."""

_COUNTED: Final = (
    *("username", "email", "first_name_lower", "last_name_lower"),
    *("enabled", "email_verified"),
)


class _TsQuery(UserDefinedType[str]):
    """PostgreSQL's `tsquery`; SQLAlchemy's own type would load the whole dialect on SQLite too."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "TSQUERY"


_sqlite_people = Table(
    "user_search",
    MetaData(),
    Column("number", Integer, primary_key=True),
    Column("realm_id", Name),
    Column("id", Name),
    *(Column(name, users.c[name].type) for name in _COUNTED),
)
_sqlite_terms = table("user_search_terms", column("rowid", Integer))


def _page(names: Select[tuple[str]], realm_id: Any, first: Any, maximum: Any) -> Select[Any]:
    """Select whole rows; rows before the page are skipped by name alone."""
    name = names.selected_columns[0]
    page = names.order_by(name).offset(first).limit(maximum).subquery()
    of_page = and_(users.c.realm_id == realm_id, users.c.username == page.c.username)
    return select(users).join_from(page, users, of_page).order_by(page.c.username)


_REALM_ID: Final = bindparam("realm_id", type_=Name)
_EVERYONE: Final = FixedQuery(
    _page(
        select(_sqlite_people.c.username).where(_sqlite_people.c.realm_id == _REALM_ID),
        _REALM_ID,
        bindparam("first", type_=Integer),
        bindparam("maximum", type_=Integer),
    )
)
"""A page of all users of a realm, on SQLite."""


class UserPages:
    """Finds the users of a realm, without service accounts."""

    def __init__(self, transaction: Transaction, realm_id: str, query: UserQuery) -> None:
        """Prepare a search; raises InvalidInput for one that costs too much."""
        self._transaction = transaction
        self._realm_id = realm_id
        self._required = requirements(realm_id, query)
        self._flags = flags_as_terms(query)
        self._is_sqlite = transaction.dialect == "sqlite"
        self._people: FromClause = _sqlite_people if self._is_sqlite else users

    async def page(self, first: int, maximum: int) -> Sequence[Any]:
        """Return the rows of `users` on the page, by username."""
        if self._required is None or maximum == 0:
            return []
        if not self._required:
            return await self._everyone(first, maximum)
        rows = None if self._few else await self._walked(first, maximum)
        return await self._rows(self._found(), first, maximum) if rows is None else rows

    async def count(self) -> int:
        if self._required is None:
            return 0
        return await self._number(self._found() if self._required else self._walk())

    async def _everyone(self, first: int, maximum: int) -> Sequence[Any]:
        if not self._is_sqlite:
            return await self._rows(self._walk(), first, maximum)
        return await self._transaction.fetch(
            _EVERYONE, realm_id=self._realm_id, first=first, maximum=maximum
        )

    async def _walked(self, first: int, maximum: int) -> list[Row[Any]] | None:
        """Return the page by reading along the names, None where that takes too long."""
        needed = first + maximum
        beyond = await self._name_at(SAMPLE)
        rows = await self._rows(self._walk(beyond), first, maximum)
        if beyond is None or len(rows) == maximum:
            return rows
        seen = await self._number(self._sample())
        if _WORTH * seen * seen <= needed:
            return None
        beyond = await self._name_at(max(_SHORTEST_WALK, 2 * SAMPLE * needed // seen))
        rows = await self._rows(self._walk(beyond), first, maximum)
        return rows if beyond is None or len(rows) == maximum else None

    @property
    def _few(self) -> bool:
        return any(required.few for required in self._required or ())

    def _walk(self, beyond: str | None = None) -> Select[tuple[str]]:
        """Select the names of those that match, among those before `beyond`."""
        people = self._people.c
        names = select(people.username).where(
            people.realm_id == self._realm_id, *self._are_people(), *self._hold(self._people)
        )
        return names if beyond is None else names.where(people.username < beyond)

    def _sample(self) -> Select[tuple[str]]:
        """Select the names of the matches among the first users by id, a random sample."""
        of_realm = select(users).where(users.c.realm_id == self._realm_id)
        some = of_realm.order_by(users.c.id).limit(SAMPLE).subquery()
        return select(some.c.username).where(
            some.c.service_account_client.is_(None), *self._hold(some)
        )

    async def _name_at(self, place: int) -> str | None:
        """Return the name at a place in the order, None where there are fewer users."""
        people = self._people.c
        all_users = select(people.username).where(
            people.realm_id == self._realm_id, *self._are_people()
        )
        rows = await self._transaction.execute(
            all_users.order_by(people.username).offset(place).limit(1)
        )
        return rows.scalar_one_or_none()

    def _are_people(self) -> list[ColumnElement[bool]]:
        if self._is_sqlite:
            return []
        # An expression, as in the index: PostgreSQL would take that of service accounts instead.
        account = users.c.service_account_client.op("||")(literal_column("''"))
        return [account.is_(None)]

    def _hold(self, source: FromClause) -> list[ColumnElement[bool]]:
        columns = dict(source.c.items())
        return [required.holds(columns) for required in self._required or ()]

    def _found(self) -> Select[tuple[str]]:
        """Select names by an index of terms; MATERIALIZED keeps planners off the names."""
        people = self._people.c
        picked = select(*(people[name] for name in ("realm_id", "id", *_COUNTED)))
        found = picked.where(*self._are_people(), self._picks()).cte("found")
        found = found.prefix_with("MATERIALIZED")
        return select(found.c.username).where(
            found.c.realm_id == self._realm_id, *self._hold(found)
        )

    def _picks(self) -> ColumnElement[bool]:
        """Return the condition with the best index."""
        required = self._required or ()
        terms = [term for one in required for term in one.terms]
        names = [one.usernames for one in required if one.usernames is not None]
        if self._few or (names and not terms):
            exact = [one.usernames for one in required if one.few and one.usernames is not None]
            people = self._people.c
            return and_(people.realm_id == self._realm_id, people.username.in_((exact or names)[0]))
        return self._has(terms or list(self._flags))

    def _has(self, terms: list[Term]) -> ColumnElement[bool]:
        best = best_terms(terms)
        if self._is_sqlite:
            asked = literal_column("user_search_terms").op("MATCH")
            match = asked(literal(fts5_query(self._realm_id, best), Text))
            return _sqlite_people.c.number.in_(select(_sqlite_terms.c.rowid).where(match))
        of_user = func.user_search_terms(*(users.c[name] for name in ("realm_id", *_COUNTED)))
        asked_for = cast(literal(tsquery(self._realm_id, best), Text), _TsQuery())
        return and_(users.c.realm_id == self._realm_id, of_user.bool_op("@@")(asked_for))

    async def _rows(self, names: Select[tuple[str]], first: int, maximum: int) -> list[Row[Any]]:
        rows = await self._transaction.execute(_page(names, self._realm_id, first, maximum))
        return [row async for row in in_slices(rows)]

    async def _number(self, names: Select[tuple[str]]) -> int:
        return await self._transaction.count_rows(
            select(func.count()).select_from(names.subquery())
        )
