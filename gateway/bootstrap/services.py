"""The stores, keys and hashers that commands and endpoints work with, from the settings.

Each connects at its first use, so an unavailable store does not delay the start.

Builds what gives mails to the mail servers of realms.

SMTP is loaded with the first mail: it takes 1 MB with its texts, and most workers send none.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import structlog
from structlog.typing import FilteringBoundLogger

from gateway.admin.changes import Changes
from gateway.admin.delivery_queues import (
    MailDelivery,
    OutgoingDeliveries,
    WebhookDeliveries,
)
from gateway.admin.resources import ResourceAdministration, ResourceKind
from gateway.certificates import SeenCertificates
from gateway.crypto.client_keys import CertificatesOfKeySets, RegisteredClientEncrypters
from gateway.crypto.client_signatures import ProofSignatureVerifier, RegisteredClientSignatures
from gateway.crypto.one_time_passwords import PyOtp
from gateway.crypto.passwords import PooledPasswordHasher
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.crypto.revocation.downloaded_lists import LARGEST_DOCUMENT, DownloadedLists
from gateway.crypto.revocation.ocsp import LARGEST_RESPONSE, LONGEST_ASK, OF_A_REALM
from gateway.crypto.revocation.point_lists import LARGEST_AT_POINT, PointLists
from gateway.crypto.revocation.realm_lists import LARGEST_OF_REALM, RealmRevocationLists
from gateway.crypto.secrets_at_rest import AesGcmSecrets, load_or_create_keys, parse_keys
from gateway.crypto.web_authn import Fido2WebAuthn
from gateway.crypto.x509.authorities import WatchedFile
from gateway.domain.clock import Clock, SystemClock
from gateway.domain.errors import SecretUnreadable
from gateway.domain.forward_auth import ReservedNames
from gateway.domain.limits.rate_limits import RateLimiter
from gateway.domain.mail import MAILED_BY_DEFAULT, Mail, MailServer
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
from gateway.domain.ports.events import EventListeners
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.lookups import (
    CertificateOwnerIndex,
    CurrentRevocations,
    Directory,
    RealmTexts,
)
from gateway.domain.ports.outgoing import (
    DocumentUnavailable,
    MailSender,
    MailTokens,
    RemoteDocuments,
)
from gateway.domain.ports.sessions import OnlineSessionStore, SiteSessions
from gateway.domain.ports.sign_in import (
    AuthenticationSessionStore,
    AuthorizationCodeStore,
    DeviceAuthorizationStore,
    PushedRequestStore,
)
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER, Realm
from gateway.domain.resources import ValueT
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.listeners import LISTENERS, Dispatch, ListenerOptions
from gateway.outgoing import (
    AddressPolicy,
    CachedDocuments,
    ClientCredentialsTokens,
    ClientLimits,
    GuardedHttpClient,
    GuardedSockets,
    HttpWebhookSender,
    ServerVerification,
)
from gateway.password_policies import PasswordBlacklists
from gateway.protocol.sender_constraint import ProofChecks, RenewedCertificates
from gateway.representations.sites import check_site, parse_rules_file
from gateway.settings import Settings, SettingsError
from gateway.storage.cache import CacheLimits, RealmCache
from gateway.storage.certificate_owners import CachedCertificateOwners
from gateway.storage.change_follower import ChangeFollower, FollowedRevocations
from gateway.storage.current_authorities import CurrentAuthorities
from gateway.storage.current_deny_lists import CurrentDenyLists
from gateway.storage.current_sites import CurrentSites, RulesFile
from gateway.storage.event_journal import EventJournal
from gateway.storage.realm_texts import FilePasswordBlacklists, RealmTextCache
from gateway.storage.redis.authentication_sessions import RedisAuthenticationSessions
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.invalidation import RedisInvalidation
from gateway.storage.redis.login_failures import RedisDeviceLocks, RedisLoginFailures
from gateway.storage.redis.private_server import PrivateRedis
from gateway.storage.redis.rate_limiter import RedisRateLimiter
from gateway.storage.redis.sessions import RedisSessions, RedisSiteSessions
from gateway.storage.redis.single_use_codes import (
    RedisAuthorizationCodes,
    RedisDeviceAuthorizations,
    RedisOneTimeMarks,
    RedisPushedRequests,
)
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.migrate import contains_secrets


def encryption_keys_exist(settings: Settings) -> bool:
    """Return whether the operator's keys are set, or their file is there."""
    return settings.encryption_key is not None or settings.encryption_key_file.exists()


