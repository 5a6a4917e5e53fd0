"""Builds every administrative use case of a worker, each once, and the table of its operations."""

from collections.abc import Collection

from gateway.admin.access import (
    Administrators,
)
from gateway.admin.changes import RealmCaches
from gateway.admin.client_scopes import ClientScopeAdministration, ScopeEvaluation
from gateway.admin.clients import ClientUseCases
from gateway.admin.expiry import ExpiryListing
from gateway.admin.registration import RegistrationTokens
from gateway.admin.users import UserActionMails
from gateway.bootstrap.accounts import (
    event_use_cases,
    group_use_cases,
    role_use_cases,
    session_use_cases,
    user_use_cases,
)
from gateway.bootstrap.client_certificates import (
    ClientCertificates,
    authority_administration,
    certificate_explainer,
    deny_list_use_cases,
)
from gateway.bootstrap.components import components, key_metadata
from gateway.bootstrap.flows import flow_use_cases
from gateway.bootstrap.forward_auth.sites import forward_auth_use_cases
from gateway.bootstrap.realm_files import realm_file_use_cases
from gateway.bootstrap.realms import realm_use_cases
from gateway.bootstrap.registration import registration_use_cases
from gateway.bootstrap.services import Services
from gateway.http.admin.certificates import (
    authority_operations,
    expiry_operations,
    explanation_operations,
)
from gateway.http.admin.client_scopes import client_scope_operations
from gateway.http.admin.clients import client_operations
from gateway.http.admin.components import component_operations
from gateway.http.admin.denied_certificates import denied_certificate_operations
from gateway.http.admin.events import event_operations
from gateway.http.admin.flows import flow_operations
from gateway.http.admin.forward_auth import forward_auth_operations
from gateway.http.admin.groups import group_operations
from gateway.http.admin.operations import Operation
from gateway.http.admin.realms import realm_operations
from gateway.http.admin.registration import registration_operations
from gateway.http.admin.roles import role_operations
from gateway.http.admin.server_info import ServerInformation, server_operations
from gateway.http.admin.sessions import session_operations
from gateway.http.admin.unsupported_endpoints import unsupported_operations
from gateway.http.admin.users import user_operations
from gateway.http.realm_endpoint import RealmContext
from gateway.protocol.token_preview import ClaimsPreview


def admin_operations(
    services: Services,
    tokens: RegistrationTokens,
    clients: ClientUseCases,
    *,
    context: RealmContext,
    expiry: ExpiryListing,
    certificates: ClientCertificates,
    listeners: Collection[str],
    login_themes: Collection[str],
) -> tuple[Operation, ...]:
    """Return the operations of the admin API; names of listeners and themes."""
    database, every_component = services.database, components(services)
    sessions = session_use_cases(services)
    scopes = ClientScopeAdministration(database, services.changes)
    evaluation = ScopeEvaluation(database, services.directory, ClaimsPreview())
    files = realm_file_use_cases(services, clients.administration)
    information = ServerInformation(
        every_component, context.clock, listeners=listeners, login_themes=login_themes
    )
    flows, caches = flow_use_cases(services), RealmCaches(services.changes)
    return (
        *realm_operations(realm_use_cases(services), files, caches, flows.required_actions),
        *session_operations(sessions.realm),
        *user_operations(
            user_use_cases(services),
            sessions.user,
            services.changes,
            UserActionMails(services.changes, services.directory, context.issuer),
        ),
        *group_operations(group_use_cases(services)),
        *role_operations(role_use_cases(services)),
        *client_operations(clients, sessions.client),
        *client_scope_operations(scopes, clients, evaluation, context),
        *registration_operations(registration_use_cases(services, tokens)),
        *component_operations(every_component, key_metadata(services)),
        *flow_operations(flows),
        *authority_operations(authority_administration(services)),
        *expiry_operations(expiry),
        *explanation_operations(certificate_explainer(services, certificates, context.issuer)),
        *forward_auth_operations(forward_auth_use_cases(services)),
        *denied_certificate_operations(deny_list_use_cases(services)),
        *event_operations(event_use_cases(services)),
        *server_operations(information, Administrators(database)),
        *unsupported_operations(),
    )
