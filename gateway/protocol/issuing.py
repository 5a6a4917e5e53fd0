"""Issuing access tokens: claims, lifetime, signature.

Spec: RFC 9068 §2.2 (claims), RFC 8705 §3.1 (cnf); Keycloak: 2.1 to 2.3
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.keys import SignatureAlgorithm
from gateway.domain.realm import Realm
from gateway.protocol.certificate_binding import confirmation_claim
from gateway.protocol.claims import add_mapped_claims
from gateway.protocol.claims.subject import TokenSubject
from gateway.protocol.client_scopes import GrantedScopes
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import ProtocolRequest

ACCESS_TOKEN_LIFESPAN: Final = "access.token.lifespan"  # noqa: S105 - an attribute's name
SIGNED_RESPONSE_ALG: Final = "access.token.signed.response.alg"
LOWER_CASE_BEARER: Final = "token.response.type.bearer.lower-case"
_SSO_MAX_LIFESPAN: Final = timedelta(seconds=36000)
"""Where the realm says 0. Keycloak: 3.1"""


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """A successful answer of the token endpoint. `expires_in` is in seconds."""

    access_token: str = field(repr=False)
    token_id: str
    expires_in: int
    token_type: str
    not_before: int
    scope: str

    def document(self) -> dict[str, Any]:
        """Return the response's members in Keycloak's order."""
        return {
            "access_token": self.access_token,
            "expires_in": self.expires_in,
            "refresh_expires_in": 0,
            "token_type": self.token_type,
            "not-before-policy": self.not_before,
            "scope": self.scope,
        }


def issue_access_token(
    request: ProtocolRequest, subject: TokenSubject, granted: GrantedScopes, context: str
) -> TokenResponse:
    """Sign an access token for `subject`; `context` is the jti's prefix, as `trrtcc`.

    Raises OAuthError when the client wants a bound token and shows no certificate, or an
    algorithm for which the realm has no key.
    """
    client = subject.client
    confirmation = confirmation_claim(client, request.certificate)
    issued_at = int(request.now.timestamp())
    expires_at = int((request.now + access_token_lifespan(request.realm.realm, client)).timestamp())
    claims: dict[str, Any] = {
        "exp": expires_at,
        "iat": issued_at,
        "jti": f"{context}:{uuid.uuid4()}",
        "iss": request.issuer,
        "typ": "Bearer",
        "azp": client.client_id,
    }
    for scope in granted.scopes:
        add_mapped_claims(claims, scope.mappers, subject)
    add_mapped_claims(claims, client.protocol_mappers, subject)
    claims["scope"] = granted.text
    if confirmation is not None:
        claims["cnf"] = confirmation
    return TokenResponse(
        access_token=_sign(request, client, claims, request.now),
        token_id=claims["jti"],
        expires_in=expires_at - issued_at,
        token_type=_token_type(client),
        not_before=max(request.realm.realm.not_before, client.not_before),
        scope=granted.text,
    )


def access_token_lifespan(realm: Realm, client: Client) -> timedelta:
    """Return the client's own lifespan or else the realm's, within the session's maximum.

    -1 asks for the session's maximum itself.
    """
    own = client.attributes.get(ACCESS_TOKEN_LIFESPAN, "")
    lifespan = (
        timedelta(seconds=int(own))
        if own.lstrip("-").isdecimal()
        else realm.token_lifespans.access_token
    )
    longest = _longest(realm)
    return longest if lifespan < timedelta(0) else min(lifespan, longest)


def _longest(realm: Realm) -> timedelta:
    limits = realm.session_limits
    session = limits.max_lifespan if limits.max_lifespan > timedelta(0) else _SSO_MAX_LIFESPAN
    own = limits.client_max_lifespan
    return min(own, session) if own > timedelta(0) else session


def _sign(
    request: ProtocolRequest, client: Client, claims: Mapping[str, Any], now: datetime
) -> str:
    chosen = client.attributes.get(SIGNED_RESPONSE_ALG)
    try:
        algorithm = (
            SignatureAlgorithm(chosen)
            if chosen
            else request.realm.realm.default_signature_algorithm
        )
        return request.realm.key_ring.sign(claims, algorithm, now)
    except (ValueError, LookupError) as error:
        raise OAuthError(
            "invalid_request",
            f"The realm has no active key for {chosen or 'its default algorithm'}",
        ) from error


def _token_type(client: Client) -> str:
    lower = client.attributes.get(LOWER_CASE_BEARER, "").lower() == "true"
    return "bearer" if lower else "Bearer"
