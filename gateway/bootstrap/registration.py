"""Builds what registers clients, and administers the tokens for it."""

from gateway.admin.access import AdminAccess, Changes
from gateway.admin.clients import ClientAdministration
from gateway.admin.registration import (
    ClientRegistration,
    ClientRegistrationTokens,
    InitialAccesses,
    RegistrationTokens,
    RegistrationUseCases,
)
from gateway.bootstrap.services import Services
from gateway.protocol.client_authentication import ClientAuthenticator
from gateway.protocol.registration import RegistrationRequests
from gateway.protocol.tokens import AccessTokens


def registration_use_cases(
    services: Services, changes: Changes, tokens: RegistrationTokens
) -> RegistrationUseCases:
    """Return every use case of registration tokens."""
    return RegistrationUseCases(
        client_tokens=ClientRegistrationTokens(changes, tokens),
        initial_accesses=InitialAccesses(services.database, changes, tokens),
    )


def registration_requests(
    services: Services,
    changes: Changes,
    tokens: RegistrationTokens,
    *,
    access_tokens: AccessTokens,
    authenticator: ClientAuthenticator,
    clients: ClientAdministration,
) -> RegistrationRequests:
    """Return what answers requests to register clients."""
    return RegistrationRequests(
        registration=ClientRegistration(services.database, changes, clients, tokens),
        tokens=tokens,
        access_tokens=access_tokens,
        access=AdminAccess(services.database),
        directory=services.directory,
        clients=authenticator,
    )
