"""client-updater-source-roles: holds for changes by a user who has certain roles.

A role of a client is written `client_id.role`.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange, EventKind, PolicyEvent


@dataclass(frozen=True, slots=True)
class ClientUpdaterSourceRoles(Condition):
    """Holds for users with one of the `roles`."""

    provider: ClassVar = "client-updater-source-roles"
    roles: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(frozenset(configuration.texts("roles")))

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in {
            EventKind.REGISTER,
            EventKind.UPDATE,
        }:
            return Vote.ABSTAIN
        held = event.updater.roles
        names = {f"{client}.{name}" for client, roles in held.clients for name in roles}
        return vote(not self.roles.isdisjoint(names.union(held.realm)))
