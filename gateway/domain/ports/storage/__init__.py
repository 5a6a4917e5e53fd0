"""Durable storage: repositories of one transaction.

Every query names its realm: an id of another realm is not found. All methods raise
`StoreUnavailable("sql")` when the database does not answer.
"""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from gateway.domain.ports.lookups import Lookups
from gateway.domain.ports.storage.authorities import AuthorityRepository
from gateway.domain.ports.storage.change_log import ChangeLog, ChangeLogReader
from gateway.domain.ports.storage.clients import ClientRepository, ClientScopeRepository
from gateway.domain.ports.storage.consents import ConsentRepository
from gateway.domain.ports.storage.denied_certificates import DeniedCertificateRepository
from gateway.domain.ports.storage.documents import DocumentKind, RealmDocuments
from gateway.domain.ports.storage.events import AdminEventRepository, UserEventRepository
from gateway.domain.ports.storage.expiry import (
    CertificateInventory,
    ExpiryNotices,
    SeenCertificateRepository,
)
from gateway.domain.ports.storage.group_catalogue import GroupCatalogue, GroupRepository
from gateway.domain.ports.storage.logout_notices import LogoutNoticeQueue
from gateway.domain.ports.storage.mails import MailQueue
from gateway.domain.ports.storage.realms import KeyRepository, RealmRepository
from gateway.domain.ports.storage.role_catalogue import (
    RoleCatalogue,
    RoleRepository,
    RoleScopeRepository,
)
from gateway.domain.ports.storage.sites import SiteRepository
from gateway.domain.ports.storage.tokens import (
    OfflineSessionRepository,
    RefreshTokenRepository,
    RevocationRepository,
    Rotations,
)
from gateway.domain.ports.storage.users import UserBatches, UserRepository
from gateway.domain.ports.storage.webhooks import WebhookQueue


class Stores:
    """The repositories of one transaction: each attribute is one."""

    realms: RealmRepository
    clients: ClientRepository
    client_scopes: ClientScopeRepository
    consents: ConsentRepository
    role_scopes: RoleScopeRepository
    users: UserRepository
    user_batches: UserBatches
    roles: RoleRepository
    role_catalogue: RoleCatalogue
    groups: GroupRepository
    group_catalogue: GroupCatalogue
    refresh_tokens: RefreshTokenRepository
    offline_sessions: OfflineSessionRepository
    logout_notices: LogoutNoticeQueue
    mails: MailQueue
    webhooks: WebhookQueue
    keys: KeyRepository
    documents: RealmDocuments
    admin_events: AdminEventRepository
    user_events: UserEventRepository
    revocations: RevocationRepository
    sites: SiteRepository
    authorities: AuthorityRepository
    denied_certificates: DeniedCertificateRepository
    certificate_inventory: CertificateInventory
    seen_certificates: SeenCertificateRepository
    expiry_notices: ExpiryNotices
    change_log: ChangeLog


class Database(Protocol):
    """Opens transactions."""

    def read(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction for reading only: one snapshot of the database."""

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
        """Return the time of the database, on SQLite of this machine; raises StoreUnavailable."""

    async def ping(self) -> None:
        """Check that the database answers."""
