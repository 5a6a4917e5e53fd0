"""Durable storage: transactions, and repositories of realms, clients, certificates, events, queues.

Repositories of users, groups and roles are in `users.py`, of refresh tokens in `sessions.py`.

Every query names its realm: an id of another realm is not found. All methods raise
`StoreUnavailable("sql")` when the database does not answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gateway.domain.certificates import Authority, DeniedCertificate, DeniedIdentity
from gateway.domain.client_scopes import ClientScope
from gateway.domain.deliveries import (
    LogoutNotice,
    QueueSignals,
    RetriedT,
    WebhookDelivery,
    WebhookStatus,
)
from gateway.domain.mail import MailStatus, QueuedMail
from gateway.domain.resources import ResourceRepository, StoredKind, ValueT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime, timedelta

    from gateway.domain.clients import Client
    from gateway.domain.events import (
        AdminEvent,
        AdminEventQuery,
        EventPage,
        UserEvent,
        UserEventQuery,
    )
    from gateway.domain.expiry import ExpirySummary, SeenCertificate, Sighting, StoredCertificate
    from gateway.domain.forward_auth import Site, UnreadableSite
    from gateway.domain.keys import RealmKey
    from gateway.domain.ports.invalidation import ChangeLog, ChangeLogReader
    from gateway.domain.ports.lookups import Lookups
    from gateway.domain.ports.sessions import (
        OfflineSessionRepository,
        RefreshTokenRepository,
        RevocationRepository,
        Rotations,
    )
    from gateway.domain.ports.users import (
        ConsentRepository,
        GroupCatalogue,
        GroupRepository,
        RoleCatalogue,
        RoleRepository,
        RoleScopeRepository,
        UserBatches,
        UserRepository,
    )
    from gateway.domain.realm import Realm
    from gateway.domain.roles import EffectiveRoles

StatusT_co = TypeVar("StatusT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ClientSearch:
    """What to search for. `part` is any part of the public name, without regard to case."""

    part: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Exact values by name."""


class ClientRepository(Protocol):
    """Clients of a realm. An id is the internal one; public names are called so."""

    async def find_by_id(self, realm_id: str, client: str) -> Client | None:
        """Return the client with that id."""

    async def get_for_update(self, realm_id: str, client: str) -> Client | None:
        """Return the same, locked until the transaction ends."""

    async def find_by_client_id(self, realm_id: str, client_id: str) -> Client | None:
        """Return the client whose public name is exactly `client_id`."""

    async def named(self, realm_id: str, client_ids: Sequence[str]) -> tuple[Client, ...]:
        """Return the clients with these public names that exist."""

    async def list_clients(self, realm_id: str) -> tuple[Client, ...]:
        """Return the realm's clients by client_id."""

    async def search_clients(
        self, realm_id: str, search: ClientSearch, first: int, maximum: int
    ) -> tuple[Client, ...]:
        """Return a page of the clients that match, by public name."""

    async def using_scopes(self, realm_id: str, names: Collection[str]) -> tuple[Client, ...]:
        """Return clients with one of the client scopes, but none without administrative roles."""

    async def with_certificate_terms(
        self, realm_id: str, terms: Collection[str], most: int
    ) -> tuple[str, ...]:
        """Return at most `most` public names of clients that have one of the terms."""

    async def certificate_terms(self, realm_id: str, most: int) -> tuple[tuple[str, str], ...]:
        """Return at most `most` terms of the realm's clients, each with the public name."""

    async def with_registration_token(
        self, realm_id: str, client_ids: Sequence[str]
    ) -> frozenset[str]:
        """Return the public names among these of clients that a registration token changes."""

    async def account_roles(
        self, realm_id: str, owners: Sequence[str]
    ) -> Mapping[str, EffectiveRoles]:
        """Return the roles of service accounts, by the ids of the clients that have one."""

    async def ids(self, realm_id: str) -> Mapping[str, str]:
        """Return the ids of the realm's clients by client_id."""

    async def add(self, client: Client) -> None:
        """Store a new client, its secret sealed; raises AlreadyExists."""

    async def replace(self, client: Client) -> None:
        """Overwrite the client with the same id in the same realm; raises AlreadyExists."""

    async def remove_client(self, realm_id: str, client: str) -> bool:
        """Remove the client, its roles and its service account; return whether it existed."""

    async def remove_service_account(self, realm_id: str, client: str) -> None:
        """Remove the user that is the client's service account, if any."""

    async def registration_token(self, realm_id: str, client: str) -> str | None:
        """Return the jti of the registration access token that is accepted."""

    async def set_registration_token(
        self, realm_id: str, client: str, token_id: str | None
    ) -> None:
        """Accept no registration access token of the client but this one."""


