"""secure-signature-algorithm-signed-jwt: assertions of clients are signed by secure algorithms."""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import ClientRequest
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.executors.secure_algorithms import SECURE_ALGORITHMS
from gateway.client_policies.refusal import INVALID_REQUEST, PolicyRefusal


@dataclass(frozen=True, slots=True)
class SecureSignatureAlgorithmSignedJwt(Executor):
    """Judges the assertion that authenticated a client; `required` demands one of each client.

    Unlike Keycloak, it also judges pushed requests, service accounts and devices.
    """

    provider: ClassVar = "secure-signature-algorithm-signed-jwt"
    required: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(configuration.flag("require-client-assertion"))

    def check_request(self, request: ClientRequest) -> None:
        if request.assertion is None:
            if self.required and request.authenticates:
                raise PolicyRefusal(INVALID_REQUEST, "client assertion is required.")
            return
        if request.assertion.algorithm not in SECURE_ALGORITHMS:
            raise PolicyRefusal(INVALID_REQUEST, "not allowed signature algorithm.")
