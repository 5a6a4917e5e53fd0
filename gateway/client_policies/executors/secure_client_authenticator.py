"""secure-client-authenticator: clients authenticate by certain methods alone."""

from dataclasses import dataclass
from typing import ClassVar, Final, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientChange, ClientRequest
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_METADATA, INVALID_REQUEST, PolicyRefusal
from gateway.client_policies.settings import NOTHING, ClientSettings
from gateway.domain.clients import Client

_AUTHENTICATOR: Final = "clientAuthenticatorType"


@dataclass(frozen=True, slots=True)
class SecureClientAuthenticator(Executor):
    """Accepts the `allowed` methods; a new client that names none gets the `default`.

    Public clients pass: `confidential-client` is about them. Unlike Keycloak, it also judges the
    requests of service accounts, of devices, and those that are pushed.
    """

    provider: ClassVar = "secure-client-authenticator"
    allowed: frozenset[str] = frozenset()
    default: str = ""

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(
            frozenset(configuration.texts("allowed-client-authenticators")),
            configuration.text("default-client-authenticator"),
        )

    def configure(self, change: ClientChange) -> ClientSettings:
        if not self.default or change.names_authenticator:
            return NOTHING
        return ClientSettings({_AUTHENTICATOR: self.default})

    def check_change(self, change: ClientChange) -> None:
        if not self._accepts(change.proposed):
            text = "Invalid client metadata: token_endpoint_auth_method"
            raise PolicyRefusal(INVALID_METADATA, text)

    def check_request(self, request: ClientRequest) -> None:
        if request.authenticates and not self._accepts(request.client):
            text = "Configured client authentication method not allowed for client"
            raise PolicyRefusal(INVALID_REQUEST, text)

    def _accepts(self, client: Client) -> bool:
        return client.public_client or client.client_authenticator_type in self.allowed
