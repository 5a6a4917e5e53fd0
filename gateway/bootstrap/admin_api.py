"""Builds every administrative use case of a worker, each once, and the table of its operations."""

from collections.abc import Callable, Collection
from itertools import chain

from gateway.admin.access import AdminAccess
from gateway.admin.client_scope_evaluation import ScopeEvaluation
from gateway.admin.client_scopes import ClientScopeAdministration
from gateway.admin.clients import (
    ClientAdministration,
    ClientUseCases,
)
from gateway.admin.components import Components
from gateway.admin.expiry import ExpiryListing
from gateway.admin.flows import (
    FlowAdministration,
    FlowUseCases,
    RequiredActionAdministration,
)
from gateway.admin.keys import KeyComponents
from gateway.admin.realm_files import (
    PartialExport,
    PartialImport,
    RealmFileUseCases,
)
from gateway.admin.registration import (
    ClientRegistration,
    PolicyProviders,
    RegistrationPolicies,
    RegistrationTokenAdministration,
    RegistrationTokens,
    RegistrationUseCases,
)
from gateway.admin.resource_kinds import resource_kinds
from gateway.admin.users import ProfileComponents, UserActionMails
from gateway.bootstrap.accounts import (
    event_administration,
    group_administration,
    new_passwords,
    role_administration,
    session_administration,
    user_use_cases,
)
from gateway.bootstrap.administration import client_use_cases, realm_creation, realm_use_cases
from gateway.bootstrap.client_certificates import ClientCertificates, certificate_explainer
from gateway.bootstrap.services import Services, resource_administration
from gateway.crypto.x509.reader import X509AuthorityParser
from gateway.http.admin.certificates import expiry_operations, explanation_operations
from gateway.http.admin.client_scopes import client_scope_operations, evaluation_operations
from gateway.http.admin.clients import client_operations, registration_operations
from gateway.http.admin.events import event_operations
from gateway.http.admin.flows import flow_operations
from gateway.http.admin.groups import group_operations
from gateway.http.admin.impersonation import ImpersonationEndpoint
from gateway.http.admin.operations import Operation
from gateway.http.admin.realms import component_operations, realm_operations, session_operations
from gateway.http.admin.resources import resource_operations
from gateway.http.admin.roles import role_operations
from gateway.http.admin.server_info import ServerInformation, server_operations
from gateway.http.admin.unsupported_endpoints import unsupported_operations
from gateway.http.admin.users import user_operations
from gateway.http.realm_endpoint import RealmContext, realm_url
from gateway.http.registration_requests import RegistrationRequests
from gateway.protocol.claims import MAPPER_TYPES
from gateway.protocol.client_authentication import ClientAuthenticator
from gateway.protocol.impersonation import Impersonation
from gateway.protocol.sender_constraint import SenderConstraint
from gateway.protocol.sessions import Sessions
from gateway.protocol.token_preview import ClaimsPreview
from gateway.protocol.tokens import AccessTokens


def components(services: Services) -> Components:
    """Return what lists and changes components of every kind."""
    changes = services.changes
    keys = KeyComponents(changes, services.keys)
    kinds = (keys, ProfileComponents(changes), RegistrationPolicies(changes))
    return Components(services.database, kinds)


def flow_use_cases(services: Services) -> FlowUseCases:
    """Return every use case of authentication flows and required actions."""
    changes = services.changes
    return FlowUseCases(
        administration=FlowAdministration(changes),
        required_actions=RequiredActionAdministration(changes),
    )


def realm_file_use_cases(services: Services, clients: ClientAdministration) -> RealmFileUseCases:
    """Return every use case of realm files in the admin API."""
    return RealmFileUseCases(
        creation=realm_creation(services),
        partial_export=PartialExport(services.database),
        partial_import=PartialImport(
            database=services.database,
            changes=services.changes,
            clients=clients,
            passwords=services.passwords,
            gate=new_passwords(services),
            online_sessions=services.online_sessions,
        ),
    )


def registration_use_cases(services: Services, tokens: RegistrationTokens) -> RegistrationUseCases:
    """Return every use case of registration tokens and policies."""
    return RegistrationUseCases(
        tokens=RegistrationTokenAdministration(services.changes, tokens),
        policy_providers=PolicyProviders(services.database, MAPPER_TYPES),
    )


def registration_requests(
    services: Services,
    tokens: RegistrationTokens,
    *,
    access_tokens: AccessTokens,
    constraint: SenderConstraint,
    authenticator: ClientAuthenticator,
    clients: ClientAdministration,
) -> RegistrationRequests:
    """Return what answers requests to register clients."""
    return RegistrationRequests(
        registration=ClientRegistration(
            services.database, services.changes, clients, tokens, services.rate_limiter
        ),
        tokens=tokens,
        access_tokens=access_tokens,
        constraint=constraint,
        access=AdminAccess(services.database),
        directory=services.directory,
        clients=authenticator,
        documents=services.documents,
    )


def object_operations(
    services: Services,
    tokens: RegistrationTokens,
    clients: ClientUseCases,
    issuer: Callable[[str], str],
) -> tuple[Operation, ...]:
    """Return the operations on the objects of a realm, which commands offer as well.

    `issuer` returns that of a realm by its name.
    """
    sessions, flows = session_administration(services), flow_use_cases(services)
    scopes = ClientScopeAdministration(services.changes)
    evaluation = ScopeEvaluation(services.database, services.directory, ClaimsPreview())
    files = realm_file_use_cases(services, clients.administration)
    keys = KeyComponents(services.changes, services.keys)
    mails = UserActionMails(services.changes, services.directory, issuer)
    return (
        *realm_operations(realm_use_cases(services), files, flows.required_actions),
        *session_operations(sessions),
        *user_operations(user_use_cases(services), sessions, mails),
        *group_operations(group_administration(services)),
        *role_operations(role_administration(services)),
        *client_operations(clients, sessions),
        *client_scope_operations(scopes, clients),
        *evaluation_operations(evaluation, issuer, services.clock),
        *registration_operations(registration_use_cases(services, tokens)),
        *component_operations(components(services), keys),
        *flow_operations(flows),
        *chain.from_iterable(
            resource_operations(resource_administration(services, kind))
            for kind in resource_kinds(X509AuthorityParser())
        ),
        *event_operations(event_administration(services)),
    )


def operator_operations(services: Services, public_url: str) -> tuple[Operation, ...]:
    """Return the operations that commands offer, those that are not supported included."""

    def issuer(realm_name: str) -> str:
        return realm_url(public_url, realm_name)

    tokens = RegistrationTokens(services.directory, issuer)
    clients = client_use_cases(services)
    return (*object_operations(services, tokens, clients, issuer), *unsupported_operations())


def admin_operations(
    services: Services,
    tokens: RegistrationTokens,
    clients: ClientUseCases,
    *,
    context: RealmContext,
    sign_in_sessions: Sessions,
    expiry: ExpiryListing,
    certificates: ClientCertificates,
    listeners: Collection[str],
    login_themes: Collection[str],
) -> tuple[Operation, ...]:
    """Return the operations of the admin API; names of listeners and themes."""
    information = ServerInformation(
        components(services), context.clock, listeners=listeners, login_themes=login_themes
    )
    impersonation = Impersonation(sign_in_sessions, services.database)
    return (
        *object_operations(services, tokens, clients, context.issuer),
        *ImpersonationEndpoint(impersonation, context).operations(),
        *expiry_operations(expiry),
        *explanation_operations(certificate_explainer(services, certificates, context.issuer)),
        *server_operations(information, AdminAccess(services.database)),
        *unsupported_operations(),
    )
