"""The Database port on SQL: repositories over one transaction."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from gateway.domain.clock import Clock, SystemClock
from gateway.domain.deliveries import QueueSignals
from gateway.domain.ports.storage import Stores
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.storage.sql import sqlite
from gateway.storage.sql.address import DatabaseAddress, SqliteFile, parse_database_url
from gateway.storage.sql.asynchronous import Engines, Limits
from gateway.storage.sql.transaction import DRIVER_FAILURES, Transaction, named_failure

if TYPE_CHECKING:
    from gateway.domain.certificates import Authority
    from gateway.domain.forward_auth import ReservedNames, Site
    from gateway.domain.resources import StoredKind, ValueT
    from gateway.storage.sql.lookups import SqlLookups
    from gateway.storage.sql.realms import SqlChangeLogReader
    from gateway.storage.sql.resources import SqlResources
    from gateway.storage.sql.sessions import SqlRotations

_NOW: Final = {
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())",
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
}


@cache
def _repository_class(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(f"gateway.storage.sql.{module}"), name)
    return found


def _repository(module: str, name: str, *given: str) -> Any:
    """Return the attribute for a repository, whose module is loaded with its first use.

    `given` names the attributes of the stores that the class takes. A command needs few of them,
    and the modules of all take 90 ms.
    """

    def make(stores: "SqlStores") -> Any:
        return _repository_class(module, name)(*(getattr(stores, each) for each in given))

    return cached_property(make)


class SqlStores(Stores):
    """The repositories of one transaction, each made with its first use; and the transaction."""

    def __init__(
        self,
        transaction: Transaction,
        secrets: SecretsAtRest,
        reserved_names: "Callable[[], ReservedNames]",
        parse_site: "Callable[[str, str, str], Site]",
        clock: Clock,
    ) -> None:
        self.transaction = transaction
        self.secrets = secrets
        self.reserved_names = reserved_names
        self.parse_site = parse_site
        self.clock = clock

    if not TYPE_CHECKING:  # their types are those of Stores
        realms = _repository("realms", "SqlRealms", "transaction", "secrets")
        clients = _repository("clients", "SqlClients", "transaction", "secrets")
        client_scopes = _repository("clients", "SqlClientScopes", "transaction")
        consents = _repository("clients", "SqlConsents", "transaction")
        role_scopes = _repository("roles", "SqlRoleScopes", "transaction")
        users = _repository("users", "SqlUsers", "transaction", "secrets", "clock")
        user_batches = _repository("users", "SqlUserBatches", "transaction", "secrets")
        roles = _repository("roles", "SqlRoles", "transaction")
        role_catalogue = _repository("roles", "SqlRoleCatalogue", "transaction")
        groups = _repository("groups", "SqlGroups", "transaction")
        group_catalogue = _repository("groups", "SqlGroupCatalogue", "transaction")
        refresh_tokens = _repository("sessions", "SqlRefreshTokens", "transaction")
        offline_sessions = _repository("sessions", "SqlOfflineSessions", "transaction")
        logout_notices = _repository("outgoing_queues", "SqlLogoutNotices", "transaction")
        mails = _repository("outgoing_queues", "SqlMails", "transaction", "secrets")
        webhooks = _repository("outgoing_queues", "SqlWebhooks", "transaction")
        keys = _repository("realms", "SqlKeys", "transaction", "secrets")
        revocations = _repository("sessions", "SqlRevocations", "transaction")
        sites = _repository("sites", "SqlSites", "transaction", "reserved_names", "parse_site")
        denied_certificates = _repository("certificates", "SqlDeniedCertificates", "transaction")
        certificate_inventory = _repository(
            "certificates", "SqlCertificateInventory", "transaction"
        )
        seen_certificates = _repository("certificates", "SqlSeenCertificates", "transaction")
        expiry_notices = _repository("certificates", "SqlExpiryNotices", "transaction")
        documents = _repository("realms", "SqlDocuments", "transaction")
        admin_events = _repository("events", "SqlAdminEvents", "transaction")
        user_events = _repository("events", "SqlUserEvents", "transaction")
        change_log = _repository("realms", "SqlChangeLog", "transaction")

    @cached_property
    def authorities(self) -> "SqlResources[Authority]":  # type: ignore[override] # read, never set
        from gateway.domain.certificates import STORED_AUTHORITIES  # noqa: PLC0415 - see _repository

        return self.resources(STORED_AUTHORITIES)

    def resources(self, kind: "StoredKind[ValueT]") -> "SqlResources[ValueT]":
        from gateway.storage.sql.resources import SqlResources  # noqa: PLC0415 - see _repository

        return SqlResources(self.transaction, kind)


def no_names() -> "ReservedNames":
    """Return no reserved names."""
    from gateway.domain.forward_auth import ReservedNames  # noqa: PLC0415 - see _repository
    from gateway.domain.hosts import HostOwners  # noqa: PLC0415 - the same

    return ReservedNames(HostOwners(()))


class SqlDatabase:
    """Durable storage in the database of `url`, whose schema must be in place (`migrate`).

    Connects when first used; belongs to one event loop; `dispose` closes the connections.
    """

    def __init__(
        self,
        url: Secret,
        secrets: SecretsAtRest,
        limits: Limits | None = None,
        *,
        reserved_names: "Callable[[], ReservedNames]" = no_names,
        check_site: "Callable[[Site], Site]" = lambda site: site,
        clock: Clock | None = None,
    ) -> None:
        """Take `reserved_names` as `SqlSites` does, and `check_site` as `site_parser`.

        `clock` tells when users and credentials are added; without it, that of the machine.
        """
        self._clock = clock or SystemClock()
        self._reserved_names = reserved_names
        self._check_site = check_site
        self._engines = create_engines(parse_database_url(url), limits)
        self._secrets = secrets
        self.queue_signals = QueueSignals()

    @cached_property
    def lookups(self) -> "SqlLookups":
        from gateway.storage.sql.lookup_statements import LookupQueries  # noqa: PLC0415 - as above
        from gateway.storage.sql.lookups import SqlLookups  # noqa: PLC0415 - the same

        queries = LookupQueries.of(self._engines.reader.dialect)
        return SqlLookups(self._engines.query_executor, queries, self._secrets)

    @cached_property
    def rotations(self) -> "SqlRotations":
        from gateway.storage.sql.sessions import SqlRotations  # noqa: PLC0415 - as above

        engines = self._engines
        return SqlRotations(
            engines.query_executor, engines.command_executor, engines.reader.dialect
        )

    @cached_property
    def changes(self) -> "SqlChangeLogReader":
        from gateway.storage.sql.realms import SqlChangeLogReader  # noqa: PLC0415 - as above

        return SqlChangeLogReader(self._engines.query_executor, self._engines.reader.dialect)

    def _parse_stored_site(self, *row: str) -> "Site":
        return self._parse_site(*row)

    @cached_property
    def _parse_site(self) -> "Callable[[str, str, str], Site]":
        from gateway.storage.sql.sites import site_parser  # noqa: PLC0415 - as above

        return site_parser(self._check_site)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[SqlStores]:
        try:
            async with self._engines.reader.connect() as connection:
                yield SqlStores(
                    Transaction(connection),
                    self._secrets,
                    self._reserved_names,
                    self._parse_stored_site,
                    self._clock,
                )
        except DRIVER_FAILURES as error:
            raise named_failure(error) from error

    @asynccontextmanager
    async def write(self) -> AsyncIterator[SqlStores]:
        try:
            async with self._engines.writer.write() as connection:
                stores = SqlStores(
                    Transaction(connection),
                    self._secrets,
                    self._reserved_names,
                    self._parse_stored_site,
                    self._clock,
                )
                yield stores
                stores.transaction.check()
        except DRIVER_FAILURES as error:
            raise named_failure(error) from error
        if stores.transaction.queued:
            self.queue_signals.notify(stores.transaction.queued)

    async def ping(self) -> None:
        try:
            async with self._engines.reader.connect() as connection:
                await connection.execute(text("SELECT 1"))
        except DRIVER_FAILURES as error:
            raise named_failure(error) from error

    async def server_time(self) -> datetime:
        try:
            async with self._engines.reader.connect() as connection:
                rows = await connection.execute(text(_NOW[connection.dialect.name]))
                return datetime.fromtimestamp(float(rows.scalar_one()), UTC)
        except DRIVER_FAILURES as error:
            raise named_failure(error) from error

    async def dispose(self) -> None:
        await self._engines.dispose()


def create_engines(address: DatabaseAddress, limits: Limits | None = None) -> Engines:
    """Make engines that connect when first used."""
    limits = limits or Limits()
    if isinstance(address, SqliteFile):
        return sqlite.create_engines(address, limits)
    from gateway.storage.sql import postgresql  # noqa: PLC0415 - its driver takes 3.5 MB and 50 ms

    return postgresql.create_engines(address, limits)
