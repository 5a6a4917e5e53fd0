"""The look-ups of requests in SQL, on the driver's own connection."""

from gateway.storage.sql.lookups.answers import SqlLookups
from gateway.storage.sql.lookups.sqlite_executor import SqliteExecutor
from gateway.storage.sql.lookups.statements import LookupQueries
