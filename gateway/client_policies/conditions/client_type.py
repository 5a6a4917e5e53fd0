"""client-type: holds for clients of one protocol, `openid-connect` or `saml`."""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange, PolicyEvent


@dataclass(frozen=True, slots=True)
class ClientType(Condition):
    """Holds for clients of the protocol; an empty one says nothing."""

    provider: ClassVar = "client-type"
    protocol: str = ""

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(configuration.text("protocol"))

    def vote(self, event: PolicyEvent) -> Vote:
        if not self.protocol:
            return Vote.ABSTAIN
        client = event.proposed if isinstance(event, ClientChange) else event.client
        return vote(client.protocol == self.protocol)
