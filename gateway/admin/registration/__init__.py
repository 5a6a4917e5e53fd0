"""Dynamic client registration: tokens and policies."""

from gateway.admin.registration.client_registration_tokens import ClientRegistrationTokens
from gateway.admin.registration.initial_access import InitialAccesses, use_up
from gateway.admin.registration.policies import ALLOWED_MAPPERS, RegistrationPolicies
from gateway.admin.registration.tokens import RegistrationTokens, TokenKind
from gateway.admin.registration.use_cases import RegistrationUseCases
