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
    """Judges the algorithm of an assertion; `required` also refuses requests without one.

    Unlike Keycloak, it also judges pushed requests, service accounts and devices.
    """

    provider: ClassVar = "secure-signature-algorithm-signed-jwt"
    required: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(configuration.flag("require-client-assertion"))

    def check_request(self, request: ClientRequest) -> None:
        if not request.authenticates or not (self.required or request.sends_assertion):
            return
        if not request.sends_assertion:
            raise PolicyRefusal(INVALID_REQUEST, "client assertion is required.")
        if request.assertion is None:
            raise PolicyRefusal(INVALID_REQUEST, "not allowed input format.")
        if request.assertion.algorithm not in SECURE_ALGORITHMS:
            raise PolicyRefusal(INVALID_REQUEST, "not allowed signature algorithm.")
