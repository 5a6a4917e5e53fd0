"""The stores, keys and hashers that commands and endpoints work with, from the settings.

Each connects at its first use, so an unavailable store does not delay the start.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from gateway.admin.changes import Changes
from gateway.bootstrap.encryption_keys import (
    encryption_keys,
    encryption_keys_exist,
    open_encryption_keys,
)
from gateway.bootstrap.listeners import event_listeners
from gateway.bootstrap.mail import mail_sender
from gateway.certificates import SeenCertificates
from gateway.crypto.keys import (
    CertificatesOfKeySets,
    ProofSignatureVerifier,
    PyJwtKeyFactory,
    RegisteredClientEncrypters,
    RegisteredClientSignatures,
)
from gateway.crypto.one_time_passwords import PyOtp
from gateway.crypto.passwords import PooledPasswordHasher
from gateway.crypto.revocation.documents import LARGEST_DOCUMENT
from gateway.crypto.revocation.downloads import DownloadedLists
from gateway.crypto.revocation.ocsp import LONGEST_ASK, OF_A_REALM
from gateway.crypto.revocation.ocsp_response import LARGEST_RESPONSE
from gateway.crypto.revocation.point_lists import LARGEST_AT_POINT, PointLists
from gateway.crypto.revocation.realm_lists import LARGEST_OF_REALM, RealmRevocationLists
from gateway.crypto.secrets_at_rest import AesGcmSecrets
from gateway.crypto.web_authn import Fido2WebAuthn
from gateway.crypto.x509.watched_file import WatchedFile
from gateway.domain.clock import Clock, SystemClock
from gateway.domain.forward_auth import ReservedNames
from gateway.domain.ports.certificates import AuthorityStore
from gateway.domain.ports.client_encryption import ClientEncrypters
from gateway.domain.ports.client_keys import RegisteredCertificates
from gateway.domain.ports.client_signatures import ClientSignatures
from gateway.domain.ports.directory import CertificateOwnerIndex, Directory
from gateway.domain.ports.events import EventListeners
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.lookups import CurrentRevocations
from gateway.domain.ports.one_time_passwords import OneTimeMarks, OneTimePasswords
from gateway.domain.ports.outgoing.mail import MailSender
from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable, RemoteDocuments
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.rate_limiter import RateLimiter
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.sign_in.authentication_sessions import AuthenticationSessionStore
from gateway.domain.ports.sign_in.authorization_codes import AuthorizationCodeStore
from gateway.domain.ports.sign_in.device_authorizations import DeviceAuthorizationStore
from gateway.domain.ports.sign_in.device_locks import DeviceLocks
from gateway.domain.ports.sign_in.pushed_requests import PushedRequestStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.site_sessions import SiteSessions
from gateway.domain.ports.storage import Database
from gateway.domain.ports.web_authn import WebAuthn
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.outgoing import (
    AddressPolicy,
    CachedDocuments,
    ClientCredentialsTokens,
    ClientLimits,
    GuardedHttpClient,
)
from gateway.policies.candidate import PasswordBlacklists
from gateway.protocol.sender_constraint import ProofChecks, RenewedCertificates
from gateway.settings import Settings
from gateway.storage.cache import CacheLimits, RealmCache
from gateway.storage.certificate_owners import CachedCertificateOwners
from gateway.storage.change_follower import ChangeFollower, FollowedRevocations
from gateway.storage.current_authorities import CurrentAuthorities
from gateway.storage.current_deny_lists import CurrentDenyLists
from gateway.storage.current_sites import CurrentSites
from gateway.storage.event_journal import EventJournal
from gateway.storage.password_blacklists import FilePasswordBlacklists
from gateway.storage.realm_texts import RealmTextCache
from gateway.storage.redis.authentication_sessions import RedisAuthenticationSessions
from gateway.storage.redis.authorization_codes import RedisAuthorizationCodes
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.device_authorizations import RedisDeviceAuthorizations
from gateway.storage.redis.device_locks import RedisDeviceLocks
from gateway.storage.redis.invalidation import RedisInvalidation
from gateway.storage.redis.login_failures import RedisLoginFailures
from gateway.storage.redis.one_time_marks import RedisOneTimeMarks
from gateway.storage.redis.private_server import PrivateRedis
from gateway.storage.redis.pushed_requests import RedisPushedRequests
from gateway.storage.redis.rate_limiter import RedisRateLimiter
from gateway.storage.redis.sessions import RedisSessions
from gateway.storage.redis.site_sessions import RedisSiteSessions
from gateway.storage.rules_file import RulesFile
from gateway.storage.sql.database import SqlDatabase

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
    """Load what opening the services would, so that forked workers share it.

    Reads the operator's keys too: raises InvalidInput where they cannot be used. Creates none.
    """
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
    return RulesFile(WatchedFile(path), str(path), public_urls(settings))


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
    """Return what downloads the revocation lists of the settings; None without URLs.

    Lists are signed, so that http is enough; addresses are those that other URLs may lead to.
    """
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
    """Open the services, and close them in the reverse order.

    Raises SettingsError where the key that the database needs is missing.
    """
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
                read_changes=follower.read,
                file=file,
                age=settings.cache_age,
            ),
            authorities=CurrentAuthorities(
                database,
                clock,
                invalidation,
                read_changes=follower.read,
                age=settings.cache_age,
            ),
            certificate_owners=CachedCertificateOwners(
                database, clock, invalidation, age=settings.cache_age
            ),
        )
