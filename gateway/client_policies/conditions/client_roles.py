"""client-roles: holds for clients that own a role of certain names.

A client that is created owns none.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import PolicyEvent


@dataclass(frozen=True, slots=True)
class ClientRoles(Condition):
    """Holds for clients that own one of the `roles`."""

    provider: ClassVar = "client-roles"
    roles: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(frozenset(configuration.texts("roles")))

    def vote(self, event: PolicyEvent) -> Vote:
        if event.own_roles is None:
            return Vote.ABSTAIN
        return vote(not self.roles.isdisjoint(event.own_roles))