def encryption_keys(settings: Settings) -> tuple[bytes, ...]:
    """Return the operator's keys, newest first; creates a missing key file."""
    if settings.encryption_key is not None:
        return parse_keys(settings.encryption_key.reveal(), "REALMGATE_ENCRYPTION_KEY")
    return load_or_create_keys(settings.encryption_key_file)


async def open_encryption_keys(settings: Settings) -> tuple[bytes, ...]:
    """Return the operator's keys, newest first; raises SettingsError where a key is missing."""
    if (
        not encryption_keys_exist(settings)
        and await contains_secrets(settings.database_url)
        # Another process may have created the key and encrypted with it meanwhile.
        and not encryption_keys_exist(settings)
    ):
        message = (
            f"there is no encryption key {settings.encryption_key_file}, and the database contains"
            " secrets that were encrypted with one. No key was created. Restore the key from your"
            " backup to this path (mode 0600), or set REALMGATE_ENCRYPTION_KEY_FILE to the path of"
            " the key or REALMGATE_ENCRYPTION_KEY to its content"
        )
        raise SettingsError((message,))
    return encryption_keys(settings)


async def check_encryption_keys(database: Database, settings: Settings) -> None:
    """Raise SecretUnreadable where the keys do not decrypt the secrets in the database."""
    try:
        async with database.read() as stores:
            realm = await stores.realms.find_by_name(MASTER)
            if realm is not None:
                await stores.keys.list_keys(realm.id)
    except SecretUnreadable as failure:
        source = (
            f"{settings.encryption_key_file} (REALMGATE_ENCRYPTION_KEY_FILE)"
            if settings.encryption_key is None
            else "REALMGATE_ENCRYPTION_KEY"
        )
        raise SecretUnreadable(
            f"the encryption key in {source} does not decrypt the secrets in the database:"
            f" {failure}. Restore the key that belongs to this database from your backup"
        ) from failure


def event_listeners(settings: Settings) -> Dispatch:
    """Return the listeners that the settings allow."""
    log: FilteringBoundLogger = structlog.get_logger()
    options = ListenerOptions(
        log=log, mailed_events=_mailed_events(settings), events_file=settings.events_file
    )
    made = {name: make(options) for name, make in LISTENERS.items()}
    return Dispatch({name: each for name, each in made.items() if each is not None}, log)


def _mailed_events(settings: Settings) -> frozenset[str]:
    included = frozenset(settings.email_include_events) or MAILED_BY_DEFAULT
    return included - frozenset(settings.email_exclude_events)


class _SenderOfFirstMail:
    """MailSender that is made when there is a mail."""

    def __init__(self, make: Callable[[], MailSender]) -> None:
        self._make = make
        self._sender: MailSender | None = None

    async def send(self, server: MailServer, mail: Mail) -> None:
        if self._sender is None:
            self._sender = self._make()
        await self._sender.send(server, mail)


def mail_sender(settings: Settings, texts: RealmTexts, tokens: MailTokens) -> MailSender:
    """Return the sender of mails; `texts` are those that administrators wrote."""

    def make() -> MailSender:
        from gateway.mail import MailRenderer, SmtpMailSender  # noqa: PLC0415 - see above

        return SmtpMailSender(
            GuardedSockets(AddressPolicy(settings.mail_networks)).connect,
            MailRenderer(texts, settings.themes),
            tokens=tokens,
            verification=ServerVerification(settings.mail_ca_file).context,
            host_name=_smtp_name(urlsplit(settings.public_url).hostname or "localhost"),
        )

    return _SenderOfFirstMail(make)


