"""Dynamic client registration: its tokens, policies, formats and use cases."""

from dataclasses import dataclass

from gateway.admin.registration.client_registration import ClientRegistration, ClientView
from gateway.admin.registration.formats import KEYCLOAK, OPENID, Format
from gateway.admin.registration.policies import RegistrationPolicies
from gateway.admin.registration.registrars import (
    NOT_VIEWED,
    Registrar,
    RegistrationRefused,
    not_authorized,
)
from gateway.admin.registration.token_administration import (
    ClientRegistrationTokens,
    InitialAccesses,
)
from gateway.admin.registration.tokens import RegistrationTokens


@dataclass(frozen=True, slots=True)
class RegistrationUseCases:
    """Every use case of registration tokens."""

    client_tokens: ClientRegistrationTokens
    initial_accesses: InitialAccesses
