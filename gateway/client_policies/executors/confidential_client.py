"""confidential-client: refuses requests of public clients.

Bearer-only clients are refused at every endpoint, whatever the policies of the realm.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from gateway.client_policies.events import AuthorizationRequested, ClientRequest, EventKind
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import PolicyRefusal
from gateway.domain.clients import Client

_KINDS: Final = frozenset({EventKind.TOKEN_REQUEST, EventKind.SERVICE_ACCOUNT_TOKEN_REQUEST})


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
