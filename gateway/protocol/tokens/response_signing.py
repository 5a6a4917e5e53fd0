"""Responses as JWTs: userinfo, and introspection responses.

Such a JWT never passes for a token: claims about the JWT itself (type, issuer, audience, expiry)
are taken from typed values, never from mappers. Spec: OpenID Connect Core §5.3.2, RFC 9701 §5, RFC
8725 §3.11; Keycloak 26.7: userinfo, and the member `jwt` of introspection
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.events import Detail
from gateway.domain.keys import HeaderType
from gateway.protocol.claims.protocol_claims import (
    ACCESS_TOKEN_TYPES,
    LAST_IN_INTROSPECTION,
    OWN_CLAIMS,
)
from gateway.protocol.claims.subject import subject_identifier
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.tokens.access_token_checks import ActiveToken
from gateway.protocol.tokens.signing import sign_access_token, sign_for_client

_ABOUT_THE_JWT: Final = OWN_CLAIMS | frozenset(
    {"exp", "iat", "nbf", "jti", "iss", "aud", "sub", "typ", "azp", "sid", "scope", "cnf"}
)
_OF_THE_SUBJECT: Final = frozenset({"aud", "sub"})
"""The claims that a lightweight token may leave to introspection."""
_ABOUT_THE_ANSWER: Final = frozenset({*LAST_IN_INTROSPECTION, "jwt"})


def sign_userinfo(
    request: ProtocolRequest, active: ActiveToken, claims: Mapping[str, Any]
) -> str | None:
    """Return userinfo as a JWT, None where the client chose no algorithm; raises OAuthError."""
    client = active.client.client
    chosen = client.signing.userinfo
    if chosen is None:
        return None
    subject = subject_identifier(client, active.user.user.id)
    typed = {"sub": subject, "iss": request.issuer, "aud": client.client_id}
    signed = sign_for_client(request, chosen, userinfo_claims(typed, claims))
    request.event.details |= {
        Detail.SIGNATURE_REQUIRED: "true",
        Detail.SIGNATURE_ALGORITHM: str(chosen),
    }
    return signed


def with_access_token_claims_as_jwt(
    request: ProtocolRequest, caller: Client, accept: str, answer: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the answer with the token's claims as `jwt`, where the caller may have it.

    That is for `Accept: application/jwt`, a client with the attribute, and an active access token:
    a refresh token would escape its rotation. Raises OAuthError.
    """
    if not caller.signing.introspection_jwt or accept.strip().lower() != "application/jwt":
        return answer
    if answer.get("token_type") not in ACCESS_TOKEN_TYPES:
        return answer
    token = request.realm.key_ring.verify_token(str(request.parameters.raw("token")), request.now)
    return {**answer, "jwt": sign_access_token(request, caller, access_token_claims(token, answer))}


def sign_introspection(
    request: ProtocolRequest, caller: Client, accept: str, answer: Mapping[str, Any]
) -> str | None:
    """Return the answer as a JWT if the Accept header asks; raises OAuthError. RFC 9701 §4, §5."""
    if HeaderType.INTROSPECTION not in _subtypes(accept):
        return None
    claims = {
        "iss": request.issuer,
        "aud": caller.client_id,
        "iat": int(request.now.timestamp()),
        "token_introspection": answer,
    }
    return sign_for_client(request, None, claims, HeaderType.INTROSPECTION)


def userinfo_claims(typed: Mapping[str, Any], claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims of signed userinfo: about the JWT itself only the typed ones."""
    return {**typed, **{name: claims[name] for name in claims if name not in _ABOUT_THE_JWT}}


def access_token_claims(token: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verified claims, with the claims about the user in the introspection answer.

    A lightweight token also gets the `sub` and `aud` that it lacks.
    """
    left_out = _ABOUT_THE_ANSWER | (_ABOUT_THE_JWT - _OF_THE_SUBJECT)
    claims = {name: answer[name] for name in answer if name not in left_out}
    return {**claims, **{name: token[name] for name in token if name in _ABOUT_THE_JWT}}


def _subtypes(accept: str) -> frozenset[str]:
    types = (part.partition(";")[0].strip().lower() for part in accept.split(","))
    return frozenset(
        name.removeprefix("application/") for name in types if name.startswith("application/")
    )
