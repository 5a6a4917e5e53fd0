"""secure-session: authorization requests have a `nonce`, or a `state` where no ID token comes."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.client_policies.events import AuthorizationRequested
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_REQUEST, PolicyRefusal


@dataclass(frozen=True, slots=True)
class SecureSession(Executor):
    """Demands what binds a response to its request. Spec: FAPI 1.0 Baseline §5.2.2."""

    provider: ClassVar = "secure-session"

    def check_authorization(self, request: AuthorizationRequested) -> None:
        of_openid = "openid" in request.parameters.get("scope", "").split(" ")
        name = "nonce" if of_openid else "state"
        if not request.parameters.get(name):
            raise PolicyRefusal(INVALID_REQUEST, f"Missing parameter: {name}")
