"""Pages of users and their number, at a cost that does not grow with the realm.

The first users in the order of their names are looked at one after the other: where many match,
that fills a page. Where it does not, few match, and they are found by what they have in common.
What is left to grow: the users that are passed over on the way to a page, those that are counted,
and what many users match, all of them late in the order.
"""

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
    cast,
    column,
    func,
    literal,
    literal_column,
    select,
    table,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from gateway.domain.limits.event_loop import in_slices
from gateway.domain.users import UserQuery
from gateway.storage.sql.column_types import Name
from gateway.storage.sql.schema import users
from gateway.storage.sql.transaction import Transaction
from gateway.storage.sql.users.search import flags_as_terms, requirements
from gateway.storage.sql.users.terms import Term, best_terms, fts5_query, tsquery

SAMPLE = 500
"""So many users, first by name and then by id, show how frequent a match is."""
_WORTH: Final = 3
"""A page is walked to where the square of the matches in the sample, so many times, is more than
what there is up to the end of the page: in a realm of a million it then costs no more than to
find all that match."""
_PATIENCE: Final = 5_000
"""So many users are walked along at least: names in their order are no sample by chance."""

_SEARCHED: Final = (
    *("username", "email", "first_name_lower", "last_name_lower"),
    *("enabled", "email_verified"),
)

_sqlite_people = Table(
    "user_search",
    MetaData(),
    Column("number", Integer, primary_key=True),
    Column("realm_id", Name),
    Column("id", Name),
    *(Column(name, users.c[name].type) for name in _SEARCHED),
)
_sqlite_terms = table("user_search_terms", column("rowid", Integer))


class UserPages:
    """Finds the people of a realm; service accounts are none."""

    def __init__(self, transaction: Transaction, realm_id: str, query: UserQuery) -> None:
        """Prepare a search; raises InvalidInput for one that costs too much."""
        self._transaction = transaction
        self._realm_id = realm_id
        self._required = requirements(realm_id, query)
        self._flags = flags_as_terms(query)
        self._is_sqlite = transaction.dialect == "sqlite"
        self._people: FromClause = _sqlite_people if self._is_sqlite else users

    async def page(self, first: int, maximum: int) -> list[Row[Any]]:
        """Return the rows of `users` on the page, by username."""
        if self._required is None or maximum == 0:
            return []
        if not self._required:
            return await self._rows(self._walk(), first, maximum)
        rows = None if self._few else await self._walked(first, maximum)
        return await self._rows(self._found(), first, maximum) if rows is None else rows

    async def count(self) -> int:
        if self._required is None:
            return 0
        return await self._number(self._found() if self._required else self._walk())

    async def _walked(self, first: int, maximum: int) -> list[Row[Any]] | None:
        """Return the page by looking at users in their order, None where that takes too long."""
        needed = first + maximum
        beyond = await self._name_at(SAMPLE)
        rows = await self._rows(self._walk(beyond), first, maximum)
        if beyond is None or len(rows) == maximum:
            return rows
        seen = await self._number(self._sample())
        if _WORTH * seen * seen <= needed:
            return None
        beyond = await self._name_at(max(_PATIENCE, 2 * SAMPLE * needed // seen))
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
        """Select the names of those that match among the first by id, which mean nothing."""
        few = select(users).where(users.c.realm_id == self._realm_id)
        some = few.order_by(users.c.id).limit(SAMPLE).subquery()
        return select(some.c.username).where(
            some.c.service_account_client.is_(None), *self._hold(some)
        )

    async def _name_at(self, place: int) -> str | None:
        """Return the name at a place in the order, None where there are fewer users."""
        people = self._people.c
        everybody = select(people.username).where(
            people.realm_id == self._realm_id, *self._are_people()
        )
        rows = await self._transaction.execute(
            everybody.order_by(people.username).offset(place).limit(1)
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
        """Select the names of those that match, found without looking at others in the order.

        MATERIALIZED: a planner that believes that many match would walk along all names.
        """
        people = self._people.c
        picked = select(*(people[name] for name in ("realm_id", "id", *_SEARCHED)))
        found = picked.where(*self._are_people(), self._picks()).cte("found")
        found = found.prefix_with("MATERIALIZED")
        return select(found.c.username).where(
            found.c.realm_id == self._realm_id, *self._hold(found)
        )

    def _picks(self) -> ColumnElement[bool]:
        """Return the condition for which there is an index, the best of those there are."""
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
        asked_for = cast(literal(tsquery(self._realm_id, best), Text), TSQUERY)
        return and_(users.c.realm_id == self._realm_id, of_user.bool_op("@@")(asked_for))

    async def _rows(self, names: Select[tuple[str]], first: int, maximum: int) -> list[Row[Any]]:
        """Return whole rows: those that the page does not show are passed over by name alone."""
        name = names.selected_columns[0]
        page = names.order_by(name).offset(first).limit(maximum).subquery()
        of_page = and_(users.c.realm_id == self._realm_id, users.c.username == page.c.username)
        rows = await self._transaction.execute(
            select(users).join_from(page, users, of_page).order_by(page.c.username)
        )
        return [row async for row in in_slices(rows)]

    async def _number(self, names: Select[tuple[str]]) -> int:
        rows = await self._transaction.execute(select(func.count()).select_from(names.subquery()))
        return int(rows.scalar_one())
