"""A client ends its own token before its time. Spec: RFC 7009 §2; Keycloak: 12.5 revocation."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from gateway.client_policies import EventKind
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.realm import Realm
from gateway.domain.sessions import longest_session
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import OAuthError, duplicated_parameter, refused
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.tokens import (
    OtherKindOfToken,
    note_refresh_token,
    verify_refresh_token,
)


async def revoke_token(
    services: ProtocolServices, request: ProtocolRequest
) -> tuple[AuthenticatedClient, OAuthError | None]:
    """Revoke durably before returning; return the caller, and the error of an invalid token.

    An invalid token is no failure: the answer has status 200. Raises OAuthError, StoreUnavailable.
    """
    request.event.kind = EventType.REVOKE_GRANT
    caller = await services.clients.authenticate(request)
    if request.parameters.repeated:
        raise duplicated_parameter()
    token = request.parameters.raw("token")
    if token is None:
        raise refused("invalid_request", "Token not provided", EventError.INVALID_REQUEST)
    try:
        await _revoke_any_token(services, request, caller, token)
    except InvalidToken as error:
        request.event.error = error.event_error
        return caller, OAuthError("invalid_token", "Invalid token", reason=str(error))
    return caller, None


async def _revoke_any_token(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient, token: str
) -> None:
    """Find out what kind of token it is: the caller's hint need not be right."""
    try:
        claims = services.access_tokens.verify_token(request, token)
    except OtherKindOfToken as error:
        text = "Unsupported token type"
        raise refused("unsupported_token_type", text, EventError.INVALID_TOKEN_TYPE) from error
    except InvalidToken as error:
        await _revoke_refresh_token(services, request, caller, token, error)
        return
    await _require_own(services, request, caller, claims)
    request.event.user_id = _text(claims.get("sub"))
    request.event.details[Detail.TOKEN_ID] = str(claims["jti"])
    realm = request.realm.realm
    async with services.database.write() as stores:
        await stores.revocations.revoke(
            realm.id, str(claims["jti"]), _kept_until(realm, claims, request.now)
        )


async def _revoke_refresh_token(
    services: ProtocolServices,
    request: ProtocolRequest,
    caller: AuthenticatedClient,
    text: str,
    other: InvalidToken,
) -> None:
    """End the client's part in the token's session, the session with its last client."""
    client = caller.entry.client
    try:
        token = verify_refresh_token(request, text)
    except OAuthError as error:
        raise InvalidToken(f"{other}; {error.reason}") from error
    await _require_own(services, request, caller, token.claims)
    try:
        session = await services.refresh_tokens.session_to_leave(request, caller.entry, token)
    except OAuthError as error:
        raise InvalidToken(str(error.reason), EventError.USER_SESSION_NOT_FOUND) from error
    request.event.user_id = session.user_id
    note_refresh_token(request.event, token)
    request.event.details[Detail.REVOKED_CLIENT] = client.client_id
    await services.sessions.revoke_part(session, client)


async def _require_own(
    services: ProtocolServices,
    request: ProtocolRequest,
    caller: AuthenticatedClient,
    claims: Mapping[str, Any],
) -> None:
    client = caller.entry.client
    if claims.get("azp") != client.client_id:
        raise refused("invalid_request", "Unmatching clients", EventError.INVALID_REQUEST)
    await services.constraint.require_of_parameter(request, client, claims)
    check_caller(request, caller, EventKind.TOKEN_REVOKE, presented=claims)


def _kept_until(realm: Realm, claims: Mapping[str, Any], now: datetime) -> datetime:
    """Return the end of session or token, until when exchanged tokens may live."""
    expires_at = datetime.fromtimestamp(float(claims["exp"]), UTC)
    if "sid" not in claims:
        return expires_at
    return max(expires_at, now + longest_session(realm.session_limits))


def _text(claim: Any) -> str | None:
    return claim if isinstance(claim, str) else None
