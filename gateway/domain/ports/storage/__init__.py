"""Durable storage: repositories, and the transaction that holds them together.

Every query carries its realm: an id of another realm is not found. All methods raise
`StoreUnavailable("sql")` when the database does not answer.
"""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from gateway.domain.ports.lookups import Lookups
from gateway.domain.ports.storage.change_log import ChangeLog, ChangeLogReader
from gateway.domain.ports.storage.client_scopes import ClientScopeRepository, RoleScopeRepository
from gateway.domain.ports.storage.clients import ClientRepository
from gateway.domain.ports.storage.documents import DocumentKind, RealmDocuments
from gateway.domain.ports.storage.events import AdminEventRepository, UserEventRepository
from gateway.domain.ports.storage.group_catalogue import GroupCatalogue
from gateway.domain.ports.storage.groups import GroupRepository
from gateway.domain.ports.storage.keys import KeyRepository
from gateway.domain.ports.storage.realms import RealmRepository
from gateway.domain.ports.storage.role_catalogue import RoleCatalogue
from gateway.domain.ports.storage.roles import RoleRepository
from gateway.domain.ports.storage.tokens import (
    OfflineSessionRepository,
    RefreshTokenRepository,
    RevocationRepository,
    Rotations,
)
from gateway.domain.ports.storage.user_batches import UserBatches
from gateway.domain.ports.storage.users import UserRepository


class Stores(Protocol):
    """The repositories of one transaction."""

    @property
    def realms(self) -> RealmRepository:
        """Realms."""
        ...

    @property
    def clients(self) -> ClientRepository:
        """Clients."""
        ...

    @property
    def client_scopes(self) -> ClientScopeRepository:
        """Client scopes."""
        ...

    @property
    def role_scopes(self) -> RoleScopeRepository:
        """The roles in the scope of clients and client scopes."""
        ...

    @property
    def users(self) -> UserRepository:
        """Users."""
        ...

    @property
    def user_batches(self) -> UserBatches:
        """All users, some at a time."""
        ...

    @property
    def roles(self) -> RoleRepository:
        """Roles."""
        ...

    @property
    def role_catalogue(self) -> RoleCatalogue:
        """Roles as administrators look them up."""
        ...

    @property
    def groups(self) -> GroupRepository:
        """Groups."""
        ...

    @property
    def group_catalogue(self) -> GroupCatalogue:
        """Groups as administrators look them up."""
        ...

    @property
    def refresh_tokens(self) -> RefreshTokenRepository:
        """Families of refresh tokens."""
        ...

    @property
    def offline_sessions(self) -> OfflineSessionRepository:
        """Sessions that outlive the browser."""
        ...

    @property
    def keys(self) -> KeyRepository:
        """Signing keys."""
        ...

    @property
    def documents(self) -> RealmDocuments:
        """What realms keep beside their settings."""
        ...

    @property
    def admin_events(self) -> AdminEventRepository:
        """What administrators did."""
        ...

    @property
    def user_events(self) -> UserEventRepository:
        """What users and clients did."""
        ...

    @property
    def revocations(self) -> RevocationRepository:
        """Revoked tokens."""
        ...

    @property
    def change_log(self) -> ChangeLog:
        """What is to be invalidated once the transaction is stored."""
        ...


class Database(Protocol):
    """Opens transactions."""

    def read(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction for reading only."""
        ...

    def write(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction: all of it is stored durably on leaving, none on an exception."""
        ...

    @property
    def lookups(self) -> Lookups:
        """What requests ask most, each question by itself."""
        ...

    @property
    def rotations(self) -> Rotations:
        """The use of refresh tokens, each a transaction by itself."""
        ...

    @property
    def changes(self) -> ChangeLogReader:
        """What is to be invalidated, of all transactions that are stored."""
        ...

    async def server_time(self) -> datetime:
        """Return the instant of the database's clock; raises StoreUnavailable."""
        ...

    async def ping(self) -> None:
        """Ask the database for nothing, to learn whether it answers."""
        ...
