"""any-client: holds for every client."""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.conditions.condition import Condition, Vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import PolicyEvent


@dataclass(frozen=True, slots=True)
class AnyClient(Condition):
    """Holds always."""

    provider: ClassVar = "any-client"

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        del configuration
        return cls()

    def vote(self, event: PolicyEvent) -> Vote:
        del event
        return Vote.YES