class ClientScopeRepository(ResourceRepository[ClientScope], Protocol):
    """Client scopes by name; those of one realm have different names."""

    async def get_for_update(self, realm_id: str, scope_id: str) -> ClientScope | None:
        """Return the scope with that id, locked until the transaction ends."""


class DeniedCertificateRepository(ResourceRepository[DeniedCertificate], Protocol):
    """The entries of every realm's deny list, oldest first, expired ones among them."""

    async def identities(self, realm_id: str) -> Sequence[DeniedIdentity]:
        """Return all entries of a realm for comparisons."""

    async def purge(self, before: datetime) -> int:
        """Remove the entries that expired before the instant; return how many."""


class DocumentKind(StrEnum):
    """The kinds of documents; `representations` define their shapes."""

    AUTHENTICATION_FLOW = "authentication-flow"
    AUTHENTICATOR_CONFIG = "authenticator-config"
    CLIENT_INITIAL_ACCESS = "client-initial-access"
    COMPONENT = "component"
    LOCALIZATION = "localization"
    REQUIRED_ACTION = "required-action"
    USER_PROFILE = "user-profile"


class RealmDocuments(Protocol):
    """Documents of realms."""

    async def find_document(
        self, realm_id: str, kind: DocumentKind, name: str
    ) -> Mapping[str, Any] | None:
        """Return the document."""

    async def list_documents(
        self, realm_id: str, kind: DocumentKind
    ) -> Mapping[str, Mapping[str, Any]]:
        """Return the documents of a kind by name, in the order of the names."""

    def expect_document(self, realm_id: str, kind: DocumentKind, name: str) -> None:
        """Read it with the next statement of the transaction, for a `find_document` to come."""

    def expect_documents(self, realm_id: str, kind: DocumentKind) -> None:
        """Do the same for a `list_documents` to come."""

    async def put_document(
        self, realm_id: str, kind: DocumentKind, name: str, document: Mapping[str, Any]
    ) -> None:
        """Store the document under its name, replacing the one there."""

    async def remove_document(self, realm_id: str, kind: DocumentKind, name: str) -> bool:
        """Remove the document; return whether it existed."""


class UserEventRepository(Protocol):
    """What users and clients did."""

    async def add_all(self, events: Sequence[UserEvent]) -> None:
        """Store the events that are not stored yet; events of removed realms are left out."""

    async def page(
        self, realm_id: str, query: UserEventQuery, page: EventPage
    ) -> tuple[UserEvent, ...]:
        """Return a page of the events that match."""

    async def remove_oldest(self, realm_id: str, before: datetime, most: int) -> int:
        """Remove up to `most` of the oldest events before the instant; return how many."""


class AdminEventRepository(Protocol):
    """What administrators did to realms."""

    async def add(self, event: AdminEvent) -> None:
        """Store the event in the transaction of its change."""

    async def page(
        self, realm_id: str, query: AdminEventQuery, page: EventPage
    ) -> tuple[AdminEvent, ...]:
        """Return a page of the events that match; raises InvalidInput for a costly path."""

    async def remove_oldest(self, realm_id: str, before: datetime, most: int) -> int:
        """Remove up to `most` of the oldest events before the instant; return how many."""


class CertificateInventory(Protocol):
    """The certificates that administrators and the gateway have stored."""

    async def list_certificates(self, realm: str | None = None) -> tuple[StoredCertificate, ...]:
        """Return the certificates of keys, authorities and clients of one or all realms."""


