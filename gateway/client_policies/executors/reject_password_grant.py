"""reject-ropc-grant: no token for the password of a user."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.client_policies.events import ClientRequest, EventKind
from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_METADATA, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class RejectPasswordGrant(AutoConfigured):
    """Demands that the grant is off, and refuses it whatever the client may do."""

    provider: ClassVar = "reject-ropc-grant"

    def wanted(self) -> ClientSettings:
        return ClientSettings({"directAccessGrantsEnabled": False})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if not proposed.direct_access_grants_enabled:
            return None
        text = "Invalid client metadata: resource owner password credentials grant enabled"
        return PolicyRefusal(INVALID_METADATA, text)

    def check_request(self, request: ClientRequest) -> None:
        if request.kind is EventKind.RESOURCE_OWNER_PASSWORD_CREDENTIALS_REQUEST:
            text = "resource owner password credentials grant is prohibited."
            raise PolicyRefusal("invalid_grant", text)
