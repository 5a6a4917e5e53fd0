"""Executors that demand a setting of clients, and set it where `auto-configure` is on."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import PolicyRefusal
from gateway.client_policies.settings import NOTHING, ClientSettings
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class AutoConfigured(Executor, ABC):
    """Demands one setting when a client is created or changed."""

    auto_configure: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(configuration.flag("auto-configure"))

    def configure(self, change: ClientChange) -> ClientSettings:
        del change
        return self.wanted() if self.auto_configure else NOTHING

    def check_change(self, change: ClientChange) -> None:
        refusal = self.refusal(change.proposed)
        if refusal is not None:
            raise refusal

    @abstractmethod
    def wanted(self) -> ClientSettings:
        """Return what `auto-configure` sets."""

    @abstractmethod
    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        """Return the refusal of a client without the setting."""
