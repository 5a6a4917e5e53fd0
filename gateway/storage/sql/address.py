"""Which database a URL names. The URL may hold a password, so errors do not quote it.

`sqlite:///relative/path`, `sqlite:////absolute/path`, `postgresql://user:password@host/name`.
A PostgreSQL URL goes to the driver as it is, so libpq's parameters (sslmode, sslrootcert,
several hosts, target_session_attrs) and unix sockets work.
"""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.secrets import Secret

_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A database in a file."""

    path: Path


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A database on a server; the address may carry a password."""

    dsn: Secret


DatabaseAddress = SqliteFile | PostgresServer


def parse_database_url(url: Secret) -> DatabaseAddress:
    """Return the kind of database by the scheme; raises InvalidInput."""
    text = url.reveal()
    if text.startswith(_SQLITE) and len(text) > len(_SQLITE) and "?" not in text:
        return SqliteFile(Path(unquote(text.removeprefix(_SQLITE))).absolute())
    if text.startswith(_POSTGRESQL):
        return PostgresServer(url)
    raise InvalidInput(
        (FieldError("database_url", "another form", "sqlite:///PATH or postgresql://..."),)
    )
