"""Builds what the admin API has beyond the objects of a realm, and the table of its operations."""

from collections.abc import Collection

from gateway.admin.access import AdminAccess
from gateway.admin.clients import ClientAdministration, ClientUseCases
from gateway.admin.expiry import ExpiryListing
from gateway.admin.registration import ClientRegistration, RegistrationTokens
from gateway.bootstrap.client_certificates import ClientCertificates, certificate_explainer
from gateway.bootstrap.object_operations import ObjectServices, components, object_operations
from gateway.bootstrap.services import Services
from gateway.http.admin.certificates import expiry_operations, explanation_operations
from gateway.http.admin.impersonation import ImpersonationEndpoint
from gateway.http.admin.operations import Operation
from gateway.http.admin.server_info import ServerInformation, server_operations
from gateway.http.admin.unsupported_endpoints import unsupported_operations
from gateway.http.realm_endpoint import RealmContext
from gateway.http.registration_requests import RegistrationRequests
from gateway.protocol.client_authentication import ClientAuthenticator
from gateway.protocol.impersonation import Impersonation
from gateway.protocol.sender_constraint import SenderConstraint
from gateway.protocol.sessions import Sessions
from gateway.protocol.tokens import AccessTokens


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
        *object_operations(ObjectServices(services, lambda: tokens, clients, context.issuer)),
        *ImpersonationEndpoint(impersonation, context).operations(),
        *expiry_operations(expiry),
        *explanation_operations(certificate_explainer(services, certificates, context.issuer)),
        *server_operations(information, AdminAccess(services.database)),
        *unsupported_operations(),
    )
