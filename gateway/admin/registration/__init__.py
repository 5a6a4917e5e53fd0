"""Dynamic client registration: its tokens, policies, formats and use cases."""

from dataclasses import dataclass

from gateway.admin.registration.client_registration import (
    KEYCLOAK,
    OPENID,
    ClientRegistration,
    ClientView,
    Format,
)
from gateway.admin.registration.policies import (
    PolicyProviders,
    RegistrationPolicies,
    checked_policy,
    put_policy,
    realm_policies,
    remove_policy,
)
from gateway.admin.registration.registrars import (
    NOT_VIEWED,
    Registrar,
    RegistrationRefused,
    not_authorized,
)
from gateway.admin.registration.tokens import (
    RegistrationTokenAdministration,
    RegistrationTokens,
)


@dataclass(frozen=True, slots=True)
class RegistrationUseCases:
    """Every use case of registration tokens and policies."""

    tokens: RegistrationTokenAdministration
    policy_providers: PolicyProviders
