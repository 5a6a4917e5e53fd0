"""What the public application is made of, and what its endpoints are given of it."""

from dataclasses import dataclass

from structlog.typing import FilteringBoundLogger

from gateway.authentication.brute_force_guard import BruteForceGuard
from gateway.authentication.one_time_password import OneTimePasswordCheck
from gateway.authentication.password import PasswordLogin
from gateway.certificates import CertificateTrust
from gateway.domain.clock import Clock
from gateway.domain.ports.client_keys import ClientKeys
from gateway.domain.ports.directory import Directory
from gateway.domain.ports.events import EventListeners, EventLog
from gateway.domain.ports.invalidation import Invalidation
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.metrics import Metrics
from gateway.domain.ports.one_time_passwords import OneTimeMarks, OneTimePasswords
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.domain.ports.tracing import Tracer
from gateway.http.edge.facts import Edge
from gateway.http.realm_endpoint import RealmContext
from gateway.policies.candidate import PasswordBlacklists
from gateway.protocol.event_recording import EventRecording
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.sessions import Sessions
from gateway.protocol.tokens import RefreshTokens


@dataclass(frozen=True, slots=True)
class HttpParts:
    """What the application is made of. URLs have no trailing slash."""

    directory: Directory
    database: Database
    invalidation: Invalidation
    online_sessions: OnlineSessionStore
    passwords: PasswordHasher
    blacklists: PasswordBlacklists
    keys: KeyFactory
    client_keys: ClientKeys
    login_failures: LoginFailureStore
    one_time_passwords: OneTimePasswords
    one_time_marks: OneTimeMarks
    events: EventLog
    listeners: EventListeners
    clock: Clock
    edge: Edge
    certificates: CertificateTrust
    metrics: Metrics
    tracer: Tracer
    log: FilteringBoundLogger
    public_url: str
    mtls_public_url: str | None = None


def realm_context(parts: HttpParts) -> RealmContext:
    """Return what every endpoint of a realm is given."""
    return RealmContext(
        directory=parts.directory,
        clock=parts.clock,
        log=parts.log,
        public_url=parts.public_url,
        mtls_public_url=parts.mtls_public_url,
        events=EventRecording(parts.events, parts.listeners, parts.metrics),
        certificates=parts.certificates,
    )


def grant_services(parts: HttpParts) -> GrantServices:
    """Return what the grants share."""
    guard = BruteForceGuard(parts.login_failures, parts.metrics)
    codes = OneTimePasswordCheck(parts.one_time_passwords, parts.one_time_marks, parts.database)
    sessions = Sessions(parts.online_sessions, parts.database)
    return GrantServices(
        directory=parts.directory,
        database=parts.database,
        sessions=sessions,
        password_login=PasswordLogin(
            parts.database, parts.passwords, guard, codes, parts.invalidation
        ),
        refresh_tokens=RefreshTokens(parts.directory, parts.database, sessions),
    )
