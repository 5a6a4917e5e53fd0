"""What administers realms over HTTP: the admin API, and clients that register themselves."""

from starlette.routing import BaseRoute

from gateway.http.admin.operations import Operation
from gateway.http.admin.routes import AdminParts, build_admin_routes, build_operations
from gateway.http.parts import HttpParts, grant_services, realm_context
from gateway.http.registration.routes import RegistrationParts, build_registration_routes
from gateway.protocol.tokens import AccessTokens


def administration_routes(parts: HttpParts) -> list[BaseRoute]:
    """Return every URL of both."""
    return [
        *build_admin_routes(_admin_parts(parts)),
        *build_registration_routes(_registration_parts(parts)),
    ]


def admin_operations(parts: HttpParts) -> tuple[Operation, ...]:
    """Return the table of the admin API, for whoever describes it."""
    return build_operations(_admin_parts(parts))


def _access_tokens(parts: HttpParts) -> AccessTokens:
    return AccessTokens(parts.directory, parts.database, grant_services(parts).sessions)


def _admin_parts(parts: HttpParts) -> AdminParts:
    return AdminParts(
        context=realm_context(parts),
        access_tokens=_access_tokens(parts),
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


def _registration_parts(parts: HttpParts) -> RegistrationParts:
    return RegistrationParts(
        context=realm_context(parts),
        access_tokens=_access_tokens(parts),
        database=parts.database,
        invalidation=parts.invalidation,
        online_sessions=parts.online_sessions,
        keys=parts.keys,
    )
