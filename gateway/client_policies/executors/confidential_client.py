"""confidential-client: refuses requests of public clients.

Keycloak lets passwords, refreshes, devices and token exchange of public clients pass; here they are
refused too. Bearer-only clients are refused at every endpoint, whatever the policies of the realm.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from gateway.client_policies.events import (
    TOKEN_REQUESTS,
    AuthorizationRequested,
    ClientRequest,
    EventKind,
)
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import PolicyRefusal
from gateway.domain.clients import Client

_KINDS: Final = TOKEN_REQUESTS | {
    EventKind.PUSHED_AUTHORIZATION_REQUEST,
    EventKind.DEVICE_AUTHORIZATION_REQUEST,
}


@dataclass(frozen=True, slots=True)
class ConfidentialClient(Executor):
    """Refuses clients that cannot authenticate."""

    provider: ClassVar = "confidential-client"

    def check_authorization(self, request: AuthorizationRequested) -> None:
        _require_confidential(request.client)

    def check_request(self, request: ClientRequest) -> None:
        if request.kind in _KINDS:
            _require_confidential(request.client)


def _require_confidential(client: Client) -> None:
    if client.public_client:
        raise PolicyRefusal("invalid_client", "invalid client access type: public")
