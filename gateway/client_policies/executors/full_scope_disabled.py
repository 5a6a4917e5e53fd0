"""full-scope-disabled: tokens of a client carry only roles of its scope."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_REGISTRATION, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class FullScopeDisabled(AutoConfigured):
    """Demands that `fullScopeAllowed` is off."""

    provider: ClassVar = "full-scope-disabled"

    def wanted(self) -> ClientSettings:
        return ClientSettings({"fullScopeAllowed": False})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if not proposed.full_scope_allowed:
            return None
        return PolicyRefusal(INVALID_REGISTRATION, "Not permitted to enable fullScopeAllowed")
