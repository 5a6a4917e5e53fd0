"""The public ASGI application: endpoints, and the layers in front of them in their order."""

from dataclasses import dataclass
from http import HTTPStatus

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from gateway.authentication.brute_force_guard import BruteForceGuard
from gateway.authentication.one_time_password import OneTimePasswordCheck
from gateway.authentication.password import PasswordLogin
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
from gateway.http.admin.operations import Operation
from gateway.http.admin.routes import AdminParts, build_admin_routes, build_operations
from gateway.http.edge.facts import Edge
from gateway.http.errors import UNMATCHED
from gateway.http.lifespan import complete_lifespan
from gateway.http.middleware.auth_prefix import AuthPrefix
from gateway.http.middleware.edge import EdgeMiddleware
from gateway.http.middleware.printable_path import PrintablePath
from gateway.http.middleware.request_log import RequestLog
from gateway.http.middleware.unread_body import UnreadBody
from gateway.http.realm_endpoint import RealmContext
from gateway.http.registration.routes import RegistrationParts, build_registration_routes
from gateway.http.replies import prose_error, send_reply
from gateway.http.routes import build_routes
from gateway.policies.candidate import PasswordBlacklists
from gateway.protocol.access_tokens import AccessTokens
from gateway.protocol.event_recording import EventRecording
from gateway.protocol.grant_services import GrantServices
from gateway.protocol.refresh_tokens import RefreshTokens
from gateway.protocol.sessions import Sessions


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
    metrics: Metrics
    tracer: Tracer
    log: FilteringBoundLogger
    public_url: str
    mtls_public_url: str | None = None


def build_http_application(parts: HttpParts) -> ASGIApp:
    """Return the application that stands behind the proxy."""
    context, services = _context(parts), _grant_services(parts)
    router = Router(
        [
            *build_routes(context, services, parts.metrics),
            *build_admin_routes(_admin_parts(parts, context, services)),
            *build_registration_routes(_registration_parts(parts, context, services)),
        ],
        redirect_slashes=False,
        default=_unmatched,
    )
    printable = PrintablePath(AuthPrefix(router), _unmatched)
    guarded = EdgeMiddleware(printable, parts.edge, parts.metrics, parts.log)
    return RequestLog(UnreadBody(guarded), parts.log, parts.metrics, parts.tracer)


def admin_operations(parts: HttpParts) -> tuple[Operation, ...]:
    """Return the table of the admin API, for whoever describes it."""
    return build_operations(_admin_parts(parts, _context(parts), _grant_services(parts)))


def _context(parts: HttpParts) -> RealmContext:
    return RealmContext(
        directory=parts.directory,
        clock=parts.clock,
        log=parts.log,
        public_url=parts.public_url,
        mtls_public_url=parts.mtls_public_url,
        events=EventRecording(parts.events, parts.listeners, parts.metrics),
    )


def _admin_parts(parts: HttpParts, context: RealmContext, services: GrantServices) -> AdminParts:
    return AdminParts(
        context=context,
        access_tokens=AccessTokens(parts.directory, parts.database, services.sessions),
        database=parts.database,
        invalidation=parts.invalidation,
        online_sessions=parts.online_sessions,
        login_failures=parts.login_failures,
        passwords=parts.passwords,
        blacklists=parts.blacklists,
        keys=parts.keys,
        client_keys=parts.client_keys,
        events=parts.events,
        listeners=parts.listeners,
    )


def _registration_parts(
    parts: HttpParts, context: RealmContext, services: GrantServices
) -> RegistrationParts:
    return RegistrationParts(
        context=context,
        access_tokens=AccessTokens(parts.directory, parts.database, services.sessions),
        database=parts.database,
        invalidation=parts.invalidation,
        online_sessions=parts.online_sessions,
        keys=parts.keys,
    )


def _grant_services(parts: HttpParts) -> GrantServices:
    guard = BruteForceGuard(parts.login_failures, parts.clock, parts.metrics)
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


async def _unmatched(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await complete_lifespan(receive, send)
        return
    await send_reply(prose_error(HTTPStatus.NOT_FOUND, UNMATCHED), send)