def _smtp_name(host: str) -> str:
    """Return a host as SMTP names it: an address in brackets. Spec: RFC 5321 §4.1.3."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return f"[IPv6:{address}]" if ":" in host else f"[{address}]"


_PASSWORD_THREADS: Final = 2
_DOWNLOAD_TIME: Final = timedelta(minutes=1)
"""For one document of revocation lists at a URL of the operator or a realm."""
_POINT_TIME: Final = timedelta(seconds=20)
"""For one at a URL of a certificate."""
_ASKING_REALMS: Final = 8
"""Realms that may have as many questions to responders as each is allowed."""
_BLACKLISTS: Final = "password-blacklists"
_EVENTS: Final = "events"


AskResponder = Callable[[str, bytes], Awaitable[bytes]]
"""URL and request of OCSP -> response; raises DocumentUnavailable."""


@dataclass(frozen=True, slots=True)
class Services:
    """What commands and endpoints work with."""

    clock: Clock
    database: Database
    directory: Directory
    invalidation: RedisInvalidation
    follower: ChangeFollower
    revocations: CurrentRevocations
    deny_lists: CurrentDenyLists
    revocation_downloads: DownloadedLists | None
    """None where the settings name no URLs."""
    realm_revocation_lists: RealmRevocationLists
    point_lists: PointLists
    ask_responder: AskResponder
    changes: Changes
    secrets: SecretsAtRest
    keys: KeyFactory
    passwords: PasswordHasher
    blacklists: PasswordBlacklists
    online_sessions: OnlineSessionStore
    authentication_sessions: AuthenticationSessionStore
    authorization_codes: AuthorizationCodeStore
    device_authorizations: DeviceAuthorizationStore
    login_failures: LoginFailureStore
    device_locks: DeviceLocks
    one_time_passwords: OneTimePasswords
    web_authn: WebAuthn
    one_time_marks: OneTimeMarks
    pushed_requests: PushedRequestStore
    rate_limiter: RateLimiter
    site_sessions: SiteSessions
    http_client: GuardedHttpClient
    documents: RemoteDocuments
    client_signatures: ClientSignatures
    proof_checks: ProofChecks
    client_certificates: RegisteredCertificates
    client_encryption: ClientEncrypters
    events: EventJournal
    listeners: EventListeners
    mail: MailSender
    rules_file: RulesFile | None
    """None where the settings name none."""
    sites: CurrentSites
    authorities: AuthorityStore
    certificate_owners: CertificateOwnerIndex
    seen_certificates: SeenCertificates
    renewed_certificates: RenewedCertificates | None = None
    """None where a token is used with its own certificate alone."""


def preload(settings: Settings) -> None:
    """Load what the services need before workers are forked; raises InvalidInput for bad keys."""
    keys = encryption_keys(settings) if encryption_keys_exist(settings) else (bytes(32),)
    SqlDatabase(settings.database_url, AesGcmSecrets(keys))


def redis_url(settings: Settings) -> Secret:
    """Return the configured server's URL, or that of the private one."""
    return settings.redis_url or PrivateRedis(settings.state_dir).url


def rules_file(settings: Settings) -> RulesFile | None:
    """Return the rules file of the settings, which is not read yet."""
    path = settings.guard_file
    if path is None:
        return None
    return RulesFile(WatchedFile(path), str(path), parse_rules_file, public_urls(settings))


def public_urls(settings: Settings) -> tuple[str, ...]:
    """Return the URLs by which callers reach the gateway itself."""
    further = settings.mtls_public_url
    return (settings.public_url,) if further is None else (settings.public_url, further)


