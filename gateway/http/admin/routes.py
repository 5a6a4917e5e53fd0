"""The table of the admin API's operations, resource by resource. Keycloak: 7."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gateway.admin.access import Administrators, Changes, RealmCaches
from gateway.admin.client_scopes import ClientScopeAdministration, ScopeEvaluation
from gateway.admin.clients import ClientUseCases
from gateway.admin.components import Components
from gateway.admin.events import EventUseCases
from gateway.admin.flows import FlowUseCases
from gateway.admin.groups import GroupUseCases
from gateway.admin.keys import KeyMetadata
from gateway.admin.realm_files import RealmFileUseCases
from gateway.admin.realms import RealmUseCases
from gateway.admin.registration import RegistrationUseCases
from gateway.admin.roles import RoleUseCases
from gateway.admin.sessions import SessionUseCases
from gateway.admin.users import UserUseCases
from gateway.http.admin.client_scopes import scope_operations
from gateway.http.admin.clients import client_operations
from gateway.http.admin.endpoint import AdminEndpoint, AdminServices
from gateway.http.admin.events import EventHandlers
from gateway.http.admin.operations import Operation
from gateway.http.admin.paths import AdminUrls
from gateway.http.admin.realms import configuration_operations, realm_operations
from gateway.http.admin.roles import role_operations
from gateway.http.admin.server_info import ServerInfoHandlers
from gateway.http.admin.unsupported_endpoints import unsupported_operations
from gateway.http.admin.users import (
    AttackDetectionHandlers,
    attack_detection_operations,
    user_operations,
)
from gateway.http.admin.welcome import WELCOME, Welcome
from gateway.http.guarded_endpoint import GuardedEndpoint
from gateway.http.realm_endpoint import RealmContext


@dataclass(frozen=True, slots=True)
class AdminUseCases:
    """The finished use cases behind the admin API, by capability."""

    administrators: Administrators
    caches: RealmCaches
    changes: Changes
    clients: ClientUseCases
    client_scopes: ClientScopeAdministration
    components: Components
    events: EventUseCases
    flows: FlowUseCases
    groups: GroupUseCases
    keys: KeyMetadata
    realm_files: RealmFileUseCases
    realms: RealmUseCases
    registration: RegistrationUseCases
    roles: RoleUseCases
    scope_evaluation: ScopeEvaluation
    sessions: SessionUseCases
    users: UserUseCases


def build_operations(
    use_cases: AdminUseCases, context: RealmContext, listeners: Collection[str]
) -> tuple[Operation, ...]:
    """Return every row of the table, resource by resource; `listeners` are names."""
    clients, sessions = use_cases.clients, use_cases.sessions
    server = ServerInfoHandlers(
        use_cases.administrators, use_cases.components, context.clock, listeners
    )
    lockouts = AttackDetectionHandlers(use_cases.users.lockouts, use_cases.changes)
    return (
        *realm_operations(
            use_cases.realms,
            use_cases.realm_files,
            sessions=sessions.realm,
            caches=use_cases.caches,
            default_groups=use_cases.groups.default_groups,
            client_policies=clients.policies,
        ),
        *user_operations(use_cases.users, sessions.user),
        *role_operations(use_cases.roles, use_cases.groups),
        *client_operations(clients, sessions.client, use_cases.registration),
        *scope_operations(use_cases.client_scopes, clients, use_cases.scope_evaluation, context),
        *configuration_operations(
            use_cases.components,
            use_cases.keys,
            use_cases.flows,
            use_cases.realms.localizations,
            server,
        ),
        *attack_detection_operations(lockouts),
        *EventHandlers(use_cases.events.logs, use_cases.events.configuration).operations(),
        *unsupported_operations(),
    )


def build_admin_routes(operations: Iterable[Operation], services: AdminServices) -> AdminUrls:
    """Return every URL of the admin API."""
    endpoints: dict[str, GuardedEndpoint] = {
        path: AdminEndpoint(path, methods, services)
        for path, methods in _by_path(operations).items()
    }
    return AdminUrls(endpoints | {WELCOME: Welcome(WELCOME, services.context)})


def _by_path(operations: Iterable[Operation]) -> dict[str, dict[str, Operation]]:
    found: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in operations:
        if found[operation.path].setdefault(operation.method, operation) is not operation:
            raise ValueError(f"{operation.method} {operation.path} stands in the table twice")
    return dict(found)
