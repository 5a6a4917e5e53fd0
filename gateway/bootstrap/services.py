"""The stores, keys and hashers that commands and endpoints work with, from the settings.

Each is made at its first use, and connects when it is used, so an unavailable store delays neither
the start nor a command that does without it. Its module is loaded then, too: a command that lists
users needs neither Redis nor the rules of tokens.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final

from gateway.bootstrap.on_demand import InvalidationOnUse
from gateway.domain.clock import Clock, SystemClock
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.admin.changes import Changes
    from gateway.admin.delivery_queues import MailDelivery, OutgoingDeliveries, WebhookDeliveries
    from gateway.admin.resources import ResourceAdministration, ResourceKind
    from gateway.bootstrap.outgoing import AskResponder
    from gateway.certificates import SeenCertificates
    from gateway.crypto.revocation.downloaded_lists import DownloadedLists
    from gateway.crypto.revocation.point_lists import PointLists
    from gateway.crypto.revocation.realm_lists import RealmRevocationLists
    from gateway.domain.forward_auth import ReservedNames, Site
    from gateway.domain.limits.rate_limits import RateLimiter
    from gateway.domain.ports.certificates import AuthorityStore, DeviceLocks
    from gateway.domain.ports.client_keys import (
        ClientEncrypters,
        ClientSignatures,
        RegisteredCertificates,
    )
    from gateway.domain.ports.credentials import (
        OneTimeMarks,
        OneTimePasswords,
        PasswordHasher,
        WebAuthn,
    )
    from gateway.domain.ports.invalidation import Invalidation
    from gateway.domain.ports.login_failures import LoginFailureStore
    from gateway.domain.ports.lookups import CertificateOwnerIndex, CurrentRevocations, Directory
    from gateway.domain.ports.outgoing import MailSender, RemoteDocuments
    from gateway.domain.ports.sessions import OnlineSessionStore, SiteSessions
    from gateway.domain.ports.sign_in import (
        AuthenticationSessionStore,
        AuthorizationCodeStore,
        DeviceAuthorizationStore,
        PushedRequestStore,
    )
    from gateway.domain.ports.signing import KeyFactory
    from gateway.domain.ports.storage import Database
    from gateway.domain.resources import ValueT
    from gateway.domain.secrets import Secret, SecretsAtRest
    from gateway.listeners import Dispatch
    from gateway.outgoing import GuardedHttpClient
    from gateway.password_policies import PasswordBlacklists
    from gateway.protocol.sender_constraint import ProofChecks, RenewedCertificates
    from gateway.storage.change_follower import ChangeFollower
    from gateway.storage.current_deny_lists import CurrentDenyLists
    from gateway.storage.current_sites import CurrentSites, RulesFile
    from gateway.storage.event_journal import EventJournal
    from gateway.storage.redis.connection import RedisClient
    from gateway.storage.redis.invalidation import RedisInvalidation


def event_listeners(settings: Settings) -> "Dispatch":
    """Return the listeners that the settings allow."""
    import structlog

    from gateway.listeners import LISTENERS, Dispatch, ListenerOptions

    log = structlog.get_logger()
    options = ListenerOptions(
        log=log, mailed_events=_mailed_events(settings), events_file=settings.events_file
    )
    made = {name: make(options) for name, make in LISTENERS.items()}
    return Dispatch({name: each for name, each in made.items() if each is not None}, log)


def _mailed_events(settings: Settings) -> frozenset[str]:
    from gateway.domain.mail import MAILED_BY_DEFAULT

    included = frozenset(settings.email_include_events) or MAILED_BY_DEFAULT
    return included - frozenset(settings.email_exclude_events)


_PASSWORD_THREADS: Final = 2
_BLACKLISTS: Final = "password-blacklists"
_EVENTS: Final = "events"


class Services:
    """What commands and endpoints work with; each is made, and its module loaded, at its first use.

    A command needs few of them. A worker loads all modules before it is forked or serves:
    `import_adapters`.
    """

    renewed_certificates: "RenewedCertificates | None" = None
    """None where a token is used with its own certificate alone."""

    def __init__(
        self, settings: Settings, encryption_keys: tuple[bytes, ...], closing: AsyncExitStack
    ) -> None:
        """Take `closing`, which closes what was made, the last first."""
        self._settings = settings
        self._encryption_keys = encryption_keys
        self._closing = closing
        self.clock: Clock = SystemClock()

    def make_all(self) -> None:
        """Make every service."""
        for name in _MEMBERS:
            getattr(self, name)

    def with_renewed_certificates(self, renewed: "RenewedCertificates") -> "Services":
        """Return the same services, and what accepts renewed certificates."""
        self.make_all()  # both have the same ones
        found = copy(self)
        found.renewed_certificates = renewed
        return found

    @cached_property
    def secrets(self) -> "SecretsAtRest":
        from gateway.crypto.secrets_at_rest import AesGcmSecrets

        return AesGcmSecrets(self._encryption_keys)

    @cached_property
    def rules_file(self) -> "RulesFile | None":
        """None where the settings name none."""
        return rules_file(self._settings)

    @cached_property
    def database(self) -> "Database":
        from gateway.storage.sql.database import SqlDatabase

        database = SqlDatabase(
            self._settings.database_url,
            self.secrets,
            reserved_names=reserved_names(self._settings, self.rules_file),
            check_site=_check_site,
            clock=self.clock,
        )
        self._closing.push_async_callback(database.dispose)
        return database

    @cached_property
    def listeners(self) -> "Dispatch":
        return event_listeners(self._settings)

    @cached_property
    def events(self) -> "EventJournal":
        from gateway.storage.event_journal import EventJournal

        events = EventJournal(self._settings.state_dir / _EVENTS, self.database, self.listeners)
        self._closing.push_async_callback(events.close)
        return events

    @cached_property
    def invalidation(self) -> "RedisInvalidation":
        from gateway.storage.redis.invalidation import RedisInvalidation

        invalidation = RedisInvalidation(redis_url(self._settings))
        self._closing.push_async_callback(invalidation.stop)
        return invalidation

    @cached_property
    def messages(self) -> "Invalidation":
        """The same for what works without Redis, too."""
        return (
            self.invalidation
            if "invalidation" in vars(self)
            else InvalidationOnUse(lambda: self.invalidation)
        )

    @cached_property
    def follower(self) -> "ChangeFollower":
        from gateway.storage.change_follower import ChangeFollower

        return ChangeFollower(self.database.changes, self.invalidation.deliver)

    @cached_property
    def revocations(self) -> "CurrentRevocations":
        from gateway.storage.change_follower import FollowedRevocations

        return FollowedRevocations(self.database.lookups, self.follower)

    @cached_property
    def directory(self) -> "Directory":
        from gateway.storage.cache import CacheLimits, RealmCache

        settings = self._settings
        limits = CacheLimits(
            realms=settings.cache_realms, clients=settings.cache_clients, age=settings.cache_age
        )
        return RealmCache(self.database.lookups, self.keys, self.clock, self.invalidation, limits)

    @cached_property
    def deny_lists(self) -> "CurrentDenyLists":
        from gateway.storage.current_deny_lists import CurrentDenyLists

        return CurrentDenyLists(self.database, self.clock, self.invalidation, self.revocations)

    @cached_property
    def revocation_downloads(self) -> "DownloadedLists | None":
        """None where the settings name no URLs."""
        from gateway.bootstrap.outgoing import revocation_downloads

        return revocation_downloads(self._settings, self.clock)

    @cached_property
    def realm_revocation_lists(self) -> "RealmRevocationLists":
        from gateway.bootstrap.outgoing import realm_revocation_lists

        return realm_revocation_lists(self._settings, self.clock, self.directory)

    @cached_property
    def point_lists(self) -> "PointLists":
        from gateway.bootstrap.outgoing import point_lists

        return point_lists(self._settings, self.clock, self.directory)

    @cached_property
    def ask_responder(self) -> "AskResponder":
        from gateway.bootstrap.outgoing import responder_client

        return responder_client(self._settings)

    @cached_property
    def changes(self) -> "Changes":
        from gateway.admin.changes import Changes

        return Changes(self.database, self.clock, self.messages)

    @cached_property
    def keys(self) -> "KeyFactory":
        from gateway.crypto.realm_keys import PyJwtKeyFactory

        return PyJwtKeyFactory()

    @cached_property
    def passwords(self) -> "PasswordHasher":
        from gateway.crypto.passwords import PooledPasswordHasher

        passwords = PooledPasswordHasher(_PASSWORD_THREADS)
        self._closing.callback(passwords.close)
        return passwords

    @cached_property
    def blacklists(self) -> "PasswordBlacklists":
        from gateway.storage.realm_texts import FilePasswordBlacklists

        return FilePasswordBlacklists(self._settings.state_dir / _BLACKLISTS)

    @cached_property
    def _redis(self) -> "RedisClient":
        from gateway.storage.redis.connection import create_client

        redis = create_client(redis_url(self._settings))
        self._closing.push_async_callback(redis.aclose)
        return redis

    @cached_property
    def online_sessions(self) -> "OnlineSessionStore":
        from gateway.storage.redis.sessions import RedisSessions

        return RedisSessions(self._redis, self.clock)

    @cached_property
    def site_sessions(self) -> "SiteSessions":
        from gateway.storage.redis.sessions import RedisSiteSessions

        return RedisSiteSessions(self._redis)

    @cached_property
    def authentication_sessions(self) -> "AuthenticationSessionStore":
        from gateway.storage.redis.authentication_sessions import RedisAuthenticationSessions

        return RedisAuthenticationSessions(self._redis, self.clock)

    @cached_property
    def authorization_codes(self) -> "AuthorizationCodeStore":
        from gateway.storage.redis.single_use_codes import RedisAuthorizationCodes

        return RedisAuthorizationCodes(self._redis)

    @cached_property
    def device_authorizations(self) -> "DeviceAuthorizationStore":
        from gateway.storage.redis.single_use_codes import RedisDeviceAuthorizations

        return RedisDeviceAuthorizations(self._redis)

    @cached_property
    def one_time_marks(self) -> "OneTimeMarks":
        from gateway.storage.redis.single_use_codes import RedisOneTimeMarks

        return RedisOneTimeMarks(self._redis)

    @cached_property
    def pushed_requests(self) -> "PushedRequestStore":
        from gateway.storage.redis.single_use_codes import RedisPushedRequests

        return RedisPushedRequests(self._redis)

    @cached_property
    def login_failures(self) -> "LoginFailureStore":
        from gateway.storage.redis.login_failures import RedisLoginFailures

        return RedisLoginFailures(self._redis)

    @cached_property
    def device_locks(self) -> "DeviceLocks":
        from gateway.storage.redis.login_failures import RedisDeviceLocks

        return RedisDeviceLocks(self._redis)

    @cached_property
    def rate_limiter(self) -> "RateLimiter":
        from gateway.storage.redis.rate_limiter import RedisRateLimiter

        return RedisRateLimiter(self._redis)

    @cached_property
    def one_time_passwords(self) -> "OneTimePasswords":
        from gateway.crypto.one_time_passwords import PyOtp

        return PyOtp()

    @cached_property
    def web_authn(self) -> "WebAuthn":
        from gateway.crypto.web_authn import Fido2WebAuthn

        return Fido2WebAuthn()

    @cached_property
    def http_client(self) -> "GuardedHttpClient":
        from gateway.bootstrap.outgoing import open_http_client

        return open_http_client(self._settings)

    @cached_property
    def documents(self) -> "RemoteDocuments":
        from gateway.outgoing import CachedDocuments

        return CachedDocuments(self.http_client, self.clock)

    @cached_property
    def client_signatures(self) -> "ClientSignatures":
        from gateway.crypto.client_signatures import RegisteredClientSignatures

        return RegisteredClientSignatures(self.documents)

    @cached_property
    def proof_checks(self) -> "ProofChecks":
        from gateway.crypto.client_signatures import ProofSignatureVerifier
        from gateway.protocol.sender_constraint import ProofChecks

        return ProofChecks(ProofSignatureVerifier(), self.one_time_marks)

    @cached_property
    def client_certificates(self) -> "RegisteredCertificates":
        from gateway.crypto.client_keys import CertificatesOfKeySets

        return CertificatesOfKeySets(self.documents)

    @cached_property
    def client_encryption(self) -> "ClientEncrypters":
        from gateway.crypto.client_keys import RegisteredClientEncrypters

        return RegisteredClientEncrypters(self.documents)

    @cached_property
    def mail(self) -> "MailSender":
        from gateway.bootstrap.outgoing import mail_sender
        from gateway.outgoing import ClientCredentialsTokens
        from gateway.storage.realm_texts import RealmTextCache

        age = self._settings.cache_age
        texts = RealmTextCache(self.database, self.clock, self.invalidation, age)
        tokens = ClientCredentialsTokens(self.http_client, self.clock)
        return mail_sender(self._settings, texts, tokens)

    @cached_property
    def sites(self) -> "CurrentSites":
        from gateway.storage.current_sites import CurrentSites

        return CurrentSites(
            self.database,
            self.clock,
            self.invalidation,
            read_changes=self.follower.read_changes,
            file=self.rules_file,
            age=self._settings.cache_age,
            public_urls=public_urls(self._settings),
        )

    @cached_property
    def authorities(self) -> "AuthorityStore":
        from gateway.storage.current_authorities import CurrentAuthorities

        return CurrentAuthorities(
            self.database,
            self.clock,
            self.invalidation,
            read_changes=self.follower.read_changes,
            age=self._settings.cache_age,
        )

    @cached_property
    def certificate_owners(self) -> "CertificateOwnerIndex":
        from gateway.storage.certificate_owners import CachedCertificateOwners

        return CachedCertificateOwners(
            self.database, self.clock, self.invalidation, age=self._settings.cache_age
        )

    @cached_property
    def seen_certificates(self) -> "SeenCertificates":
        from gateway.certificates import SeenCertificates

        return SeenCertificates(self.database)


_MEMBERS: Final = tuple(
    name for name, member in vars(Services).items() if isinstance(member, cached_property)
)


def _check_site(site: "Site") -> "Site":
    from gateway.representations.sites import check_site

    return check_site(site)


_ADAPTERS: Final = (
    "gateway.admin.changes",
    "gateway.bootstrap.encryption_keys",
    "gateway.bootstrap.outgoing",
    "gateway.certificates",
    "gateway.crypto.client_keys",
    "gateway.crypto.client_signatures",
    "gateway.crypto.one_time_passwords",
    "gateway.crypto.passwords",
    "gateway.crypto.realm_keys",
    "gateway.crypto.web_authn",
    "gateway.listeners",
    "gateway.outgoing",
    "gateway.protocol.sender_constraint",
    "gateway.representations.sites",
    "gateway.storage.cache",
    "gateway.storage.certificate_owners",
    "gateway.storage.change_follower",
    "gateway.storage.current_authorities",
    "gateway.storage.current_deny_lists",
    "gateway.storage.current_sites",
    "gateway.storage.event_journal",
    "gateway.storage.realm_texts",
    "gateway.storage.redis.authentication_sessions",
    "gateway.storage.redis.connection",
    "gateway.storage.redis.invalidation",
    "gateway.storage.redis.login_failures",
    "gateway.storage.redis.rate_limiter",
    "gateway.storage.redis.sessions",
    "gateway.storage.redis.single_use_codes",
    "gateway.storage.sql.certificates",
    "gateway.storage.sql.clients",
    "gateway.storage.sql.database",
    "gateway.storage.sql.events",
    "gateway.storage.sql.groups",
    "gateway.storage.sql.lookups",
    "gateway.storage.sql.outgoing_queues",
    "gateway.storage.sql.realms",
    "gateway.storage.sql.resources",
    "gateway.storage.sql.roles",
    "gateway.storage.sql.sessions",
    "gateway.storage.sql.sites",
    "gateway.storage.sql.users",
    "gateway.storage.sql.migrate",
)


def import_adapters() -> None:
    """Load every module that the services of a worker need, while garbage collection is off."""
    for module in _ADAPTERS:
        import_module(module)


def preload(settings: Settings) -> None:
    """Load what the services need before workers are forked; raises InvalidInput for bad keys."""
    from gateway.bootstrap.encryption_keys import encryption_keys, encryption_keys_exist
    from gateway.crypto.secrets_at_rest import AesGcmSecrets
    from gateway.storage.sql.database import SqlDatabase

    import_adapters()
    keys = encryption_keys(settings) if encryption_keys_exist(settings) else (bytes(32),)
    database = SqlDatabase(settings.database_url, AesGcmSecrets(keys))
    _prepared = database.lookups, database.rotations


def redis_url(settings: Settings) -> "Secret":
    """Return the configured server's URL, or that of the private one."""
    from gateway.storage.redis.private_server import PrivateRedis

    return settings.redis_url or PrivateRedis(settings.state_dir).url


