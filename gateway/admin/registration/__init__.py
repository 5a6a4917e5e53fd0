"""Dynamic client registration: its tokens, policies, formats and use cases."""

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
from gateway.admin.registration.use_cases import RegistrationUseCases
