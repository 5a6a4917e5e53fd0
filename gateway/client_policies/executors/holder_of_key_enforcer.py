"""holder-of-key-enforcer: tokens are bound to the certificate of the client. Spec: RFC 8705 §3."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import ClassVar, Final

from gateway.client_policies.events import ClientRequest, EventKind
from gateway.client_policies.executors.auto_configured import AutoConfigured
from gateway.client_policies.refusal import INVALID_METADATA, PolicyRefusal
from gateway.client_policies.settings import ClientSettings
from gateway.domain.clients import Client

_BOUND: Final = frozenset(
    {EventKind.TOKEN_REFRESH, EventKind.TOKEN_REVOKE, EventKind.USERINFO_REQUEST}
    | {EventKind.LOGOUT_REQUEST}
)
_UNBOUND: Final = "Client certificate missing, or its thumbprint and one in the token did NOT match"


@dataclass(frozen=True, slots=True)
class HolderOfKeyEnforcer(AutoConfigured):
    """Demands bound tokens: every token that is issued is bound, and no other is accepted.

    The endpoints compare the certificate with the one that a token names.
    """

    provider: ClassVar = "holder-of-key-enforcer"

    def wanted(self) -> ClientSettings:
        return ClientSettings(attributes={"tls.client.certificate.bound.access.tokens": "true"})

    def refusal(self, proposed: Client) -> PolicyRefusal | None:
        if proposed.tokens.certificate_bound:
            return None
        return PolicyRefusal(INVALID_METADATA, "Invalid client metadata: MTLS token in disabled")

    def check_request(self, request: ClientRequest) -> None:
        if request.kind not in _BOUND or request.presented is None:
            return
        confirmation = request.presented.get("cnf")
        if not isinstance(confirmation, dict) or "x5t#S256" not in confirmation:
            raise _unbound(request.kind)

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        del request
        return replace(client, tokens=replace(client.tokens, certificate_bound=True))


def _unbound(kind: EventKind) -> PolicyRefusal:
    if kind is EventKind.TOKEN_REFRESH:
        return PolicyRefusal("invalid_grant", _UNBOUND)
    # Of a challenge the codes are defined. Spec: RFC 6750 §3.1
    code = "invalid_token" if kind is EventKind.USERINFO_REQUEST else "not_allowed"
    return PolicyRefusal(code, _UNBOUND, HTTPStatus.UNAUTHORIZED)
