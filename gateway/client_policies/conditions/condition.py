"""The interface of a condition of a client policy. Keycloak: client policies (26.7)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import PolicyEvent


class Vote(Enum):
    """What a condition says of an event."""

    YES = auto()
    NO = auto()
    ABSTAIN = auto()
    """The condition says nothing about events of this kind."""


def vote(holds: bool) -> Vote:  # noqa: FBT001 - the answer itself
    """Return YES or NO."""
    return Vote.YES if holds else Vote.NO


@dataclass(frozen=True, slots=True)
class Condition(ABC):
    """A condition with its configuration."""

    provider: ClassVar[str]
    """Keycloak's id."""

    @classmethod
    @abstractmethod
    def read(cls, configuration: Configuration) -> Self:
        """Return the condition so configured; raises InvalidConfiguration."""

    @abstractmethod
    def vote(self, event: PolicyEvent) -> Vote:
        """Judge an event."""
