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
    EventKind.TOKEN_REFRESH: "refresh_token",
    EventKind.RESOURCE_OWNER_PASSWORD_CREDENTIALS_REQUEST: "password",
    EventKind.SERVICE_ACCOUNT_TOKEN_REQUEST: "client_credentials",
    EventKind.DEVICE_TOKEN_REQUEST: "urn:ietf:params:oauth:grant-type:device_code",
    EventKind.TOKEN_EXCHANGE_REQUEST: "urn:ietf:params:oauth:grant-type:token-exchange",
}
_CODE: Final = "authorization_code"
_IMPLICIT: Final = "implicit"


@dataclass(frozen=True, slots=True)
class GrantType(Condition):
    """Holds for one of the `grants`; a response type with a code is one of authorization_code."""

    provider: ClassVar = "grant-type"
    grants: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        names = ("grantTypes", "grant_types")
        return cls(frozenset(grant for name in names for grant in configuration.texts(name)))

    def vote(self, event: PolicyEvent) -> Vote:
        if isinstance(event, AuthorizationRequested):
            return vote((_CODE if "code" in event.response_type else _IMPLICIT) in self.grants)
        if isinstance(event, ClientRequest) and event.kind in _GRANTS:
            return vote(_GRANTS[event.kind] in self.grants)
        return Vote.ABSTAIN
