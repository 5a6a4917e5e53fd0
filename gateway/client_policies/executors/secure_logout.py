"""secure-logout: clients are logged out by the back channel, not by frames in a browser."""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_REGISTRATION, PolicyRefusal


@dataclass(frozen=True, slots=True)
class SecureLogout(Executor):
    """Refuses clients with front-channel logout."""

    provider: ClassVar = "secure-logout"
    allows_front_channel: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(configuration.flag("allow-front-channel-logout"))

    def check_change(self, change: ClientChange) -> None:
        if self.allows_front_channel:
            return
        logout = change.proposed.logout
        if logout.uses_front_channel or logout.front_channel_path:
            text = "Front-channel logout is not allowed for this client"
            raise PolicyRefusal(INVALID_REGISTRATION, text)
