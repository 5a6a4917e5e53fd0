"""Builds what registers clients, and administers the tokens for it."""

from gateway.admin.access import (
    AdminAccess,
)
from gateway.admin.clients import ClientAdministration
from gateway.admin.registration import (
    ClientRegistration,
    ClientRegistrationTokens,
    InitialAccesses,
    PolicyProviders,
    RegistrationTokens,
    RegistrationUseCases,
)
from gateway.bootstrap.services import Services
from gateway.protocol.client_authentication import ClientAuthenticator
from gateway.protocol.registration import RegistrationRequests
from gateway.protocol.scopes import MAPPER_TYPES
from gateway.protocol.sender_constraint import SenderConstraint
from gateway.protocol.tokens import AccessTokens


def registration_use_cases(services: Services, tokens: RegistrationTokens) -> RegistrationUseCases:
    """Return every use case of registration tokens and policies."""
    return RegistrationUseCases(
        client_tokens=ClientRegistrationTokens(services.changes, tokens),
        initial_accesses=InitialAccesses(services.database, services.changes, tokens),
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
