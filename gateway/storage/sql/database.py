"""The Database port on SQL: repositories over one transaction."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, TypeVar, cast

from sqlalchemy import text

from gateway.domain.certificates import STORED_AUTHORITIES
from gateway.domain.clock import Clock, SystemClock
from gateway.domain.deliveries import QueueSignals
from gateway.domain.forward_auth import ReservedNames, Site
from gateway.domain.hosts import HostOwners
from gateway.domain.ports.storage import Stores
from gateway.domain.resources import StoredKind, ValueT
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.storage.sql import sqlite
from gateway.storage.sql.address import DatabaseAddress, SqliteFile, parse_database_url
from gateway.storage.sql.asynchronous import Engines, Limits
from gateway.storage.sql.certificates import (
    SqlCertificateInventory,
    SqlDeniedCertificates,
    SqlExpiryNotices,
    SqlSeenCertificates,
)
from gateway.storage.sql.clients import SqlClients, SqlClientScopes, SqlConsents
from gateway.storage.sql.events import SqlAdminEvents, SqlUserEvents
from gateway.storage.sql.groups import SqlGroupCatalogue, SqlGroups
from gateway.storage.sql.lookup_statements import LookupQueries
from gateway.storage.sql.lookups import SqlLookups
from gateway.storage.sql.outgoing_queues import SqlLogoutNotices, SqlMails, SqlWebhooks
from gateway.storage.sql.realms import (
    SqlChangeLog,
    SqlChangeLogReader,
    SqlDocuments,
    SqlKeys,
    SqlRealms,
)
from gateway.storage.sql.resources import SqlResources
from gateway.storage.sql.roles import SqlRoleCatalogue, SqlRoles, SqlRoleScopes
from gateway.storage.sql.sessions import (
    SqlOfflineSessions,
    SqlRefreshTokens,
    SqlRevocations,
    SqlRotations,
)
from gateway.storage.sql.sites import SqlSites, site_parser
from gateway.storage.sql.transaction import DRIVER_FAILURES, Transaction, named_failure
from gateway.storage.sql.users import SqlUserBatches, SqlUsers

T = TypeVar("T")
_NOW: Final = {
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())",
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
}


def _asked_for(make: Callable[["SqlStores"], T]) -> T:
    """Return the attribute that is made with its first use."""
    return cast("T", cached_property(make))


class SqlStores(Stores):
    """The repositories of one transaction, each made with its first use; and the transaction."""

    def __init__(
        self,
        transaction: Transaction,
        secrets: SecretsAtRest,
        reserved_names: Callable[[], ReservedNames],
        parse_site: Callable[[str, str, str], Site],
        clock: Clock,
    ) -> None:
        self.transaction = transaction
        self.secrets = secrets
        self.reserved_names = reserved_names
        self.parse_site = parse_site
        self.clock = clock

    realms = _asked_for(lambda stores: SqlRealms(stores.transaction, stores.secrets))
    clients = _asked_for(lambda stores: SqlClients(stores.transaction, stores.secrets))
    client_scopes = _asked_for(lambda stores: SqlClientScopes(stores.transaction))
    consents = _asked_for(lambda stores: SqlConsents(stores.transaction))
    role_scopes = _asked_for(lambda stores: SqlRoleScopes(stores.transaction))
    users = _asked_for(lambda stores: SqlUsers(stores.transaction, stores.secrets, stores.clock))
    user_batches = _asked_for(lambda stores: SqlUserBatches(stores.transaction, stores.secrets))
    roles = _asked_for(lambda stores: SqlRoles(stores.transaction))
    role_catalogue = _asked_for(lambda stores: SqlRoleCatalogue(stores.transaction))
    groups = _asked_for(lambda stores: SqlGroups(stores.transaction))
    group_catalogue = _asked_for(lambda stores: SqlGroupCatalogue(stores.transaction))
    refresh_tokens = _asked_for(lambda stores: SqlRefreshTokens(stores.transaction))
    offline_sessions = _asked_for(lambda stores: SqlOfflineSessions(stores.transaction))
    logout_notices = _asked_for(lambda stores: SqlLogoutNotices(stores.transaction))
    mails = _asked_for(lambda stores: SqlMails(stores.transaction, stores.secrets))
    webhooks = _asked_for(lambda stores: SqlWebhooks(stores.transaction))
    keys = _asked_for(lambda stores: SqlKeys(stores.transaction, stores.secrets))
    revocations = _asked_for(lambda stores: SqlRevocations(stores.transaction))
    sites = _asked_for(
        lambda stores: SqlSites(stores.transaction, stores.reserved_names, stores.parse_site)
    )
    authorities = _asked_for(lambda stores: stores.resources(STORED_AUTHORITIES))
    denied_certificates = _asked_for(lambda stores: SqlDeniedCertificates(stores.transaction))
    certificate_inventory = _asked_for(lambda stores: SqlCertificateInventory(stores.transaction))
    seen_certificates = _asked_for(lambda stores: SqlSeenCertificates(stores.transaction))
    expiry_notices = _asked_for(lambda stores: SqlExpiryNotices(stores.transaction))
    documents = _asked_for(lambda stores: SqlDocuments(stores.transaction))
    admin_events = _asked_for(lambda stores: SqlAdminEvents(stores.transaction))
    user_events = _asked_for(lambda stores: SqlUserEvents(stores.transaction))
    change_log = _asked_for(lambda stores: SqlChangeLog(stores.transaction))

    def resources(self, kind: StoredKind[ValueT]) -> SqlResources[ValueT]:
        return SqlResources(self.transaction, kind)


def no_names() -> ReservedNames:
    """Return no reserved names."""
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
        reserved_names: Callable[[], ReservedNames] = no_names,
        check_site: Callable[[Site], Site] = lambda site: site,
        clock: Clock | None = None,
    ) -> None:
        """Take `reserved_names` as `SqlSites` does, and `check_site` as `site_parser`.

        `clock` tells when users and credentials are added; without it, that of the machine.
        """
        self._clock = clock or SystemClock()
        self._reserved_names = reserved_names
        self._parse_site = site_parser(check_site)
        self._engines = create_engines(parse_database_url(url), limits)
        self._secrets = secrets
        dialect = self._engines.reader.dialect
        reader, writer = self._engines.query_executor, self._engines.command_executor
        self.lookups = SqlLookups(reader, LookupQueries.of(dialect), secrets)
        self.rotations = SqlRotations(reader, writer, dialect)
        self.changes = SqlChangeLogReader(reader, dialect)
        self.queue_signals = QueueSignals()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[SqlStores]:
        try:
            async with self._engines.reader.connect() as connection:
                yield SqlStores(
                    Transaction(connection),
                    self._secrets,
                    self._reserved_names,
                    self._parse_site,
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
                    self._parse_site,
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
