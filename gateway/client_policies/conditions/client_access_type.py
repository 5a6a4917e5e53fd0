"""client-access-type: holds for confidential, public or bearer-only clients.

Unlike Keycloak, it is also evaluated before an authorization request and at the endpoints of pushed
requests and devices.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange, PolicyEvent
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class ClientAccessType(Condition):
    """Holds for clients of one of the `types`."""

    provider: ClassVar = "client-access-type"
    types: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(frozenset(configuration.texts("type")))

    def vote(self, event: PolicyEvent) -> Vote:
        client = event.proposed if isinstance(event, ClientChange) else event.client
        return vote(_access_type(client) in self.types)


def _access_type(client: Client) -> str:
    if client.public_client:
        return "public"
    return "bearer-only" if client.bearer_only else "confidential"
