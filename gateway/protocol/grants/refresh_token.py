"""refresh_token: new tokens for a session that lasts. Spec: RFC 6749 §6; Keycloak: 1.7 refresh."""

import uuid
from http import HTTPStatus
from typing import Final

from gateway.client_policies import EventKind
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.client_keys import Encrypter
from gateway.domain.sessions import Rotation, UserSession
from gateway.protocol.claims.protocol_claims import exchanged_from, exchanged_tokens, roles_left_out
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import OAuthError, ProofRefused, refused
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, grant_scopes, resolve_claims, still_granted
from gateway.protocol.sender_constraint import SenderConstraint, binding_of
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.tokens import (
    Issue,
    PresentedToken,
    SessionPart,
    TokenResponse,
    id_token_encrypter,
    issue_tokens,
    note_refresh_token,
    read_refresh_token,
    session_is_over,
)

GRANT_TYPE: Final = "refresh_token"
_ROTATION_TEXTS: Final = {
    Rotation.REUSED: "Maximum allowed refresh token reuse exceeded",
    Rotation.STALE: "Stale token",
}


async def refresh_tokens(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient
) -> TokenResponse:
    """Issue new tokens, and move the idle timeouts of the session."""
    client = caller.entry.client
    text = request.parameters.raw("refresh_token")
    if text is None:
        raise OAuthError("invalid_request", "No refresh token")
    token = read_refresh_token(request, client, text)
    note_refresh_token(request.event, token)
    request.event.details[Detail.REFRESH_TOKEN_SUB] = str(token.claims.get("sub"))
    await _require_binding(services.constraint, request, client, token)
    entry = check_caller(
        request,
        caller,
        EventKind.TOKEN_REFRESH,
        presented=token.claims,
        scopes=token.scopes,
    )
    active = await services.refresh_tokens.active(request, caller.entry, token)
    session = active.session
    kept = still_granted(request.realm, client, token.scopes)
    granted = _narrowed(request, client, kept)
    if not await services.consents.holds(entry.client, active.user, kept):
        text = "Client no longer has requested consent from user"
        raise refused("invalid_scope", text, EventError.NOT_ALLOWED)
    encrypter = await _encrypter(services, client, kept)
    joined = await services.sessions.refresh(request.realm.realm, session, client, request.now)
    if joined is None:
        raise session_is_over(token)
    # Last: of many at once the first gets its tokens, though another ends the session after it.
    family, refresh_id = await _rotate(services, request, client, session, token)
    part = SessionPart(joined.session, joined.client_session, refresh_id, family)
    context = resolve_claims(entry, active.user, granted, session=joined.session)
    kept = kept.permitted_to(active.user.roles)
    issue = Issue(
        context if token.audiences is None else context.within(token.audiences),
        "rt",
        part,
        kept,
        id_token_encrypter=encrypter,
        audiences=token.audiences,
        left_out=roles_left_out(token.claims),
        exchanged_from=exchanged_from(token.claims),
        exchanged_tokens=exchanged_tokens(token.claims),
        binding=binding_of(token.claims),
    )
    tokens = issue_tokens(request, issue)
    _note(request, token, session, tokens, refresh_id)
    return tokens


async def _encrypter(
    services: ProtocolServices, client: Client, kept: GrantedScopes
) -> Encrypter | None:
    """Look the key up before the token is used up: the client can try again without one."""
    return await id_token_encrypter(services.encryption, client) if kept.openid else None


async def _rotate(
    services: ProtocolServices,
    request: ProtocolRequest,
    client: Client,
    session: UserSession,
    token: PresentedToken,
) -> tuple[str | None, str]:
    """Return family and successor's id; a token used out of turn ends the client's part."""
    successor = str(uuid.uuid4())
    rotation, family = await services.refresh_tokens.rotate(request, session, token, successor)
    if rotation is not Rotation.ACCEPTED:
        await services.sessions.detach_part(session, client)
        raise refused("invalid_grant", _ROTATION_TEXTS[rotation], EventError.INVALID_TOKEN)
    return family, successor


def _narrowed(request: ProtocolRequest, client: Client, kept: GrantedScopes) -> GrantedScopes:
    """Return the requested ones of the token's scopes; the next token has all (RFC 6749 §6)."""
    asked = request.parameters.raw("scope")
    if asked is None:
        return kept
    grant_scopes(request.realm, client, asked)
    wanted = set(asked.split(" "))
    return still_granted(request.realm, client, [name for name in kept.names if name in wanted])


async def _require_binding(
    constraint: SenderConstraint, request: ProtocolRequest, client: Client, token: PresentedToken
) -> None:
    try:
        await constraint.require_of_refreshed(request, client, token.claims)
    except ProofRefused as error:
        raise OAuthError("invalid_grant", error.description, event=error.event) from error
    except OAuthError as error:
        raise OAuthError(
            "unauthorized_client",
            error.description,
            status=HTTPStatus.UNAUTHORIZED,
            event=error.event,
        ) from error


def _note(
    request: ProtocolRequest,
    token: PresentedToken,
    session: UserSession,
    tokens: TokenResponse,
    refresh_id: str,
) -> None:
    event = request.event
    event.user_id = session.user_id
    age = int(request.now.timestamp()) - int(token.claims["iat"])
    event.details[Detail.AGE_OF_REFRESH_TOKEN] = str(age)
    event.details[Detail.ACCESS_TOKEN_EXPIRATION_TIME] = str(tokens.expires_in)
    if tokens.refresh_token is not None:
        event.details[Detail.UPDATED_REFRESH_TOKEN_ID] = refresh_id
