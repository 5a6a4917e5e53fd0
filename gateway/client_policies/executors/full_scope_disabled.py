"""full-scope-disabled: tokens of a client carry only roles of its scope."""

from dataclasses import dataclass, replace
from typing import ClassVar

from gateway.client_policies.events import ClientRequest
from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_REGISTRATION, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class FullScopeDisabled(AutoConfigured):
    """Demands that `fullScopeAllowed` is off, and issues tokens as if it were.

    Keycloak judges the setting of a client alone, when it is created or changed.
    """

    provider: ClassVar = "full-scope-disabled"

    def wanted(self) -> ClientSettings:
        return ClientSettings({"fullScopeAllowed": False})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if not proposed.full_scope_allowed:
            return None
        return PolicyRefusal(INVALID_REGISTRATION, "Not permitted to enable fullScopeAllowed")

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        del request
        return replace(client, full_scope_allowed=False)