def reserved_names(settings: Settings, file: RulesFile | None) -> Callable[[], ReservedNames]:
    """Return the function for the names of sites that no realm gets, now."""
    if file is not None:
        return file.reserved_names
    own = ReservedNames.of((), public_urls(settings))
    return lambda: own


def open_http_client(settings: Settings) -> GuardedHttpClient:
    """Return the client for URLs that others name."""
    return GuardedHttpClient(
        AddressPolicy(settings.fetch_networks),
        allow_http=settings.fetch_http,
        authorities=settings.fetch_ca_file,
    )


def revocation_downloads(settings: Settings, clock: Clock) -> DownloadedLists | None:
    """Return what downloads the revocation lists of the settings; None without URLs."""
    if not settings.client_crl_urls:
        return None
    fetch = _list_downloader(settings, LARGEST_DOCUMENT)
    return DownloadedLists(settings.client_crl_urls, fetch, clock)


def realm_revocation_lists(
    settings: Settings, clock: Clock, directory: Directory
) -> RealmRevocationLists:
    """Return what downloads the revocation lists that realms name."""
    fetch = _list_downloader(settings, LARGEST_OF_REALM)
    return RealmRevocationLists(fetch, clock, _realm_finder(directory))


def point_lists(settings: Settings, clock: Clock, directory: Directory) -> PointLists:
    """Return what downloads the revocation lists that certificates name."""
    fetch = _list_downloader(settings, LARGEST_AT_POINT, _POINT_TIME)
    return PointLists(fetch, clock, _realm_finder(directory))


def _realm_finder(directory: Directory) -> Callable[[str], Awaitable[Realm | None]]:
    async def find_realm(name: str) -> Realm | None:
        entry = await directory.realm(name)
        return None if entry is None else entry.realm

    return find_realm


def _list_downloader(
    settings: Settings, most_bytes: int, time: timedelta = _DOWNLOAD_TIME
) -> Callable[[str], Awaitable[bytes]]:
    client = GuardedHttpClient(
        AddressPolicy(settings.fetch_networks),
        allow_http=True,
        authorities=settings.fetch_ca_file,
        limits=ClientLimits(time=time, most_bytes=most_bytes, at_once=16),
    )

    async def fetch(url: str) -> bytes:
        response = await client.get(url)
        if response.status != HTTPStatus.OK:
            raise DocumentUnavailable(f"the server answered with {response.status}")
        return response.body

    return fetch


