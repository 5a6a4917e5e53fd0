"""Durable storage: repositories of one transaction.

Every query names its realm: an id of another realm is not found. All methods raise
`StoreUnavailable("sql")` when the database does not answer.
"""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from gateway.domain.ports.lookups import Lookups
from gateway.domain.ports.storage.change_log import ChangeLog, ChangeLogReader
from gateway.domain.ports.storage.clients import ClientRepository, ClientScopeRepository
from gateway.domain.ports.storage.documents import DocumentKind, RealmDocuments
from gateway.domain.ports.storage.events import AdminEventRepository, UserEventRepository
from gateway.domain.ports.storage.group_catalogue import GroupCatalogue, GroupRepository
from gateway.domain.ports.storage.realms import KeyRepository, RealmRepository
from gateway.domain.ports.storage.role_catalogue import (
    RoleCatalogue,
    RoleRepository,
    RoleScopeRepository,
)
from gateway.domain.ports.storage.tokens import (
    OfflineSessionRepository,
    RefreshTokenRepository,
    RevocationRepository,
    Rotations,
)
from gateway.domain.ports.storage.users import UserBatches, UserRepository


class Stores(Protocol):
    """The repositories of one transaction."""

    @property
    def realms(self) -> RealmRepository: ...

    @property
    def clients(self) -> ClientRepository: ...

    @property
    def client_scopes(self) -> ClientScopeRepository: ...

    @property
    def role_scopes(self) -> RoleScopeRepository: ...

    @property
    def users(self) -> UserRepository: ...

    @property
    def user_batches(self) -> UserBatches: ...

    @property
    def roles(self) -> RoleRepository: ...

    @property
    def role_catalogue(self) -> RoleCatalogue: ...

    @property
    def groups(self) -> GroupRepository: ...

    @property
    def group_catalogue(self) -> GroupCatalogue: ...

    @property
    def refresh_tokens(self) -> RefreshTokenRepository: ...

    @property
    def offline_sessions(self) -> OfflineSessionRepository: ...

    @property
    def keys(self) -> KeyRepository: ...

    @property
    def documents(self) -> RealmDocuments: ...

    @property
    def admin_events(self) -> AdminEventRepository: ...

    @property
    def user_events(self) -> UserEventRepository: ...

    @property
    def revocations(self) -> RevocationRepository: ...

    @property
    def change_log(self) -> ChangeLog: ...


class Database(Protocol):
    """Opens transactions."""

    def read(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction for reading only."""

    def write(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction: all of it is stored durably on leaving, none on an exception."""

    @property
    def lookups(self) -> Lookups:
        """The look-ups of requests, one statement each."""

    @property
    def rotations(self) -> Rotations:
        """The use of refresh tokens, one transaction each."""

    @property
    def changes(self) -> ChangeLogReader:
        """The committed changes that caches must drop."""

    async def server_time(self) -> datetime:
        """Return the instant of the database's clock; raises StoreUnavailable."""

    async def ping(self) -> None:
        """Check that the database answers."""