class SeenCertificateRepository(Protocol):
    """The client certificates that were presented and trusted."""

    async def record(self, sightings: Sequence[Sighting]) -> None:
        """Store the sightings, of each certificate one a day.

        Those of a realm that does not exist any more are left out. Of a realm at most `MOST_SEEN`
        certificates stay: those that were seen last.
        """

    async def list_certificates(
        self, realm: str | None, now: datetime, within: timedelta | None, most: int
    ) -> tuple[SeenCertificate, ...]:
        """Return certificates that are due within the time, those that expire first.

        None is for all, whenever they expire. Without a realm: those of every realm. A certificate
        is left out that a later one of the same subject and issuer has replaced.
        """

    async def summarize(self, now: datetime) -> tuple[ExpirySummary, ...]:
        """Return a summary for each realm, by the same rules."""

    async def purge(self, before: datetime) -> None:
        """Remove the certificates that expired before the instant."""


class ExpiryNotices(Protocol):
    """What mails have reported already."""

    async def last_at(self, realm_id: str) -> datetime | None:
        """Return when the last mail of the realm was queued."""

    async def list_reported_days(self, realm_id: str, ids: Collection[str]) -> Mapping[str, int]:
        """Return the least number of days ahead at which each of `ids` was reported."""

    async def add_notices(
        self, realm_id: str, notices: Mapping[str, tuple[int, datetime]], now: datetime
    ) -> None:
        """Note what is reported: its days ahead, and when it expires."""

    async def purge(self, before: datetime) -> None:
        """Remove the notices of what expired before the instant."""


class LogoutNoticeQueue(Protocol):
    """Notices that wait to be sent, of all realms. A notice is in it until `remove_notice`."""

    async def add_notices(self, notices: Sequence[LogoutNotice]) -> None:
        """Store notices, due at once; one of a session to a client that waits already stays."""

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        """Return whether any notice is due, of realms that are not `busy`."""

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[LogoutNotice, ...]:
        """Take due notices and count the attempt: those tried least go first, then the longest due.

        None is of a `busy` realm. No other gateway gets them before the lease is over: that of a
        gateway which died is over by itself.
        """

    async def postpone(self, notice: LogoutNotice, due_at: datetime) -> None:
        """Let the notice be due at an instant."""

    async def remove_notice(self, notice: LogoutNotice) -> None:
        """Remove the notice: it was received, or is dropped."""


class DeliveryQueue(Protocol[RetriedT, StatusT_co]):
    """Deliveries that wait to be sent, of all realms, each until `delivered` or `give_up`."""

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        """Return whether any delivery is due, of realms that are not `busy`."""

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[RetriedT, ...]:
        """Take due ones and count the attempt: those tried least go first, then the longest due.

        None is of a `busy` realm. No other gateway gets them before the lease is over: that of a
        gateway which died is over by itself.
        """

    async def postpone(self, claimed: RetriedT, due_at: datetime, reason: str) -> None:
        """Let the delivery be due at an instant."""

    async def delivered(self, claimed: RetriedT, now: datetime) -> None:
        """End the delivery: the receiver has confirmed it."""

    async def give_up(self, claimed: RetriedT, now: datetime, reason: str) -> None:
        """Keep the delivery as one that cannot be sent."""

    async def list_deliveries(self, realm_id: str, first: int, most: int) -> tuple[StatusT_co, ...]:
        """Return those of a realm that wait or were given up, the oldest first."""

    async def purge(self, now: datetime) -> None:
        """Remove what is kept no longer."""


class MailQueue(DeliveryQueue[QueuedMail, MailStatus], Protocol):
    """Mails. Of a sent one the fact stays, for the limit of the user; of none given up the content.

    A mail that the encryption key does not open is given up when it is claimed.
    """

    async def add(self, queued: QueuedMail) -> bool:
        """Store a mail, due at once; return False where a limit of the user or realm is reached.

        A dry run takes as long, and stores no mail. Of notifications beyond the limit of the user,
        one to each recipient is stored that is due at the end of the period.
        """