def rules_file(settings: Settings) -> "RulesFile | None":
    """Return the rules file of the settings, which is not read yet."""
    path = settings.guard_file
    if path is None:
        return None
    from gateway.crypto.x509.authorities import WatchedFile
    from gateway.representations.sites import parse_rules_file
    from gateway.storage.current_sites import RulesFile

    return RulesFile(WatchedFile(path), str(path), parse_rules_file, public_urls(settings))


def public_urls(settings: Settings) -> tuple[str, ...]:
    """Return the URLs by which callers reach the gateway itself."""
    further = settings.mtls_public_url
    return (settings.public_url,) if further is None else (settings.public_url, further)


def reserved_names(settings: Settings, file: "RulesFile | None") -> Callable[[], "ReservedNames"]:
    """Return the function for the names of sites that no realm gets, now."""
    if file is not None:
        return file.reserved_names

    @cache
    def own_names() -> "ReservedNames":
        from gateway.domain.forward_auth import ReservedNames

        return ReservedNames.of((), public_urls(settings))

    return own_names


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Open the services, and close them in reverse order; raises SettingsError without the key."""
    from gateway.bootstrap.encryption_keys import open_encryption_keys

    keys = await open_encryption_keys(settings)
    async with AsyncExitStack() as stack:
        yield Services(settings, keys, stack)


def resource_administration(
    services: Services, kind: "ResourceKind[ValueT]"
) -> "ResourceAdministration[ValueT]":
    """Return the use cases of a kind of small resource."""
    from gateway.admin.resources import ResourceAdministration

    return ResourceAdministration(kind, services.changes)


def mail_delivery(services: Services) -> "MailDelivery":
    """Return what sends the mails of the queue."""
    from gateway.admin.delivery_queues import MailDelivery

    return MailDelivery(services.database, services.mail, services.clock)


def outgoing_deliveries(services: Services) -> "OutgoingDeliveries":
    """Return what lists the queues of mails and events, and fills them."""
    from gateway.admin.delivery_queues import OutgoingDeliveries

    return OutgoingDeliveries(services.database, services.clock)


def webhook_deliveries(services: Services) -> "WebhookDeliveries":
    """Return what sends events to webhooks."""
    from gateway.admin.delivery_queues import WebhookDeliveries
    from gateway.outgoing import HttpWebhookSender

    sender = HttpWebhookSender(services.http_client)
    return WebhookDeliveries(services.database, sender, services.clock)
