"""dpop-bind-enforcer: tokens are bound to a key of the client by DPoP. Spec: RFC 9449 §5."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import ClassVar, Final

from gateway.client_policies.events import ClientRequest, EventKind
from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_METADATA, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client

_BOUND: Final = frozenset({EventKind.TOKEN_REVOKE, EventKind.USERINFO_REQUEST})


@dataclass(frozen=True, slots=True)
class DpopBindEnforcer(AutoConfigured):
    """Demands bound tokens: every token that is issued is bound, and no other is accepted.

    The endpoints verify the proof, and compare its key with the one that a token names.
    """

    provider: ClassVar = "dpop-bind-enforcer"

    def wanted(self) -> ClientSettings:
        return ClientSettings(attributes={"dpop.bound.access.tokens": "true"})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if proposed.tokens.dpop_bound:
            return None
        return PolicyRefusal(INVALID_METADATA, "Invalid client metadata: DPoP token in disabled")

    def check_request(self, request: ClientRequest) -> None:
        if request.kind not in _BOUND or request.presented is None:
            return
        confirmation = request.presented.get("cnf")
        if not isinstance(confirmation, dict) or "jkt" not in confirmation:
            text = "DPoP proof and token binding verification failed"
            raise PolicyRefusal("invalid_token", text, HTTPStatus.UNAUTHORIZED)

    def client_for_tokens(self, client: Client) -> Client:
        return replace(client, tokens=replace(client.tokens, dpop_bound=True))
