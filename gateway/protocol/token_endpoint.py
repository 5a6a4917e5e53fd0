"""The token endpoint: the checks that every grant shares, in Keycloak's order.

grant_type -> client authentication -> repeated parameters -> client policies -> DPoP proof -> the
grant itself. A grant that Keycloak has and the gateway does not support passes the same checks and
is refused. Spec: RFC 6749 §3.2, §5.2, RFC 9449 §5; Keycloak: 1.1 order of checks (26.7)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from gateway.client_policies import EventKind
from gateway.domain.events import Detail, EventType
from gateway.protocol.client_authentication import AuthenticatedClient, ClientAuthenticator
from gateway.protocol.devices import Devices
from gateway.protocol.errors import OAuthError, duplicated_parameter
from gateway.protocol.grants import GRANTS, REPEATABLE, Grant
from gateway.protocol.policy_checks import check_caller, realm_policies
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.session_tokens import GrantServices
from gateway.protocol.tokens import TokenResponse

_EXTENSION: Final = "urn:ietf:params:oauth:grant-type"


@dataclass(frozen=True, slots=True)
class UnsupportedGrant:
    """Refuses every request; `event` is what Keycloak calls its use.

    Their requests pass the checks that all grants share, so that a client that fails to
    authenticate is answered with 401. Spec: RFC 6749 §5.2; Keycloak: 1.1 order of checks (26.7)

    Keycloak that the gateway does not support.
    """

    event: EventType
    policy_event: EventKind | None = None

    async def __call__(
        self,
        request: ProtocolRequest,  # noqa: ARG002
        caller: AuthenticatedClient,  # noqa: ARG002
    ) -> TokenResponse:
        raise unsupported_grant()


UNSUPPORTED_GRANTS: Final[Mapping[str, UnsupportedGrant]] = {
    f"{_EXTENSION}:jwt-bearer": UnsupportedGrant(EventType.JWT_AUTHORIZATION_GRANT),
    f"{_EXTENSION}:uma-ticket": UnsupportedGrant(EventType.PERMISSION_TOKEN),
    "urn:openid:params:grant-type:ciba": UnsupportedGrant(EventType.AUTHREQID_TO_TOKEN),
}
"""By grant_type."""


def unsupported_grant() -> OAuthError:
    """Return the refusal of a grant that is not supported."""
    return OAuthError("unsupported_grant_type", "Unsupported grant_type")


_ASKS_TO_GO_ON: Final = frozenset({"use_dpop_nonce", "authorization_pending"})
"""Errors that belong to a conversation that goes well. Spec: RFC 9449 §8, RFC 8628 §3.5"""


class TokenEndpoint:
    """Answers token requests of every realm."""

    def __init__(
        self, services: GrantServices, clients: ClientAuthenticator, devices: Devices
    ) -> None:
        self._clients = clients
        self._constraint = services.constraint
        self._devices = devices
        self._grants: Mapping[str, Grant] = {
            **UNSUPPORTED_GRANTS,
            **{name: make(services) for name, make in GRANTS.items()},
        }

    async def answer(self, request: ProtocolRequest) -> tuple[AuthenticatedClient, TokenResponse]:
        """Return who asked and the tokens; raises OAuthError or StoreUnavailable."""
        grant_type = request.parameters.raw("grant_type")
        grant = None if grant_type is None else self._grants.get(grant_type)
        if grant_type is None or grant is None:
            request.page.withhold()
            if grant_type is None:
                raise OAuthError("invalid_request", "Missing form parameter: grant_type")
            raise unsupported_grant()
        request.event.kind = grant.event
        request.event.details[Detail.GRANT_TYPE] = grant_type
        caller = await self._clients.authenticate(request)
        repeated = request.parameters.repeated_names
        if repeated and not repeated <= REPEATABLE.get(grant_type, frozenset()):
            raise duplicated_parameter()
        if caller.certificate is not request.certificate:
            # By the client's own anchors: quota, lock and claims of its devices follow from it.
            request = replace(request, certificate=caller.certificate)
        tokens = await self._granted(grant, request, caller)
        request.event.details[Detail.TOKEN_ID] = tokens.token_id
        request.event.details[Detail.SCOPE] = tokens.scope
        return caller, tokens

    async def _granted(
        self, grant: Grant, request: ProtocolRequest, caller: AuthenticatedClient
    ) -> TokenResponse:
        """Return the tokens within the quota of the client's device; count a refusal for it."""
        client = caller.entry.client
        try:
            if client.devices.template is not None:
                await self._devices.require_within_quota(request, client)
            if grant.policy_event is not None and realm_policies(request.realm):
                scopes = tuple((request.parameters.raw("scope") or "").split(" "))
                entry = check_caller(request, caller, grant.policy_event, scopes=scopes)
                caller = replace(caller, entry=entry)
            request = await self._constraint.with_proved_key(request, caller.entry.client)
            return await grant(request, caller)
        except OAuthError as error:
            if error.error not in _ASKS_TO_GO_ON:
                await self._devices.record_refusal(request, client)
            raise
