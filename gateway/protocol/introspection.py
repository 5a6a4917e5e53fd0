"""Token introspection, for the clients that a token concerns.

An access token is described to a caller that its audience names. The client it was issued to must
also present what it is bound to; a resource server in the audience gets `cnf` and compares it with
the certificate, or with the key of the DPoP proof, of its own caller. An ID token is described in
the same way, with the `token_type` ID. A refresh token is described only to its own client, with
the hint that it is one. Spec: RFC 7662 §2, RFC 8705 §3.2; Keycloak: 12.4 introspection (26.7)
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.client_policies import EventKind
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError, EventType
from gateway.protocol.claims.mapper import ClaimsFor, MappedClaims
from gateway.protocol.claims.protocol_claims import (
    CLIENT_ID,
    LAST_IN_INTROSPECTION,
    RESERVED_IN_INTROSPECTION,
    audience_claim,
    audiences_of,
    only_for,
    present,
)
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.devices import known_device_claims
from gateway.protocol.errors import (
    ClientAuthenticationFailed,
    OAuthError,
    refused,
)
from gateway.protocol.policy_checks import check_caller, client_of_claims
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import ClaimsContext, resolve_claims, still_granted
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.tokens import read_refresh_token

INACTIVE: Final[dict[str, Any]] = {"active": False}
_REFRESH_TOKEN: Final = "refresh_token"  # noqa: S105 - a kind of token, not one
_FOR: Final = "Introspection access token for"


async def introspect_token(
    services: ProtocolServices, request: ProtocolRequest
) -> tuple[AuthenticatedClient, dict[str, Any]]:
    """Return the caller and the answer; raises OAuthError or StoreUnavailable."""
    request.event.kind = EventType.INTROSPECT_TOKEN
    caller = await _authenticate(services, request)
    if request.parameters.repeated:
        raise _refused("duplicated parameter")
    check_caller(request, caller, EventKind.TOKEN_INTROSPECT)
    token = request.parameters.raw("token")
    if token is None:
        raise _refused("Token not provided.")
    # Of an unknown kind, such as Keycloak's requesting_party_token, it may be an access token:
    # RFC 7662 §2.1.
    if request.parameters.raw("token_type_hint") == _REFRESH_TOKEN:
        return caller, await _describe_refresh_token(services, request, caller, token)
    return caller, await _describe(services, request, caller, token)


async def _authenticate(
    services: ProtocolServices, request: ProtocolRequest
) -> AuthenticatedClient:
    """Give a wrong secret the text of this endpoint."""
    try:
        return await services.clients.authenticate_confidential(request)
    except ClientAuthenticationFailed as failure:
        if failure.error == "unauthorized_client":
            raise ClientAuthenticationFailed(
                "invalid_client", "Client authentication failed.", reason=str(failure.reason)
            ) from failure
        raise


async def _describe(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient, token: str
) -> dict[str, Any]:
    caller_id = caller.entry.client.client_id
    try:
        genuine = services.access_tokens.verify_token(request, token, or_id_token=True)
    except InvalidToken as refusal:
        return _inactive(request, refusal.event_error, "Access token JWT check failed")
    _note(request, genuine)
    try:
        active = await services.access_tokens.find_unrevoked(request, genuine)
    except InvalidToken as refusal:
        return _inactive(request, refusal.event_error, f"{_FOR} {caller_id} client: {refusal}")
    names = str(active.claims.get("scope", "")).split()
    granted = still_granted(request.realm, active.client.client, names)
    client = client_of_claims(request, active.client, tuple(names))
    context = resolve_claims(client, active.user, granted, session=active.session)
    mapped, wanted = context.map_claims(ClaimsFor.INTROSPECTION), only_for(active.claims)
    if wanted is not None:
        mapped.audiences = tuple(name for name in mapped.audiences if name in wanted)
    audiences = audiences_of(active.claims)
    if active.context.lightweight:
        audiences = (*audiences, *mapped.audiences)
    if caller_id not in audiences:
        text = f"Client '{caller_id}' is not in the token audience"
        return _inactive(request, EventError.INVALID_TOKEN, text)
    if caller_id == active.claims.get("azp"):
        owner = active.client.client
        await services.constraint.require_of_parameter(request, owner, active.claims)
    return introspection_document(active.claims, context, mapped, str(active.claims["typ"]))


async def _describe_refresh_token(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient, text: str
) -> dict[str, Any]:
    """Return the claims that the caller's own refresh token would renew."""
    client = caller.entry.client
    try:
        token = read_refresh_token(request, client, text)
        _note(request, token.claims)
        active = await services.refresh_tokens.active(request, caller.entry, token)
    except OAuthError as refusal:
        return _inactive(request, EventError.INVALID_TOKEN, str(refusal.description))
    request.event.user_id = active.session.user_id
    await services.constraint.require_of_parameter(request, client, token.claims)
    if not await services.refresh_tokens.is_next(request, token):
        return _inactive(request, EventError.INVALID_TOKEN, "Stale token")
    granted = still_granted(request.realm, client, token.scopes)
    entry = client_of_claims(request, caller.entry, token.scopes)
    context = resolve_claims(entry, active.user, granted, session=active.session)
    mapped = context.map_claims(ClaimsFor.INTROSPECTION)
    return introspection_document(token.claims, context, mapped, str(token.claims["typ"]))


def _inactive(request: ProtocolRequest, error: str, reason: str) -> dict[str, Any]:
    request.event.error = error
    request.event.details[Detail.REASON] = reason
    return INACTIVE


def _note(request: ProtocolRequest, claims: Mapping[str, Any]) -> None:
    session_id = claims.get("sid")
    request.event.session_id = session_id if isinstance(session_id, str) else None
    request.event.details |= {
        Detail.TOKEN_ISSUED_FOR: str(claims.get("azp")),
        Detail.TOKEN_ID: str(claims.get("jti")),
        Detail.TOKEN_TYPE: str(claims["typ"]),
    }


def _refused(description: str) -> OAuthError:
    return refused("invalid_request", description, EventError.INVALID_REQUEST, detail=Detail.DETAIL)


def introspection_document(
    token: Mapping[str, Any], context: ClaimsContext, mapped: MappedClaims, token_type: str
) -> dict[str, Any]:
    """Return the claims of a genuine token, and what mappers add to it now."""
    subject, included = context.subject, mapped.included(context.subject)
    audiences = tuple(dict.fromkeys((*audiences_of(token), *mapped.audiences)))
    members = {
        "exp": token.get("exp"),
        "iat": token.get("iat"),
        "jti": token.get("jti"),
        "iss": token.get("iss"),
        "aud": audience_claim(audiences),
        "sub": subject.identifier if "sub" in token or "sub" in mapped.decided else None,
        "typ": token.get("typ"),
        "azp": token.get("azp"),
        "sid": token.get("sid"),
        "scope": token.get("scope"),
        "cnf": token.get("cnf"),
    }
    members = present(members) | known_device_claims(subject.client, token)
    included.add_to(members)
    members[CLIENT_ID] = subject.client.client_id
    members["username"] = subject.user.username
    members["token_type"] = token_type
    members["active"] = True
    return mapped.document(members, RESERVED_IN_INTROSPECTION, LAST_IN_INTROSPECTION)
