"""Dynamic client registration: its tokens, policies, formats and use cases."""

from dataclasses import dataclass

from gateway.admin.registration.client_registration import ClientRegistration, ClientView
from gateway.admin.registration.formats import KEYCLOAK, OPENID, Format
from gateway.admin.registration.policy_components import (
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
from gateway.admin.registration.token_administration import (
    ClientRegistrationTokens,
    InitialAccesses,
)
from gateway.admin.registration.tokens import RegistrationTokens


@dataclass(frozen=True, slots=True)
class RegistrationUseCases:
    """Every use case of registration tokens and policies."""

    client_tokens: ClientRegistrationTokens
    initial_accesses: InitialAccesses
    policy_providers: PolicyProviders
