"""client-access-type: holds for confidential, public or bearer-only clients.

A change is judged by the client as it was and as it would be, and a client that is viewed or
removed as it is. Unlike Keycloak, it is also evaluated before an authorization request and at the
endpoints of pushed requests and devices.
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
        if not isinstance(event, ClientChange):
            return vote(_access_type(event.client) in self.types)
        clients = (event.client, event.proposed)
        return vote(any(each and _access_type(each) in self.types for each in clients))


def _access_type(client: Client) -> str:
    if client.public_client:
        return "public"
    return "bearer-only" if client.bearer_only else "confidential"
