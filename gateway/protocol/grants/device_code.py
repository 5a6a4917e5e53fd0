"""The device grant: a device polls with its code until its user has answered."""

from collections.abc import Mapping
from typing import Final

from gateway.authentication.validity import IssuedCredential, SessionName, own_generation
from gateway.client_policies import EventKind
from gateway.domain.authorization_codes import (
    DeviceApproval,
    DeviceAuthorization,
    DevicePoll,
    DeviceStatus,
)
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.lookups import ClientEntry
from gateway.protocol.authorization.pkce import require_verifier
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.code_redemption import (
    PastSignIn,
    find_past_sign_in,
    join_past_sign_in,
    remaining_scopes,
)
from gateway.protocol.errors import EventFailure, OAuthError, refused
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sender_constraint import presents_certificate
from gateway.protocol.session_tokens import ProtocolServices, issue_in_session
from gateway.protocol.sessions import Participation
from gateway.protocol.tokens import TokenResponse, id_token_encrypter

GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:device_code"
_INVALID_CODE: Final = EventFailure(EventError.INVALID_OAUTH2_DEVICE_CODE)
_NO_POLL: Final = DevicePoll(DeviceStatus.UNKNOWN)
_OTHER_CLIENT: Final = "unauthorized client"
_DENIED_BY_USER: Final = "The end user denied the authorization request"
_REFUSALS: Final[Mapping[DeviceStatus, tuple[str, str, EventFailure | None]]] = {
    DeviceStatus.UNKNOWN: ("invalid_grant", "Device code not valid", _INVALID_CODE),
    DeviceStatus.EXPIRED: (
        "expired_token",
        "Device code is expired",
        EventFailure(EventError.EXPIRED_OAUTH2_DEVICE_CODE),
    ),
    DeviceStatus.OTHER_CLIENT: (
        "invalid_grant",
        _OTHER_CLIENT,
        EventFailure(EventError.INVALID_OAUTH2_DEVICE_CODE, _OTHER_CLIENT),
    ),
    DeviceStatus.TOO_FAST: ("slow_down", "Slow down", EventFailure(EventError.SLOW_DOWN)),
    DeviceStatus.DENIED: (
        "access_denied",
        _DENIED_BY_USER,
        EventFailure(EventError.ACCESS_DENIED, _DENIED_BY_USER),
    ),
    DeviceStatus.PENDING: (
        "authorization_pending",
        "The authorization request is still pending",
        None,
    ),
}
"""Status -> error, description and event; a pending request is not recorded."""


async def issue_to_device(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient
) -> TokenResponse:
    """Issue the tokens of a sign-in that a user completed for a device, and spend its code.

    Spec: RFC 8628 §3.4, §3.5; Keycloak: 1.8 device grant
    """
    client, realm = caller.entry.client, request.realm.realm
    entry, asked, approval = await _approved(services, request, caller)
    found = await _sign_in(services, request, caller.entry, approval)
    require_verifier(
        request.parameters.raw("code_verifier"),
        asked.code_challenge,
        asked.code_challenge_method,
        enforced=bool(client.authorization.code_challenge_method),
    )
    if not presents_certificate(request.certificate, asked.certificate):
        raise _refusal(DeviceStatus.UNKNOWN)
    granted = await remaining_scopes(services, request, client, found.user, asked.scope)
    encrypter = await id_token_encrypter(services.encryption, client) if granted.openid else None
    if not await services.device_authorizations.redeem(realm.id, asked.device_code):
        raise _refusal(DeviceStatus.UNKNOWN)
    participation = Participation(" ".join(granted.names), approval.acr, approval.authenticated_at)
    return await issue_in_session(
        services,
        request,
        entry,
        found.user,
        granted,
        joined=await join_past_sign_in(
            services, request, client, found, participation, offline=granted.offline
        ),
        grant="dg",
        encrypter=encrypter,
        nonce=asked.nonce,
    )


async def _approved(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient
) -> tuple[ClientEntry, DeviceAuthorization, DeviceApproval]:
    """Return the approval with the client as policies leave it, which judge each poll."""
    client = caller.entry.client
    if not client.device_grant.enabled:
        text = "Client not allowed OAuth 2.0 Device Authorization Grant"
        raise refused("invalid_grant", text, EventError.NOT_ALLOWED)
    code = request.parameters.raw("device_code")
    poll = _NO_POLL
    if code is not None:
        poll = await services.device_authorizations.poll(request.realm.realm.id, code, client.id)
    scope = "" if poll.authorization is None else poll.authorization.scope
    kind, scopes = EventKind.DEVICE_TOKEN_REQUEST, tuple(scope.split())
    entry = check_caller(request, caller, kind, scopes=scopes)
    if code is None:
        text = "Missing parameter: device_code"
        raise refused("invalid_request", text, EventError.INVALID_OAUTH2_DEVICE_CODE)
    if poll.authorization is None or poll.approval is None:
        raise _refusal(poll.status)
    return entry, poll.authorization, poll.approval


async def _sign_in(
    services: ProtocolServices,
    request: ProtocolRequest,
    client: ClientEntry,
    approval: DeviceApproval,
) -> PastSignIn:
    """Return the sign-in of the approval; user and session must be valid now."""
    request.event.session_id = approval.session_id
    request.event.details[Detail.CODE_ID] = approval.session_id
    issued = IssuedCredential(
        issued_at=int(approval.approved_at.timestamp()),
        client=client,
        session=SessionName(approval.session_id),
        user_id=approval.user_id,
        generations=own_generation(client.client.id, approval.generation),
        begins_sign_in=True,
    )
    over = refused("invalid_grant", "Session not active", EventError.USER_SESSION_NOT_FOUND)
    return await find_past_sign_in(
        services, request, issued, ended=over, revoked=_refusal(DeviceStatus.UNKNOWN)
    )


def _refusal(status: DeviceStatus) -> OAuthError:
    error, description, failure = _REFUSALS[status]
    return OAuthError(error, description, event=failure)
