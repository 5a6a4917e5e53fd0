"""client-updater-source-groups: holds for changes by a user of certain groups.

A name without a slash at its beginning is that of a group at the top.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import CHANGES, ClientChange, PolicyEvent
from gateway.domain.groups import canonical_group_path


@dataclass(frozen=True, slots=True)
class ClientUpdaterSourceGroups(Condition):
    """Holds for members of one of the groups with these `paths`."""

    provider: ClassVar = "client-updater-source-groups"
    paths: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        names = configuration.texts("groups")
        return cls(frozenset(map(canonical_group_path, names)))

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in CHANGES:
            return Vote.ABSTAIN
        return vote(not self.paths.isdisjoint(event.updater.groups))
