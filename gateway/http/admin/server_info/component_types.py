"""The types of components and providers that consoles read from serverinfo. Keycloak: 7.5.

Only what exists here is listed. `helpText` says which key providers and policies have no effect,
and `operationalInfo` in `providers` which authenticators.
"""

from collections.abc import Iterable
from typing import Any, Final

from gateway.admin.components import Components
from gateway.client_policies import CONDITIONS, EXECUTORS
from gateway.domain.user_profile.validators import VALIDATORS
from gateway.protocol.claims import CLAIM_MAPPERS
from gateway.protocol.client_authentication import METHODS
from gateway.representations.flows import Role, of_role
from gateway.representations.provider_properties import ProviderDescription

_AUTHENTICATION: Final = "org.keycloak.authentication"
_POLICY: Final = "org.keycloak.services.clientpolicy"


def component_types(components: Components) -> dict[str, list[dict[str, Any]]]:
    """Return the providers by Keycloak's name of their type."""
    clients = [each for each in _authenticators(Role.CLIENT) if each.id in METHODS]
    return {
        **components.types(),
        f"{_AUTHENTICATION}.Authenticator": _rendered(_authenticators(Role.USER)),
        f"{_AUTHENTICATION}.ClientAuthenticator": _rendered(clients),
        f"{_AUTHENTICATION}.FormAction": _rendered(_authenticators(Role.FORM_ACTION)),
        f"{_AUTHENTICATION}.FormAuthenticator": _rendered(_authenticators(Role.FORM)),
        f"{_POLICY}.condition.ClientPolicyConditionProvider": _rendered(_judging(CONDITIONS)),
        f"{_POLICY}.executor.ClientPolicyExecutorProvider": _rendered(_judging(EXECUTORS)),
        "org.keycloak.protocol.ProtocolMapper": _rendered(_mappers()),
        "org.keycloak.validate.Validator": _rendered(_validators()),
    }


def _rendered(providers: Iterable[ProviderDescription]) -> list[dict[str, Any]]:
    return [each.document() for each in sorted(providers, key=lambda each: each.id)]


def _authenticators(role: Role) -> list[ProviderDescription]:
    return [
        ProviderDescription(each.id, each.help, tuple(each.properties)) for each in of_role(role)
    ]


def _mappers() -> list[ProviderDescription]:
    described = ((name, mapper.description) for name, mapper in CLAIM_MAPPERS.items())
    return [ProviderDescription(name, known.help, known.properties) for name, known in described]


def _judging(names: Iterable[str]) -> list[ProviderDescription]:
    return [ProviderDescription(name, "Judges clients and their requests") for name in names]


def _validators() -> list[ProviderDescription]:
    return [
        ProviderDescription(name, "Checks the values of a user attribute") for name in VALIDATORS
    ]
