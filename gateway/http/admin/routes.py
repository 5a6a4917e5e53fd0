"""The URLs of the admin API: the whole table of operations, and GET /admin. Keycloak: 7."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope

from gateway.admin.access import Administrators, Changes, RealmCaches
from gateway.admin.client_scopes import ClientScopeAdministration
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
from gateway.domain.ports.directory import RealmEntry
from gateway.http.admin.client_scopes import client_scope_operations
from gateway.http.admin.clients import client_operations
from gateway.http.admin.components import component_operations
from gateway.http.admin.endpoint import AdminEndpoint, AdminServices
from gateway.http.admin.events import event_operations
from gateway.http.admin.flows import flow_operations
from gateway.http.admin.groups import group_operations
from gateway.http.admin.operations import Operation
from gateway.http.admin.paths import AdminUrls
from gateway.http.admin.realms import realm_operations
from gateway.http.admin.registration import registration_operations
from gateway.http.admin.roles import role_operations
from gateway.http.admin.server_info import ServerInformation, server_operations
from gateway.http.admin.sessions import session_operations
from gateway.http.admin.unsupported_endpoints import unsupported_operations
from gateway.http.admin.users import user_operations
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.guarded_endpoint import GuardedEndpoint
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply
from gateway.protocol.scope_evaluation import ScopeEvaluation

_WELCOME: Final = "/admin"
_WELCOME_TEXT: Final = b"Realmgate: the admin API begins at /admin/realms.\n"
_PLAIN_TEXT: Final = (b"content-type", b"text/plain;charset=UTF-8")


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
    """Return every row of the table; `listeners` are names of event listeners."""
    clients, sessions = use_cases.clients, use_cases.sessions
    information = ServerInformation(use_cases.components, context.clock, listeners)
    return (
        *realm_operations(use_cases.realms, use_cases.realm_files, use_cases.caches),
        *session_operations(sessions.realm),
        *user_operations(use_cases.users, sessions.user, use_cases.changes),
        *group_operations(use_cases.groups),
        *role_operations(use_cases.roles),
        *client_operations(clients, sessions.client),
        *client_scope_operations(
            use_cases.client_scopes, clients, use_cases.scope_evaluation, context
        ),
        *registration_operations(use_cases.registration),
        *component_operations(use_cases.components, use_cases.keys),
        *flow_operations(use_cases.flows),
        *event_operations(use_cases.events),
        *server_operations(information, use_cases.administrators),
        *unsupported_operations(),
    )


def build_admin_routes(operations: Iterable[Operation], services: AdminServices) -> AdminUrls:
    """Return every URL of the admin API."""
    endpoints: dict[str, GuardedEndpoint] = {
        path: AdminEndpoint(path, methods, services)
        for path, methods in _by_path(operations).items()
    }
    return AdminUrls(endpoints | {_WELCOME: Welcome(_WELCOME, services.context)})


def _by_path(operations: Iterable[Operation]) -> dict[str, dict[str, Operation]]:
    found: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in operations:
        if found[operation.path].setdefault(operation.method, operation) is not operation:
            raise ValueError(f"{operation.method} {operation.path} is in the table twice")
    return dict(found)


class Welcome(GuardedEndpoint):
    """GET /admin returns a fixed text: playbooks wait for it before they begin."""

    def __init__(self, route: str, context: RealmContext) -> None:
        super().__init__(route, context.directory, context.log, methods=("GET", "HEAD"))

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002
        exchange: Exchange,  # noqa: ARG002
        entry: RealmEntry | None,  # noqa: ARG002 - the path names no realm
    ) -> Reply:
        if scope["method"] not in self.methods:
            raise MethodNotAllowed(self.methods)
        return Reply(HTTPStatus.OK, (_PLAIN_TEXT,), _WELCOME_TEXT)
