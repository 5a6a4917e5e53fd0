"""Userinfo: what a token's client may know of the user who signed in.

Spec: OpenID Connect Core §5.3, RFC 6750 §3, RFC 8705 §3; Keycloak: 12.3
"""

from http import HTTPStatus
from typing import Any

from gateway.domain.errors import InvalidToken
from gateway.protocol.access_tokens import AccessTokens, ActiveToken
from gateway.protocol.certificate_binding import require_binding
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.client_scopes import OPENID, still_granted
from gateway.protocol.disclosure import disclose
from gateway.protocol.errors import BearerChallenge, OAuthError
from gateway.protocol.realm_checks import require_open_realm
from gateway.protocol.requests import ProtocolRequest

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
        return active, _claims(request, active)


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
    claims: dict[str, Any] = {"sub": active.user.user.id}
    told = disclose(active.client, active.user, granted, session=active.session)
    told.add_claims(claims, ClaimsFor.USERINFO)
    return claims
