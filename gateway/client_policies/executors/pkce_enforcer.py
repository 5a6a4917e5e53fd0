"""pkce-enforcer: authorization requests use PKCE with S256. Spec: RFC 7636 §4.3."""

from dataclasses import dataclass
from typing import ClassVar, Final

from gateway.client_policies.events import AuthorizationRequested, ClientRequest, EventKind
from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_METADATA, INVALID_REQUEST, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client

_S256: Final = "S256"


@dataclass(frozen=True, slots=True)
class PkceEnforcer(AutoConfigured):
    """Demands S256 of clients and of their requests.

    A method without a challenge is refused in every request, and the grant compares the verifier.
    """

    provider: ClassVar = "pkce-enforcer"

    def wanted(self) -> ClientSettings:
        return ClientSettings(attributes={"pkce.code.challenge.method": _S256})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if proposed.authorization.code_challenge_method == _S256:
            return None
        return PolicyRefusal(INVALID_METADATA, "Invalid client metadata: code_challenge_method")

    def check_authorization(self, request: AuthorizationRequested) -> None:
        method = request.parameters.get("code_challenge_method")
        if method is None:
            raise PolicyRefusal(INVALID_REQUEST, "Missing parameter: code_challenge_method")
        if method != _S256:
            text = "Invalid parameter: invalid code_challenge_method"
            raise PolicyRefusal(INVALID_REQUEST, text)

    def check_request(self, request: ClientRequest) -> None:
        if request.kind is not EventKind.TOKEN_REQUEST:
            return
        if request.code_verifier is None:
            raise PolicyRefusal("code_verifier_missing", "PKCE code verifier not specified")
        if request.code_verifier.method != _S256:
            raise PolicyRefusal("invalid_grant", "PKCE code challenge method is not S256")