class RealmRepository(Protocol):
    """Realms by name and id. A realm is one JSON document with a few indexed columns."""

    async def find_by_name(self, name: str) -> Realm | None:
        """Return the realm named exactly `name`; raises SecretUnreadable."""

    async def find_by_id(self, realm_id: str) -> Realm | None:
        """Return the realm with that id; raises SecretUnreadable."""

    async def get_for_update(self, name: str) -> Realm | None:
        """Return the same, locked until the transaction ends."""

    async def exists(self, realm_id: str) -> bool:
        """Return whether a realm with that id exists."""

    async def find_name(self, realm_id: str) -> str | None:
        """Return the name of the realm with that id."""

    async def list_realms(self) -> tuple[Realm, ...]:
        """Return every realm, by name."""

    async def list_names(self, most: int) -> tuple[str, ...]:
        """Return the names of at most so many realms, in any order."""

    async def add(self, realm: Realm) -> None:
        """Store a new realm; raises AlreadyExists."""

    async def replace(self, realm: Realm) -> None:
        """Overwrite the realm with the same id; raises AlreadyExists when its new name is taken."""

    async def remove_realm(self, realm_id: str) -> None:
        """Remove the realm and everything in it, if it exists."""


class KeyRepository(Protocol):
    """Signing keys of a realm, private parts sealed."""

    async def list_keys(self, realm_id: str) -> tuple[RealmKey, ...]:
        """Return all keys of the realm, newest first."""

    async def list_for_update(self, realm_id: str) -> tuple[RealmKey, ...]:
        """Return the same, locked until the transaction ends."""

    async def add(self, key: RealmKey) -> None: ...

    async def replace(self, key: RealmKey, *, material: bool = False) -> None:
        """Overwrite the key by id; kid, algorithm, key and certificate only with `material`."""

    async def remove_key(self, realm_id: str, key_id: str) -> bool:
        """Remove the key; return whether it existed."""


class SiteRepository(Protocol):
    """The sites that realms have themselves, by name; a host belongs to one site of one realm."""

    async def all(self) -> Mapping[str, tuple[Site, ...]]:
        """Return the readable sites of every realm that has any, by the realm's id."""

    async def protected(self, realm_id: str | None = None) -> Mapping[str, tuple[Site, ...]]:
        """Return the sites that decide about requests, by the realm's id; of all realms for None.

        A site that this version cannot read, which a later one may have stored, has its hosts and
        no rules: a wildcard of another site would else decide about them.
        """

    async def list_sites(self, realm_id: str) -> tuple[Site, ...]:
        """Return the sites of a realm by name, without those that this version cannot read."""

    async def list_unreadable(self, realm_id: str | None = None) -> tuple[UnreadableSite, ...]:
        """Return those that this version cannot read, of all realms for None."""

    async def find_site(self, realm_id: str, name: str) -> Site | UnreadableSite | None:
        """Return the site, or that this version cannot read it; None where there is none."""

    async def put_site(self, realm_id: str, site: Site) -> None:
        """Store the site under its name, replacing the one there.

        Raises AlreadyExists for a host of another site, for one whose name, whatever the port,
        belongs to another realm, to the rules file or to the gateway, and for a cookie domain of
        which another realm has a part.
        """

    async def remove_site(self, realm_id: str, name: str) -> bool:
        """Remove the site; return whether it existed."""


class WebhookQueue(DeliveryQueue[WebhookDelivery, WebhookStatus], Protocol):
    """Events for webhooks; a delivered one is removed."""

    async def add(self, realm_id: str, added: Sequence[WebhookDelivery]) -> bool:
        """Store events of a realm, due at once; those that are there stay. False where it is full.

        The limit is checked before: the last events that are added may exceed it.
        """

    async def retry(self, realm_id: str, now: datetime) -> int:
        """Let the events of a realm that were given up be due again; return how many."""


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
    authorities: ResourceRepository[Authority]
    """Those of the realm and of its clients, which go when their client goes."""
    denied_certificates: DeniedCertificateRepository
    certificate_inventory: CertificateInventory
    seen_certificates: SeenCertificateRepository
    expiry_notices: ExpiryNotices
    change_log: ChangeLog

    def resources(self, kind: StoredKind[ValueT]) -> ResourceRepository[ValueT]:
        """Return the repository of a kind of small resources."""
        raise NotImplementedError


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

    @property
    def queue_signals(self) -> QueueSignals:
        """The signals of deliveries that transactions of this process have queued."""

    async def server_time(self) -> datetime:
        """Return the time of the database, on SQLite of this machine; raises StoreUnavailable."""

    async def ping(self) -> None:
        """Check that the database answers."""
