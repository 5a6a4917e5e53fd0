"""One transaction, and the one place where a database's failure gets its name.

After a failed statement PostgreSQL refuses the rest of a transaction and answers COMMIT with a
silent rollback, SQLite would go on and commit the remainder. Neither is wanted: the first failure
is kept, and leaving the transaction raises it again even where the caller swallowed it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import CursorResult, Executable
from sqlalchemy.exc import IntegrityError, SQLAlchemyError, StatementError

from gateway.domain.errors import (
    AlreadyExists,
    FieldError,
    InvalidInput,
    RealmgateError,
    StoreUnavailable,
)
from gateway.storage.sql.asynchronous import AsyncConnection

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]

_UNIQUE_VIOLATION = "23505"
_UNKNOWN_NAMES = frozenset({"42P01", "42703"})
_UNKNOWN_TO_SQLITE = ("no such table", "no such column", "has no column named")


class Transaction:
    """What repositories execute statements on."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._failure: RealmgateError | None = None

    @property
    def dialect(self) -> str:
        """Name the database: `sqlite` or `postgresql`."""
        return self._connection.dialect.name

    async def execute(
        self, statement: Executable, parameters: Parameters | None = None, *, taken: str = ""
    ) -> CursorResult[Any]:
        """Execute; `taken` is what AlreadyExists says when a unique value is taken."""
        self.check()
        try:
            with named_failures(taken):
                return await self._connection.execute(statement, parameters)
        except RealmgateError as failure:
            self._failure = failure
            raise

    async def change(
        self, statement: Executable, parameters: Parameters | None = None, *, taken: str = ""
    ) -> None:
        """Execute an UPDATE that must meet its row; raises InvalidInput where there is none."""
        result = await self.execute(statement, parameters, taken=taken)
        if result.rowcount == 0:
            self._failure = _missing_reference()
            raise self._failure

    def check(self) -> None:
        """Raise the failure that has spoilt this transaction, if any."""
        if self._failure is not None:
            raise self._failure


@contextmanager
def named_failures(taken: str = "") -> Iterator[None]:
    """Turn what drivers raise into the product's failures."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        raise _named(error, taken) from error


def _named(error: Exception, taken: str) -> RealmgateError:
    if isinstance(error, IntegrityError):
        return AlreadyExists(taken) if _is_unique_violation(error) else _missing_reference()
    original = error.orig if isinstance(error, StatementError) else None
    if isinstance(original, RealmgateError):
        return original
    if isinstance(original, UnicodeEncodeError) or getattr(original, "sqlstate", "") == "22021":
        allowed = "Unicode without NUL and lone surrogates"
        return InvalidInput((FieldError("text", "characters that cannot be stored", allowed),))
    reason = "its schema is another version's, see realmgate migrate" if _is_foreign(error) else ""
    return StoreUnavailable("sql", reason=reason)


def _is_foreign(error: Exception) -> bool:
    """Tell whether the database lacks a table or a column that this version knows."""
    original = error.orig if isinstance(error, StatementError) else None
    if getattr(original, "sqlstate", "") in _UNKNOWN_NAMES:
        return True
    return any(told in str(original) for told in _UNKNOWN_TO_SQLITE)


def _missing_reference() -> InvalidInput:
    given, allowed = "an id that this realm does not have", "the id of something in this realm"
    return InvalidInput((FieldError("id", given, allowed),))


def _is_unique_violation(error: IntegrityError) -> bool:
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", "")
    return code in {_UNIQUE_VIOLATION, "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
