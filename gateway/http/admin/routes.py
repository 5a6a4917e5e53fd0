"""The table of the admin API's operations, resource by resource. Keycloak: 7."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.routing import BaseRoute

from gateway.admin.access import AccountControl, AdminAccess, Changes
from gateway.admin.events import EventConfiguration, EventLogs
from gateway.admin.users import Lockouts
from gateway.domain.ports.client_keys import ClientKeys
from gateway.domain.ports.events import EventListeners, EventLog
from gateway.domain.ports.invalidation import Invalidation
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.http.admin.authentication import AdminAuthentication
from gateway.http.admin.client_scopes import ScopeParts, scope_operations
from gateway.http.admin.clients import ClientParts, client_operations
from gateway.http.admin.endpoint import AdminEndpoint, AdminServices
from gateway.http.admin.events import EventHandlers
from gateway.http.admin.operations import Operation
from gateway.http.admin.paths import AdminUrls
from gateway.http.admin.realms import (
    ConfigurationParts,
    RealmParts,
    configuration_operations,
    realm_operations,
)
from gateway.http.admin.roles import role_operations
from gateway.http.admin.unsupported_endpoints import unsupported_operations
from gateway.http.admin.users import (
    AttackDetectionHandlers,
    UserParts,
    attack_detection_operations,
    user_operations,
)
from gateway.http.admin.welcome import WELCOME, Welcome
from gateway.http.guarded_endpoint import GuardedEndpoint
from gateway.http.realm_endpoint import RealmContext
from gateway.policies.candidate import PasswordBlacklists
from gateway.protocol.tokens import AccessTokens


@dataclass(frozen=True, slots=True)
class AdminParts:
    """What the admin API is made of."""

    context: RealmContext
    access_tokens: AccessTokens
    database: Database
    invalidation: Invalidation
    online_sessions: OnlineSessionStore
    login_failures: LoginFailureStore
    passwords: PasswordHasher
    blacklists: PasswordBlacklists
    keys: KeyFactory
    client_keys: ClientKeys
    events: EventLog
    listeners: EventListeners


def build_operations(parts: AdminParts) -> tuple[Operation, ...]:
    """Return every row of the table, resource by resource."""
    database, clock = parts.database, parts.context.clock
    changes = Changes(database, clock, parts.invalidation)
    lockouts = Lockouts(database, parts.login_failures, clock)
    return (
        *realm_operations(_realms(parts, changes)),
        *user_operations(_people(parts, changes)),
        *role_operations(database, changes),
        *client_operations(_clients(parts, changes)),
        *scope_operations(ScopeParts(database, changes, parts.context)),
        *configuration_operations(_configuration(parts, changes)),
        *attack_detection_operations(AttackDetectionHandlers(lockouts, changes)),
        *_events(parts, changes).operations(),
        *unsupported_operations(),
    )


def _realms(parts: AdminParts, changes: Changes) -> RealmParts:
    return RealmParts(
        database=parts.database,
        changes=changes,
        clock=parts.context.clock,
        keys=parts.keys,
        passwords=parts.passwords,
        blacklists=parts.blacklists,
        online_sessions=parts.online_sessions,
        login_failures=parts.login_failures,
        listeners=parts.listeners.names,
    )


def _people(parts: AdminParts, changes: Changes) -> UserParts:
    return UserParts(
        database=parts.database,
        changes=changes,
        clock=parts.context.clock,
        passwords=parts.passwords,
        blacklists=parts.blacklists,
        online_sessions=parts.online_sessions,
        login_failures=parts.login_failures,
    )


def _clients(parts: AdminParts, changes: Changes) -> ClientParts:
    return ClientParts(
        database=parts.database,
        changes=changes,
        clock=parts.context.clock,
        directory=parts.context.directory,
        issuer=parts.context.issuer,
        online_sessions=parts.online_sessions,
        keys=parts.keys,
        client_keys=parts.client_keys,
    )


def _configuration(parts: AdminParts, changes: Changes) -> ConfigurationParts:
    return ConfigurationParts(
        database=parts.database,
        changes=changes,
        clock=parts.context.clock,
        keys=parts.keys,
        listeners=parts.listeners.names,
    )


def _events(parts: AdminParts, changes: Changes) -> EventHandlers:
    logs = EventLogs(parts.database, parts.events, parts.context.clock)
    return EventHandlers(logs, EventConfiguration(changes, parts.listeners.names))


def build_admin_routes(parts: AdminParts) -> list[BaseRoute]:
    """Return every URL of the admin API."""
    services = AdminServices(
        parts.context,
        AdminAuthentication(parts.context, parts.access_tokens),
        AdminAccess(parts.database),
        AccountControl(parts.database),
    )
    table = _by_path(build_operations(parts))
    endpoints: dict[str, GuardedEndpoint] = {
        path: AdminEndpoint(path, methods, services) for path, methods in table.items()
    }
    return [AdminUrls(endpoints | {WELCOME: Welcome(WELCOME, parts.context)})]


def _by_path(operations: Iterable[Operation]) -> dict[str, dict[str, Operation]]:
    found: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in operations:
        if found[operation.path].setdefault(operation.method, operation) is not operation:
            raise ValueError(f"{operation.method} {operation.path} stands in the table twice")
    return dict(found)
