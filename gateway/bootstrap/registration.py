"""Builds what registers clients, and administers the tokens for it."""

from gateway.admin.access import AdminAccess
from gateway.admin.clients import ClientAdministration
from gateway.admin.registration import (
    ClientRegistrationTokens,
    InitialAccesses,
    RegistrationTokens,
    RegistrationUseCases,
)
from gateway.bootstrap.services import Services
from gateway.protocol.client_registrations.callers import Registrars
from gateway.protocol.client_registrations.registering import ClientRegistrations
from gateway.protocol.tokens import AccessTokens


def registration_use_cases(services: Services, tokens: RegistrationTokens) -> RegistrationUseCases:
    """Return every use case of registration tokens."""
    return RegistrationUseCases(
        client_tokens=ClientRegistrationTokens(services.changes, tokens),
        initial_accesses=InitialAccesses(services.database, services.changes, tokens),
    )


def client_registrations(
    services: Services,
    tokens: RegistrationTokens,
    access_tokens: AccessTokens,
    clients: ClientAdministration,
) -> ClientRegistrations:
    """Return what answers clients that register themselves."""
    return ClientRegistrations(
        database=services.database,
        changes=services.changes,
        administration=clients,
        registrars=Registrars(tokens, access_tokens, AdminAccess(services.database)),
        tokens=tokens,
    )
