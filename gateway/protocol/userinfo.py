"""Userinfo: what a token's client may know of the user who signed in.

Spec: OpenID Connect Core §5.3, RFC 6750 §3, RFC 8705 §3; Keycloak: 12.3
"""

from http import HTTPStatus
from typing import Any

from gateway.domain.errors import InvalidToken
from gateway.domain.ports.directory import UserEntry
from gateway.protocol.access_tokens import AccessTokens, ActiveToken
from gateway.protocol.certificate_binding import require_binding
from gateway.protocol.claims import ClaimsFor
from gateway.protocol.client_scopes import OPENID, still_granted
from gateway.protocol.errors import BearerChallenge, OAuthError
from gateway.protocol.granted_claims import add_granted_claims
from gateway.protocol.realm_checks import require_open_realm
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.subjects import subject_of

_SCHEME = "bearer"


class UserinfoEndpoint:
    """Answers userinfo requests of every realm."""

    def __init__(self, access_tokens: AccessTokens) -> None:
        """Judge tokens by `access_tokens`."""
        self._access_tokens = access_tokens

    async def answer(self, request: ProtocolRequest) -> tuple[ActiveToken, dict[str, Any]]:
        """Return the token and the claims; raises BearerChallenge or StoreUnavailable."""
        require_open_realm(request)
        token = bearer_token(request)
        if token is None:
            raise BearerChallenge(reason="no token")
        try:
            active = await self._access_tokens.active(request, token)
            require_binding(active.claims, request.certificate)
        except (InvalidToken, OAuthError) as error:
            raise BearerChallenge(
                "invalid_token", "Token verification failed", reason=str(error)
            ) from error
        names = str(active.claims.get("scope", "")).split()
        if OPENID not in names:
            raise BearerChallenge(
                "insufficient_scope", "Missing openid scope", status=HTTPStatus.FORBIDDEN
            )
        if "sub" not in active.claims:
            raise BearerChallenge(
                "invalid_token", "Lightweight access token not allowed for userinfo endpoint"
            )
        return active, _claims(active, active.user)


def bearer_token(request: ProtocolRequest) -> str | None:
    """Return the token of the Authorization header, or of the form. Spec: RFC 6750 §2."""
    header = request.authorization or ""
    scheme, _, token = header.partition(" ")
    if scheme.lower() == _SCHEME and token.strip():
        return token.strip()
    return request.parameters.get("access_token")


def _claims(active: ActiveToken, user: UserEntry) -> dict[str, Any]:
    client = active.client.client
    subject = subject_of(client, user)
    claims: dict[str, Any] = {"sub": user.user.id}
    granted = still_granted(client, str(active.claims["scope"]).split())
    add_granted_claims(claims, granted, subject, ClaimsFor.USERINFO)
    return claims
