"""secure-client-authentication-assertion: assertions name this issuer alone as their audience.

Spec: FAPI 2.0 Security Profile §5.3.2.1, number 8
"""

from dataclasses import dataclass
from typing import ClassVar

from gateway.client_policies.events import ClientRequest
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_REQUEST, PolicyRefusal


@dataclass(frozen=True, slots=True)
class SecureClientAuthenticationAssertion(Executor):
    """Refuses the addresses of endpoints as audience of the assertion that authenticated a client.

    A client that authenticates by something else passes: `secure-client-authenticator` is about it.
    """

    provider: ClassVar = "secure-client-authentication-assertion"

    def check_request(self, request: ClientRequest) -> None:
        if request.assertion is None:
            return
        audience = request.assertion.claims.get("aud")
        if audience not in (request.issuer, [request.issuer]):
            raise PolicyRefusal(INVALID_REQUEST, "invalid audience in client assertion")
