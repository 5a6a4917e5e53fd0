"""reject-implicit-grant: no token comes from the authorization endpoint."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.client_policies.events import AuthorizationRequested
from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_METADATA, INVALID_REQUEST, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class RejectImplicitGrant(AutoConfigured):
    """Demands that the implicit flow is off, and refuses it whatever the client may do."""

    provider: ClassVar = "reject-implicit-grant"

    def wanted(self) -> ClientSettings:
        return ClientSettings({"implicitFlowEnabled": False})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if not proposed.implicit_flow_enabled:
            return None
        text = "Invalid client metadata: implicit flow enabled"
        return PolicyRefusal(INVALID_METADATA, text)

    def check_authorization(self, request: AuthorizationRequested) -> None:
        if not request.response_type.isdisjoint({"token", "id_token"}):
            raise PolicyRefusal(INVALID_REQUEST, "Implicit/Hybrid flow is prohibited.")
