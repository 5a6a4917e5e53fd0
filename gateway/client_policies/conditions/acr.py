"""acr-condition: holds for authorization requests that ask for a class of authentication."""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import AuthorizationRequested, PolicyEvent
from gateway.client_policies.refusal import InvalidConfiguration

_PROPERTY = "acr-property"


@dataclass(frozen=True, slots=True)
class Acr(Condition):
    """Holds where the request asks for the `acr`, or the client does by default."""

    provider: ClassVar = "acr-condition"
    acr: str

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        acr = configuration.text(_PROPERTY)
        if not acr:
            raise InvalidConfiguration(f"{_PROPERTY} must be an acr")
        return cls(acr)

    def vote(self, event: PolicyEvent) -> Vote:
        if isinstance(event, AuthorizationRequested):
            return vote(self.acr in event.acr_values)
        return Vote.ABSTAIN
