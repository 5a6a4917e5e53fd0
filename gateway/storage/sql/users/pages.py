"""Pages of users and their number, at a cost that does not grow with the realm.

A page is first read along the order of names, which fills it quickly where many users match.
Where it does not, few match, and an index of search terms finds them.
The cost still grows with the users before the page, with those that are counted, and with many
matches that are all late in the order.
"""

from collections.abc import Sequence
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
    select,
    table,
)
from sqlalchemy.types import UserDefinedType

from gateway.domain.limits.event_loop import in_slices
from gateway.domain.users import UserQuery
from gateway.storage.sql.column_types import Name
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.schema import users
from gateway.storage.sql.transaction import Transaction
from gateway.storage.sql.users.search import flags_as_terms, requirements
from gateway.storage.sql.users.terms import Term, best_terms, fts5_query, tsquery

SAMPLE = 500
"""Users, first by name and then by id, that show how frequent a match is."""
_WORTH: Final = 3
"""A page is read along the names where this factor times the square of the matches in the sample is
more than the users up to the end of the page: in a realm of a million that costs no more than
finding all matches."""
_SHORTEST_WALK: Final = 5_000
"""Users that are read along the names at least: the first names are not a random sample."""

_SEARCHED: Final = (
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
    *(Column(name, users.c[name].type) for name in _SEARCHED),
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
        """Select the names of the matches by an index of search terms.

        MATERIALIZED: a planner that expects many matches would read along all names.
        """
        people = self._people.c
        picked = select(*(people[name] for name in ("realm_id", "id", *_SEARCHED)))
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
        of_user = func.user_search_terms(*(users.c[name] for name in ("realm_id", *_SEARCHED)))
        asked_for = cast(literal(tsquery(self._realm_id, best), Text), _TsQuery())
        return and_(users.c.realm_id == self._realm_id, of_user.bool_op("@@")(asked_for))

    async def _rows(self, names: Select[tuple[str]], first: int, maximum: int) -> list[Row[Any]]:
        rows = await self._transaction.execute(_page(names, self._realm_id, first, maximum))
        return [row async for row in in_slices(rows)]

    async def _number(self, names: Select[tuple[str]]) -> int:
        rows = await self._transaction.execute(select(func.count()).select_from(names.subquery()))
        return int(rows.scalar_one())
