"""The token endpoint: the checks that every grant shares, in Keycloak's order.

grant_type -> client authentication -> repeated parameters -> client policies -> DPoP proof -> the
grant itself. A grant that Keycloak has and the gateway does not support passes the same checks and
is refused. Spec: RFC 6749 §3.2, §5.2, RFC 9449 §5; Keycloak: 1.1 order of checks (26.7)
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gateway.domain.events import Detail, EventType
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import OAuthError, duplicated_parameter
from gateway.protocol.grants import GRANTS, Grant
from gateway.protocol.policy_checks import check_caller, realm_policies
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.tokens import TokenResponse

_EXTENSION: Final = "urn:ietf:params:oauth:grant-type"


def unsupported_grant() -> OAuthError:
    """Return the refusal of a grant that is not supported."""
    return OAuthError("unsupported_grant_type", "Unsupported grant_type")


async def _refuse_grant(*_: object) -> TokenResponse:
    raise unsupported_grant()


_GRANTS: Final[Mapping[str, Grant]] = {
    **GRANTS,
    f"{_EXTENSION}:jwt-bearer": Grant(EventType.JWT_AUTHORIZATION_GRANT, None, _refuse_grant),
    f"{_EXTENSION}:uma-ticket": Grant(EventType.PERMISSION_TOKEN, None, _refuse_grant),
    "urn:openid:params:grant-type:ciba": Grant(EventType.AUTHREQID_TO_TOKEN, None, _refuse_grant),
}
"""By `grant_type`, with those of Keycloak that are not supported.

Their requests pass the shared checks, so a client that fails to authenticate gets 401.
"""
_ASKS_TO_GO_ON: Final = frozenset({"use_dpop_nonce", "authorization_pending"})
"""Errors after which the client repeats its request. Spec: RFC 9449 §8, RFC 8628 §3.5"""


async def issue_token(
    services: ProtocolServices, request: ProtocolRequest
) -> tuple[AuthenticatedClient, TokenResponse]:
    """Return the caller and its tokens; raises OAuthError or StoreUnavailable."""
    grant_type = request.parameters.raw("grant_type")
    grant = None if grant_type is None else _GRANTS.get(grant_type)
    if grant_type is None or grant is None:
        request.page.withhold()
        if grant_type is None:
            raise OAuthError("invalid_request", "Missing form parameter: grant_type")
        raise unsupported_grant()
    request.event.kind = grant.event
    request.event.details[Detail.GRANT_TYPE] = grant_type
    caller = await services.clients.authenticate(request)
    repeated = request.parameters.repeated_names
    if repeated and not repeated <= grant.repeatable:
        raise duplicated_parameter()
    if caller.certificate is not request.certificate:
        # By the client's own anchors: quota, lock and claims of its devices follow from it.
        request = replace(request, certificate=caller.certificate)
    tokens = await _issue_within_quota(services, grant, request, caller)
    request.event.details[Detail.TOKEN_ID] = tokens.token_id
    request.event.details[Detail.SCOPE] = tokens.scope
    return caller, tokens


async def _issue_within_quota(
    services: ProtocolServices, grant: Grant, request: ProtocolRequest, caller: AuthenticatedClient
) -> TokenResponse:
    """Return the tokens within the quota of the client's device; count a refusal for it."""
    client = caller.entry.client
    try:
        if client.devices.template is not None:
            await services.devices.require_within_quota(request, client)
        if grant.policy_event is not None and realm_policies(request.realm):
            scopes = tuple((request.parameters.raw("scope") or "").split(" "))
            entry = check_caller(request, caller, grant.policy_event, scopes=scopes)
            caller = replace(caller, entry=entry)
        request = await services.constraint.with_proved_key(request, caller.entry.client)
        return await grant.issue(services, request, caller)
    except OAuthError as error:
        if error.error not in _ASKS_TO_GO_ON:
            await services.devices.record_refusal(request, client)
        raise
