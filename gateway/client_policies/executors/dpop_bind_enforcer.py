"""dpop-bind-enforcer: tokens are bound to a key of the client by DPoP. Spec: RFC 9449 §5."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import ClassVar, Final, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import AuthorizationRequested, ClientRequest, EventKind
from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_METADATA, INVALID_REQUEST, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client

_KEY: Final = "dpop_jkt"
_REFRESH_TOKENS: Final = frozenset({"Refresh", "Offline"})
_BOUND: Final = frozenset({EventKind.TOKEN_REVOKE, EventKind.USERINFO_REQUEST})


@dataclass(frozen=True, slots=True)
class DpopBindEnforcer(AutoConfigured):
    """Demands bound tokens: every token that is issued is bound, and no other is accepted.

    The endpoints verify the proof, and compare its key with the one that a token names.
    `binds_codes`: authorization requests name the key that the code is for.
    """

    provider: ClassVar = "dpop-bind-enforcer"
    binds_codes: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(
            configuration.flag("auto-configure"),
            configuration.flag("enforce-authorization-code-binding-to-dpop"),
        )

    def wanted(self) -> ClientSettings:
        return ClientSettings(attributes={"dpop.bound.access.tokens": "true"})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if proposed.tokens.dpop_bound:
            return None
        return PolicyRefusal(INVALID_METADATA, "Invalid client metadata: DPoP token is disabled")

    def check_authorization(self, request: AuthorizationRequested) -> None:
        if self.binds_codes and not request.parameters.get(_KEY):
            raise PolicyRefusal(INVALID_REQUEST, f"Missing parameter: {_KEY}")

    def check_request(self, request: ClientRequest) -> None:
        if request.kind not in _BOUND or request.presented is None:
            return
        if request.presented.get("typ") in _REFRESH_TOKENS and not request.client.public_client:
            # Bound to the client's authentication, not to a key. Spec: RFC 9449 §5
            return
        confirmation = request.presented.get("cnf")
        if not isinstance(confirmation, dict) or "jkt" not in confirmation:
            text = "DPoP proof and token binding verification failed"
            raise PolicyRefusal("invalid_token", text, HTTPStatus.UNAUTHORIZED)

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        del request
        return replace(client, tokens=replace(client.tokens, dpop_bound=True))
