"""secure-logout: clients are logged out by the back channel, not by frames in a browser."""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange, ClientRequest, EventKind
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_REGISTRATION, PolicyRefusal
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class SecureLogout(Executor):
    """Refuses clients with front-channel logout, and the logouts that they ask for.

    Keycloak refuses each logout by GET instead, also of clients without it.
    """

    provider: ClassVar = "secure-logout"
    allows_front_channel: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(configuration.flag("allow-front-channel-logout"))

    def check_change(self, change: ClientChange) -> None:
        self._require_back_channel(change.proposed)

    def check_request(self, request: ClientRequest) -> None:
        if request.kind is EventKind.LOGOUT_REQUEST:
            self._require_back_channel(request.client)

    def _require_back_channel(self, client: Client) -> None:
        if self.allows_front_channel:
            return
        logout = client.logout
        if logout.uses_front_channel or logout.front_channel_path:
            text = "Front-channel logout is not allowed for this client"
            raise PolicyRefusal(INVALID_REGISTRATION, text)
