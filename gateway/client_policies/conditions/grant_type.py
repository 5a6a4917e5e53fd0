"""grant-type: holds for requests by certain grant types."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import (
    AuthorizationRequested,
    ClientRequest,
    EventKind,
    PolicyEvent,
)

_GRANTS: Final[Mapping[EventKind, str]] = {
    EventKind.TOKEN_REQUEST: "authorization_code",
    EventKind.IMPLICIT_HYBRID_TOKEN_RESPONSE: "implicit",
    EventKind.TOKEN_REFRESH: "refresh_token",
    EventKind.RESOURCE_OWNER_PASSWORD_CREDENTIALS_REQUEST: "password",
    EventKind.SERVICE_ACCOUNT_TOKEN_REQUEST: "client_credentials",
    EventKind.DEVICE_TOKEN_REQUEST: "urn:ietf:params:oauth:grant-type:device_code",
    EventKind.TOKEN_EXCHANGE_REQUEST: "urn:ietf:params:oauth:grant-type:token-exchange",
}
_RESPONSE_TYPES: Final[Mapping[str, str]] = {
    "code": "authorization_code",
    "token": "implicit",
    "id_token": "implicit",
}


@dataclass(frozen=True, slots=True)
class GrantType(Condition):
    """Holds for one of the `grants`; a hybrid response type is of two.

    Keycloak takes a response type with a code for authorization_code alone, and says nothing about
    the request that redeems the code.
    """

    provider: ClassVar = "grant-type"
    grants: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        names = ("grantTypes", "grant_types")
        return cls(frozenset(grant for name in names for grant in configuration.texts(name)))

    def vote(self, event: PolicyEvent) -> Vote:
        if isinstance(event, AuthorizationRequested):
            return vote(not self.grants.isdisjoint(_grants_of(event.response_type)))
        if isinstance(event, ClientRequest) and event.kind in _GRANTS:
            return vote(_GRANTS[event.kind] in self.grants)
        return Vote.ABSTAIN


def _grants_of(response_type: frozenset[str]) -> frozenset[str]:
    return frozenset(_RESPONSE_TYPES[each] for each in response_type if each in _RESPONSE_TYPES)
