"""One transaction; exceptions of drivers become those of the gateway here.

After a failed statement PostgreSQL refuses the rest of a transaction and answers COMMIT with a
silent rollback, while SQLite would commit the remainder. So the transaction keeps the first failure
and raises it again when it ends, even where the caller swallowed it.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    CursorResult,
    Dialect,
    Executable,
    FromClause,
    Insert,
    Table,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    func,
    literal,
    select,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError, StatementError

from gateway.domain.deliveries import DeliveryQueue
from gateway.domain.errors import (
    AlreadyExists,
    FieldError,
    InvalidInput,
    RealmgateError,
    StoreUnavailable,
)
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.secrets import SecretsAtRest
from gateway.storage.sql.asynchronous import AsyncConnection
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.prepared_query import FixedQuery, PreparedStatement

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

T = TypeVar("T")
Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]

_MOST_VALUES: Final = 1_000
"""Databases limit how many values a statement has."""
_UNIQUE_VIOLATION = "23505"
_UNKNOWN_NAMES = frozenset({"42P01", "42703"})
_UNKNOWN_TO_SQLITE = ("no such table", "no such column", "has no column named")


class Transaction:
    """Executes the statements of repositories."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._failure: RealmgateError | None = None
        self.queued: set[DeliveryQueue] = set()
        """Queues that repositories have added entries to, which are due at once."""
        self.dialect = connection.dialect.name
        """The name of the database: `sqlite` or `postgresql`."""

    async def execute(
        self, statement: Executable, parameters: Parameters | None = None, *, taken: str = ""
    ) -> CursorResult[Any]:
        """Execute; `taken` is the text of AlreadyExists for a violated unique constraint."""
        with self._kept_failure(taken):
            return await self._connection.execute(statement, parameters)

    def read_ahead(self, query: FixedQuery, **given: Any) -> None:
        """Let a later `fetch` of this query cost nothing if nothing is written before it.

        The rows are those of the transaction at its next statement. Only SQLite does it, where
        nobody else writes while a transaction does.
        """
        self._connection.read_ahead(query, given)

    async def fetch(self, query: FixedQuery, **given: Any) -> Sequence[Any]:
        """Return the rows of a query that is compiled once."""
        with self._kept_failure():
            return await self._connection.fetch(query, given)

    async def first(self, statement: Executable, read: Callable[[Any], T]) -> T | None:
        """Return what `read` makes of the first row, None without rows."""
        row = (await self.execute(statement)).first()
        return None if row is None else read(row)

    async def read_rows(self, statement: Executable, read: Callable[[Any], T]) -> tuple[T, ...]:
        """Return what `read` makes of each row; other requests run in between."""
        rows = await self.execute(statement)
        return tuple([read(row) async for row in in_slices(rows)])

    async def get_row(
        self,
        table: Table,
        realm_id: str,
        identity: str,
        read: Callable[[Any], T],
        *,
        for_update: bool = False,
        key_share: bool = False,
    ) -> T | None:
        """Return what `read` makes of the row with that id, None without one.

        With `for_update` the row is locked until the transaction ends; `key_share` lets others
        insert references to it meanwhile.
        SQLite has no such lock and needs none: only one transaction at a time may write.
        """
        if not is_name(identity):
            return None
        if not for_update or self.dialect == "sqlite":
            rows = await self.fetch(_row_of(table), realm_id=realm_id, id=identity)
            return read(rows[0]) if rows else None
        statement = select(table).where(is_row(table, realm_id, identity))
        return await self.first(statement.with_for_update(key_share=key_share), read)

    async def remove_row(self, table: Table, realm_id: str, identity: str) -> bool:
        """Delete the row with that id; return whether it existed."""
        return await self.delete_rows(table, realm_id=realm_id, id=identity) > 0

    async def delete_rows(
        self, table: Table, *conditions: ColumnElement[bool], **values: str | None
    ) -> int:
        """Delete the rows with these values that meet the conditions; return their number."""
        if not all(is_name(value) for value in values.values() if value is not None):
            return 0
        equal = (table.c[name] == value for name, value in values.items())
        return await self.count_changed(delete(table).where(*equal, *conditions))

    async def count_changed(self, statement: Executable) -> int:
        """Execute an UPDATE or a DELETE; return the number of rows that it changed."""
        return (await self.execute(statement)).rowcount

    async def count_rows(self, statement: Executable) -> int:
        """Return the number that a statement selects."""
        return int((await self.execute(statement)).scalar_one())

    async def put_row(
        self,
        table: Table,
        row: Mapping[str, Any],
        key: Collection[str],
        *,
        changed: Collection[str] | None = None,
        taken: str = "",
    ) -> None:
        """Insert a row; where its `key` exists, set the `changed` columns, by default all."""
        names = row.keys() - set(key) if changed is None else changed
        statement = insert_into(table, self.dialect).values(row)
        update = statement.on_conflict_do_update(
            index_elements=key, set_={name: row[name] for name in names}
        )
        await self.execute(update, taken=taken)

    async def insert_missing(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert the rows whose key is not there yet."""
        await self._insert(table, rows, missing=True)

    async def insert(
        self, table: Table, rows: Sequence[Mapping[str, Any]], *, taken: str = ""
    ) -> None:
        """Insert rows with the same columns; `taken` as for `execute`."""
        await self._insert(table, rows, taken=taken)

    async def insert_later(
        self,
        table: Table,
        rows: Sequence[Mapping[str, Any]],
        *,
        missing: bool = False,
        taken: str = "",
    ) -> None:
        """Insert rows with the next statement or commit, which raises; see `insert_missing`."""
        await self._insert(table, rows, missing=missing, taken=taken, later=True)

    async def _insert(
        self,
        table: Table,
        rows: Sequence[Mapping[str, Any]],
        *,
        missing: bool = False,
        taken: str = "",
        later: bool = False,
    ) -> None:
        if not rows:
            return
        dialect = self._connection.dialect
        statement = partial(_insert_statement, table, dialect.name, missing=missing)
        prepared = partial(
            _prepared_insert, table, tuple(rows[0]), statement, dialect, missing=missing
        )

        with self._kept_failure(taken):
            if later:
                named = partial(named_failure, taken=taken)
                await self._connection.insert_later(statement, prepared, rows, named)
            else:
                await self._connection.insert(statement, prepared, rows)

    async def change(
        self, statement: Executable, parameters: Parameters | None = None, *, taken: str = ""
    ) -> None:
        """Execute an UPDATE that must meet its row; raises InvalidInput where none exists."""
        result = await self.execute(statement, parameters, taken=taken)
        if result.rowcount == 0:
            self._failure = _missing_reference()
            raise self._failure

    def check(self) -> None:
        """Raise the first failure of this transaction, if any."""
        if self._failure is not None:
            raise self._failure

    @contextmanager
    def _kept_failure(self, taken: str = "") -> Iterator[None]:
        self.check()
        try:
            yield
        except DRIVER_FAILURES as error:
            self._failure = named_failure(error, taken)
            raise self._failure from error
        except RealmgateError as failure:
            self._failure = failure
            raise


class SqlRepository:
    """A repository over one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction


class SealedRepository(SqlRepository):
    """A repository whose rows contain sealed secrets."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        super().__init__(transaction)
        self._secrets = secrets


_INSERTS: Final[dict[tuple[str, tuple[str, ...], bool], PreparedStatement]] = {}
"""On SQLite, by table, columns and whether existing rows stay; code decides about all three."""


def _insert_statement(table: Table, dialect: str, *, missing: bool) -> Insert:
    insert = insert_into(table, dialect)
    return insert.on_conflict_do_nothing() if missing else insert


def _prepared_insert(
    table: Table,
    columns: tuple[str, ...],
    statement: Callable[[], Insert],
    dialect: Dialect,
    *,
    missing: bool,
) -> PreparedStatement:
    key = (table.name, columns, missing)
    found = _INSERTS.get(key)
    if found is None:
        found = _INSERTS[key] = PreparedStatement(statement(), dialect, columns)
    return found


_ROWS: Final[dict[str, FixedQuery]] = {}
"""The query for one row, by the name of the table."""


def _row_of(table: Table) -> FixedQuery:
    found = _ROWS.get(table.name)
    if found is None:
        by_id = select(table).where(*has_given(table, "realm_id", "id"))
        found = _ROWS[table.name] = FixedQuery(by_id)
    return found


def is_row(table: Table, realm_id: str, identity: str) -> ColumnElement[bool]:
    """Return the condition for the row of a realm with that id."""
    return has(table, realm_id=realm_id, id=identity)


def has(table: FromClause, **values: Any) -> ColumnElement[bool]:
    """Return the condition for rows with these values in columns; None means NULL."""
    return and_(*(table.c[name] == value for name, value in values.items()))


def has_given(table: Table, *names: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that the columns have the values of the parameters of these names."""
    return tuple(table.c[name] == bindparam(name, type_=table.c[name].type) for name in names)


def values_of(value: object, names: Iterable[str]) -> dict[str, Any]:
    """Return attributes by name: of a value for its row, or of a row for its value."""
    return {name: getattr(value, name) for name in names}


def portions(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the values in portions that fit into a statement."""
    for start in range(0, len(values), _MOST_VALUES):
        yield values[start : start + _MOST_VALUES]


async def lock_texts(transaction: Transaction, texts: Collection[str]) -> None:
    """Lock texts until the transaction ends, in their order. SQLite has one writer at a time."""
    if transaction.dialect == "sqlite":
        return
    # Sorted: two transactions that lock the same texts would wait for each other otherwise.
    for portion in portions(sorted(set(texts))):
        given = cast(literal(json.dumps(portion), Text), JSON)
        text = func.json_array_elements_text(given).column_valued("text")
        locked = func.pg_advisory_xact_lock(func.hashtextextended(text, 0))
        await transaction.execute(select(locked))


async def links_by_owner(
    transaction: Transaction,
    realm_id: str,
    owner: Column[Any],
    linked: Column[Any],
    *,
    owners: Sequence[str] | None = None,
) -> Mapping[str, frozenset[str]]:
    """Return ids in `linked` by owner, of all or `owners`; owners without links are left out."""
    columns = select(owner.label("owner"), linked.label("linked"))
    of_realm = columns.where(owner.table.c.realm_id == realm_id)
    if owners is not None:
        of_realm = of_realm.where(owner.in_(owners))
    found: defaultdict[str, set[str]] = defaultdict(set)
    async for row in in_slices(await transaction.execute(of_realm)):
        found[row.owner].add(row.linked)
    return {key: frozenset(ids) for key, ids in found.items()}


def insert_into(table: Table, dialect: str) -> "postgresql.Insert | sqlite.Insert":
    """Return an INSERT that can carry on_conflict_do_nothing and on_conflict_do_update."""
    # A worker needs one of the two dialects: PostgreSQL's takes 3 MB.
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - see above

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite  # noqa: PLC0415 - see above

    return sqlite.insert(table)


DRIVER_FAILURES: Final = (SQLAlchemyError, sqlite3.Error, UnicodeEncodeError, OSError)
"""What SQLAlchemy and the drivers raise, which `named_failure` turns into the gateway's."""


def named_failure(error: Exception, taken: str = "") -> RealmgateError:
    """Return the exception of the gateway; `taken` is the text of AlreadyExists."""
    original = error.orig if isinstance(error, StatementError) else error
    if isinstance(error, IntegrityError | sqlite3.IntegrityError):
        return AlreadyExists(taken) if _is_unique_violation(original) else _missing_reference()
    if isinstance(original, RealmgateError):
        return original
    if isinstance(original, UnicodeEncodeError) or getattr(original, "sqlstate", "") == "22021":
        allowed = "Unicode without NUL and lone surrogates"
        return InvalidInput((FieldError("text", "characters that cannot be stored", allowed),))
    reason = "its schema is another version's, see realmgate migrate" if _is_foreign(error) else ""
    return StoreUnavailable("sql", reason=reason)


def _is_foreign(error: Exception) -> bool:
    """Return whether the database lacks a table or a column that this version knows."""
    original = error.orig if isinstance(error, StatementError) else error
    if getattr(original, "sqlstate", "") in _UNKNOWN_NAMES:
        return True
    return any(text in str(original) for text in _UNKNOWN_TO_SQLITE)


def _missing_reference() -> InvalidInput:
    given, allowed = "an id that this realm does not have", "the id of something in this realm"
    return InvalidInput((FieldError("id", given, allowed),))


def _is_unique_violation(error: BaseException | None) -> bool:
    code = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", "")
    return code in {_UNIQUE_VIOLATION, "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
