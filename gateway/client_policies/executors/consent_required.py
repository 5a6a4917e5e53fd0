"""consent-required: users must consent to what clients may do."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_REGISTRATION, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class ConsentRequired(AutoConfigured):
    """Demands `consentRequired`."""

    provider: ClassVar = "consent-required"

    def wanted(self) -> ClientSettings:
        return ClientSettings({"consentRequired": True})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if proposed.consent_required:
            return None
        return PolicyRefusal(INVALID_REGISTRATION, "Client is required to enable consentRequired")
