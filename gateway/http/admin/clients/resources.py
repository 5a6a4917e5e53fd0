"""Every row of the table about clients. Keycloak: 7.3."""

from gateway.admin.clients import ClientUseCases
from gateway.admin.registration import RegistrationUseCases
from gateway.admin.sessions import ClientSessions
from gateway.http.admin.clients import (
    certificates as client_certificates,
)
from gateway.http.admin.clients import (
    handlers as clients,
)
from gateway.http.admin.clients import (
    installation as client_installation,
)
from gateway.http.admin.clients import (
    registration_tokens as client_registration_tokens,
)
from gateway.http.admin.clients import (
    secrets as client_secrets,
)
from gateway.http.admin.clients import (
    sessions as client_sessions,
)
from gateway.http.admin.operations import Operation


def client_operations(
    use_cases: ClientUseCases, sessions: ClientSessions, registration: RegistrationUseCases
) -> tuple[Operation, ...]:
    """Return the rows."""
    return (
        *clients.operations(clients.ClientsHandlers(use_cases.listing, use_cases.administration)),
        *client_secrets.operations(
            client_secrets.ClientSecretsHandlers(use_cases.secrets, use_cases.accounts)
        ),
        *client_sessions.operations(
            client_sessions.ClientSessionsHandlers(sessions, use_cases.nodes)
        ),
        *client_certificates.operations(
            client_certificates.ClientCertificatesHandlers(use_cases.certificates)
        ),
        *client_registration_tokens.operations(
            client_registration_tokens.ClientRegistrationTokensHandlers(
                registration.client_tokens, registration.initial_accesses
            )
        ),
        *client_installation.operations(
            client_installation.ClientInstallationHandlers(use_cases.installation)
        ),
    )
