"""client-updater-context: holds by the right by which a client is created or changed."""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.conditions.condition import Condition, Vote, vote
from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import CHANGES, ClientChange, PolicyEvent


@dataclass(frozen=True, slots=True)
class ClientUpdaterContext(Condition):
    """Holds for one of the `sources`, values of UpdateSource."""

    provider: ClassVar = "client-updater-context"
    sources: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(frozenset(configuration.texts("update-client-source")))

    def vote(self, event: PolicyEvent) -> Vote:
        if not isinstance(event, ClientChange) or event.kind not in CHANGES:
            return Vote.ABSTAIN
        return vote(event.updater.source in self.sources)
