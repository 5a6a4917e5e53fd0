"""consent-required: users must consent to what clients may do."""

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from gateway.client_policies.events import ClientRequest, EventKind
from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_REGISTRATION, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client

_WITHOUT_QUESTION: Final = frozenset(
    {
        EventKind.SERVICE_ACCOUNT_TOKEN_REQUEST,
        EventKind.DEVICE_TOKEN_REQUEST,
        EventKind.TOKEN_REFRESH,
    }
)
"""A service account has no user, the page of a device always asks, and a session goes on."""


@dataclass(frozen=True, slots=True)
class ConsentRequired(AutoConfigured):
    """Demands `consentRequired`; users are asked also by a client without the setting.

    Keycloak judges the setting of a client alone, when it is created or changed.
    """

    provider: ClassVar = "consent-required"

    def wanted(self) -> ClientSettings:
        return ClientSettings({"consentRequired": True})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if proposed.consent_required:
            return None
        return PolicyRefusal(INVALID_REGISTRATION, "Client is required to enable consentRequired")

    def requires_consent(self) -> bool:
        return True

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        if request.kind in _WITHOUT_QUESTION:
            return client
        return replace(client, consent_required=True)
