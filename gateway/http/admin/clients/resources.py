"""Every row of the table about clients. Keycloak: 7.3."""

from gateway.admin.clients import ClientUseCases
from gateway.admin.registration import RegistrationUseCases
from gateway.admin.sessions import ClientSessions
from gateway.http.admin.clients import (
    certificates,
    handlers,
    installation,
    registration_tokens,
    secrets,
    sessions,
)
from gateway.http.admin.operations import Operation


def client_operations(
    clients: ClientUseCases, of_client: ClientSessions, registration: RegistrationUseCases
) -> tuple[Operation, ...]:
    """Return the rows."""
    tokens = registration_tokens.ClientRegistrationTokensHandlers(
        registration.client_tokens, registration.initial_accesses
    )
    return (
        *handlers.operations(handlers.ClientsHandlers(clients.listing, clients.administration)),
        *secrets.operations(secrets.ClientSecretsHandlers(clients.secrets, clients.accounts)),
        *sessions.operations(sessions.ClientSessionsHandlers(of_client, clients.nodes)),
        *certificates.operations(certificates.ClientCertificatesHandlers(clients.certificates)),
        *registration_tokens.operations(tokens),
        *installation.operations(installation.ClientInstallationHandlers(clients.installation)),
    )
