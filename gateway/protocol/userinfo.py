"""Userinfo: the claims of the user who signed in, for the client of a token.

Spec: OpenID Connect Core §5.3, RFC 6750 §3, RFC 8705 §3; Keycloak: 12.3
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError, EventType
from gateway.protocol.certificate_binding import require_binding
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.errors import BearerChallenge, EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import OPENID, ClaimsContext, resolve_claims, still_granted
from gateway.protocol.tokens import AccessTokens, ActiveToken

_SCHEME = "bearer"


class UserinfoEndpoint:
    """Answers userinfo requests of every realm."""

    def __init__(self, access_tokens: AccessTokens) -> None:
        self._access_tokens = access_tokens

    async def answer(self, request: ProtocolRequest) -> tuple[ActiveToken, dict[str, Any]]:
        """Return the token and the claims.

        Raises BearerChallenge, OriginRefused or StoreUnavailable.
        """
        request.event.begin(EventType.USER_INFO_REQUEST)
        request.event.details[Detail.AUTH_METHOD] = "validate_access_token"
        token = bearer_token(request)
        if token is None:
            failure = EventFailure(EventError.INVALID_TOKEN, "Missing token")
            raise BearerChallenge(reason="no token", event=failure)
        active = await self._active(request, token)
        names = str(active.claims.get("scope", "")).split()
        if OPENID not in names:
            text, status = "Missing openid scope", HTTPStatus.FORBIDDEN
            failure = EventFailure(EventError.ACCESS_DENIED, text)
            raise BearerChallenge("insufficient_scope", text, status=status, event=failure)
        if "sub" not in active.claims:
            text = "Lightweight access token not allowed for userinfo endpoint"
            failure = EventFailure(EventError.INVALID_TOKEN, text)
            raise BearerChallenge("invalid_token", text, event=failure)
        request.page.require(active.client.client.allowed_origins)
        request.event.details[Detail.SIGNATURE_REQUIRED] = "false"
        request.event.details[Detail.USERNAME] = active.user.user.username
        return active, _claims(request, active)

    async def _active(self, request: ProtocolRequest, token: str) -> ActiveToken:
        try:
            claims = self._access_tokens.verify(request, token)
            _note(request, claims)
            active = await self._access_tokens.check(request, claims)
            require_binding(claims, request.certificate)
        except InvalidToken as error:
            reason = str(error) if error.event_error == EventError.INVALID_TOKEN else None
            raise _unverified(error, EventFailure(error.event_error, reason)) from error
        except OAuthError as error:
            raise _unverified(error, error.event) from error
        return active


def _note(request: ProtocolRequest, claims: Mapping[str, Any]) -> None:
    client_id, session_id = claims.get("azp"), claims.get("sid")
    request.event.client_id = client_id if isinstance(client_id, str) else None
    request.event.session_id = session_id if isinstance(session_id, str) else None


def _unverified(error: Exception, event: EventFailure | None) -> BearerChallenge:
    text = "Token verification failed"
    return BearerChallenge("invalid_token", text, reason=str(error), event=event)


def bearer_token(request: ProtocolRequest) -> str | None:
    """Return the token of the Authorization header, or of the form. Spec: RFC 6750 §2."""
    header = request.authorization or ""
    scheme, _, token = header.partition(" ")
    if scheme.lower() == _SCHEME and token.strip():
        return token.strip()
    return request.parameters.get("access_token")


def _claims(request: ProtocolRequest, active: ActiveToken) -> dict[str, Any]:
    names = str(active.claims["scope"]).split()
    granted = still_granted(request.realm, active.client.client, names)
    return userinfo_document(
        resolve_claims(active.client, active.user, granted, session=active.session)
    )


def userinfo_document(context: ClaimsContext) -> dict[str, Any]:
    """Return the claims of the subject."""
    mapped, subject = context.map_claims(ClaimsFor.USERINFO), context.subject
    members: dict[str, Any] = {"sub": subject.user.id}
    mapped.included(subject).add_to(members)
    return mapped.document(members)
