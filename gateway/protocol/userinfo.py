"""The claims of the user, for the client of a token. Spec: OpenID Connect Core §5.3."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from gateway.client_policies import EventKind
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError, EventType
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.devices import NO_DEVICE, known_device_claims
from gateway.protocol.errors import BearerChallenge, EventFailure, OAuthError, ProofRefused
from gateway.protocol.policy_checks import check_client
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import OPENID, ClaimsContext, resolve_claims, still_granted
from gateway.protocol.sender_constraint import TokenCredential, token_credential
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.tokens import (
    ActiveToken,
    encrypt_userinfo,
    sign_userinfo,
)


async def get_userinfo(
    services: ProtocolServices, request: ProtocolRequest
) -> tuple[ActiveToken, dict[str, Any] | str]:
    """Return token and claims, or a JWT; raises BearerChallenge, OriginRefused, OAuthError."""
    request.event.kind = EventType.USER_INFO_REQUEST
    request.event.details[Detail.AUTH_METHOD] = "validate_access_token"
    active = await _find_active(services, request, _only_token(request))
    if OPENID not in str(active.claims.get("scope", "")).split():
        text, status = "Missing openid scope", HTTPStatus.FORBIDDEN
        failure = EventFailure(EventError.ACCESS_DENIED, text)
        raise BearerChallenge("insufficient_scope", text, status=status, event=failure)
    if "sub" not in active.claims:
        text = "Lightweight access token not allowed for userinfo endpoint"
        failure = EventFailure(EventError.INVALID_TOKEN, text)
        raise BearerChallenge("invalid_token", text, event=failure)
    request.page.require(active.client.client.allowed_origins)
    active = _accepted_by_policies(request, active)
    request.event.details[Detail.SIGNATURE_REQUIRED] = "false"
    request.event.details[Detail.USERNAME] = active.user.user.username
    claims = _claims(request, active)
    signed = sign_userinfo(request, active, claims)
    encrypted = await encrypt_userinfo(services.encryption, active.client.client, claims, signed)
    return active, encrypted or signed or claims


async def _find_active(
    services: ProtocolServices, request: ProtocolRequest, credential: TokenCredential
) -> ActiveToken:
    try:
        claims = services.access_tokens.verify_token(request, credential.token)
        _note(request, claims)
        if not request.realm.realm.enabled:
            raise _session_not_found()
        active = await services.access_tokens.find_unrevoked(request, claims)
        await services.constraint.require(request, active.client.client, claims, credential)
    except InvalidToken as error:
        reason = str(error) if error.event_error == EventError.INVALID_TOKEN else None
        raise _unverified(error, EventFailure(error.event_error, reason)) from error
    except ProofRefused:
        raise
    except OAuthError as error:
        raise BearerChallenge(error.error, error.description, event=error.event) from error
    return active


def _accepted_by_policies(request: ProtocolRequest, active: ActiveToken) -> ActiveToken:
    try:
        kind, claims = EventKind.USERINFO_REQUEST, active.claims
        scopes = tuple(str(claims.get("scope", "")).split())
        entry = check_client(request, active.client, kind, presented=claims, scopes=scopes)
    except OAuthError as refusal:
        raise BearerChallenge(
            refusal.error, refusal.description, status=refusal.status, event=refusal.event
        ) from refusal
    return replace(active, client=entry)


def _note(request: ProtocolRequest, claims: Mapping[str, Any]) -> None:
    client_id, session_id = claims.get("azp"), claims.get("sid")
    request.event.client_id = client_id if isinstance(client_id, str) else None
    request.event.session_id = session_id if isinstance(session_id, str) else None


def _unverified(error: Exception, event: EventFailure | None) -> BearerChallenge:
    text = "Token verification failed"
    return BearerChallenge("invalid_token", text, reason=str(error), event=event)


def _session_not_found() -> BearerChallenge:
    """Return the refusal of a genuine token in a disabled realm. Keycloak: 12.3 userinfo (26.7)."""
    error = EventError.USER_SESSION_NOT_FOUND
    return BearerChallenge("invalid_token", error, event=EventFailure(error))


def _only_token(request: ProtocolRequest) -> TokenCredential:
    """Return the token of header or form; raises BearerChallenge. Spec: RFC 6750 §2, §3.1."""
    header = token_credential(request.authorization)
    form = request.parameters.raw("access_token")
    if header is not None and form is not None:
        raise _malformed("More than one method used for including an access token")
    if form is not None and request.parameters.repeated:
        raise _malformed("Duplicate parameter")
    if header is not None:
        return header
    if form is None:
        failure = EventFailure(EventError.INVALID_TOKEN, "Missing token")
        raise BearerChallenge(reason="no token", event=failure)
    return TokenCredential(form)


def _malformed(text: str) -> BearerChallenge:
    failure = EventFailure(EventError.INVALID_REQUEST, text)
    return BearerChallenge("invalid_request", text, status=HTTPStatus.BAD_REQUEST, event=failure)


def _claims(request: ProtocolRequest, active: ActiveToken) -> dict[str, Any]:
    names = str(active.claims["scope"]).split()
    granted = still_granted(request.realm, active.client.client, names)
    context = resolve_claims(active.client, active.user, granted, session=active.session)
    return userinfo_document(context, known_device_claims(active.client.client, active.claims))


def userinfo_document(
    context: ClaimsContext, device: Mapping[str, str] = NO_DEVICE
) -> dict[str, Any]:
    """Return the claims of the subject, and those of the device that the token is for."""
    mapped, subject = context.map_claims(ClaimsFor.USERINFO), context.subject
    members: dict[str, Any] = {"sub": subject.identifier}
    mapped.included(subject).add_to(members)
    members |= device
    return mapped.document(members)