def responder_client(settings: Settings) -> AskResponder:
    """Return what asks OCSP responders, within two seconds; responses are signed."""
    client = GuardedHttpClient(
        AddressPolicy(settings.fetch_networks),
        allow_http=True,
        authorities=settings.fetch_ca_file,
        limits=ClientLimits(
            time=LONGEST_ASK, most_bytes=LARGEST_RESPONSE, at_once=_ASKING_REALMS * OF_A_REALM
        ),
    )

    async def post(url: str, request: bytes) -> bytes:
        response = await client.post(url, request, "application/ocsp-request")
        if response.status != HTTPStatus.OK:
            raise DocumentUnavailable(f"the responder answered with {response.status}")
        return response.body

    return post


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Open the services, and close them in reverse order; raises SettingsError without the key."""
    clock = SystemClock()
    secrets = AesGcmSecrets(await open_encryption_keys(settings))
    keys = PyJwtKeyFactory()
    limits = CacheLimits(
        realms=settings.cache_realms, clients=settings.cache_clients, age=settings.cache_age
    )
    async with AsyncExitStack() as stack:
        file = rules_file(settings)
        database = SqlDatabase(
            settings.database_url,
            secrets,
            reserved_names=reserved_names(settings, file),
            check_site=check_site,
            clock=clock,
        )
        stack.push_async_callback(database.dispose)
        listeners = event_listeners(settings)
        events = EventJournal(settings.state_dir / _EVENTS, database, listeners)
        stack.push_async_callback(events.close)
        invalidation = RedisInvalidation(redis_url(settings))
        stack.push_async_callback(invalidation.stop)
        follower = ChangeFollower(database.changes, invalidation.deliver)
        passwords = PooledPasswordHasher(_PASSWORD_THREADS)
        stack.callback(passwords.close)
        redis = create_client(redis_url(settings))
        marks = RedisOneTimeMarks(redis)
        http_client = open_http_client(settings)
        documents = CachedDocuments(http_client, clock)
        stack.push_async_callback(redis.aclose)
        revocations = FollowedRevocations(database.lookups, follower)
        texts = RealmTextCache(database, clock, invalidation, settings.cache_age)
        directory = RealmCache(database.lookups, keys, clock, invalidation, limits)
        yield Services(
            clock=clock,
            database=database,
            directory=directory,
            invalidation=invalidation,
            follower=follower,
            revocations=revocations,
            deny_lists=CurrentDenyLists(database, clock, invalidation, revocations),
            revocation_downloads=revocation_downloads(settings, clock),
            realm_revocation_lists=realm_revocation_lists(settings, clock, directory),
            point_lists=point_lists(settings, clock, directory),
            ask_responder=responder_client(settings),
            changes=Changes(database, clock, invalidation),
            secrets=secrets,
            keys=keys,
            passwords=passwords,
            blacklists=FilePasswordBlacklists(settings.state_dir / _BLACKLISTS),
            online_sessions=RedisSessions(redis, clock),
            authentication_sessions=RedisAuthenticationSessions(redis, clock),
            authorization_codes=RedisAuthorizationCodes(redis),
            device_authorizations=RedisDeviceAuthorizations(redis),
            device_locks=RedisDeviceLocks(redis),
            login_failures=RedisLoginFailures(redis),
            one_time_passwords=PyOtp(),
            web_authn=Fido2WebAuthn(),
            one_time_marks=marks,
            pushed_requests=RedisPushedRequests(redis),
            rate_limiter=RedisRateLimiter(redis),
            site_sessions=RedisSiteSessions(redis),
            http_client=http_client,
            documents=documents,
            client_signatures=RegisteredClientSignatures(documents),
            proof_checks=ProofChecks(ProofSignatureVerifier(), marks),
            client_certificates=CertificatesOfKeySets(documents),
            client_encryption=RegisteredClientEncrypters(documents),
            events=events,
            listeners=listeners,
            mail=mail_sender(settings, texts, ClientCredentialsTokens(http_client, clock)),
            rules_file=file,
            seen_certificates=SeenCertificates(database),
            sites=CurrentSites(
                database,
                clock,
                invalidation,
                read_changes=follower.read_changes,
                file=file,
                age=settings.cache_age,
                public_urls=public_urls(settings),
            ),
            authorities=CurrentAuthorities(
                database,
                clock,
                invalidation,
                read_changes=follower.read_changes,
                age=settings.cache_age,
            ),
            certificate_owners=CachedCertificateOwners(
                database, clock, invalidation, age=settings.cache_age
            ),
        )


def resource_administration(
    services: Services, kind: ResourceKind[ValueT]
) -> ResourceAdministration[ValueT]:
    """Return the use cases of a kind of small resource."""
    return ResourceAdministration(kind, services.changes)


def mail_delivery(services: Services) -> MailDelivery:
    """Return what sends the mails of the queue."""
    return MailDelivery(services.database, services.mail, services.clock)


def outgoing_deliveries(services: Services) -> OutgoingDeliveries:
    """Return what lists the queues of mails and events, and fills them."""
    return OutgoingDeliveries(services.database, services.clock)


def webhook_deliveries(services: Services) -> WebhookDeliveries:
    """Return what sends events to webhooks."""
    sender = HttpWebhookSender(services.http_client)
    return WebhookDeliveries(services.database, sender, services.clock)
