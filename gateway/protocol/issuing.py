"""Issuing tokens: access, ID and refresh tokens of one answer.

Spec: RFC 9068 §2.2 (claims), RFC 8705 §3.1 (cnf), OpenID Connect Core §2; Keycloak: 2.1 to 2.3
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.domain.realm import Realm
from gateway.domain.sessions import ClientSession, UserSession
from gateway.protocol.certificate_binding import confirmation_claim
from gateway.protocol.claims.audiences import audiences_of
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.claims.subject import TokenSubject
from gateway.protocol.disclosure import Disclosure
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.session_limits import (
    access_tokens_end_at,
    client_session_ends_at,
    longest_client_session,
)
from gateway.protocol.token_signing import (
    ID_TOKEN_ALGORITHM,
    access_token_hash,
    sign_access_token,
    sign_for_client,
)

ACCESS_TOKEN_LIFESPAN: Final = "access.token.lifespan"  # noqa: S105 - an attribute's name
LOWER_CASE_BEARER: Final = "token.response.type.bearer.lower-case"
LIGHTWEIGHT: Final = "client.use.lightweight.access.token.enabled"
USE_REFRESH_TOKENS: Final = "use.refresh.tokens"
REFRESH: Final = "Refresh"
OFFLINE: Final = "Offline"


@dataclass(frozen=True, slots=True)
class SessionPart:
    """The session that tokens belong to, and the asking client's part in it.

    `family` is the family of refresh tokens, None where they do not rotate; `refresh_id` is the
    jti that the next refresh token gets.
    """

    session: UserSession
    client_session: ClientSession
    refresh_id: str
    family: str | None = None


@dataclass(frozen=True, slots=True)
class Issue:
    """What is to be issued. `grant` is the grant's two letters in the jti's prefix."""

    disclosure: Disclosure
    grant: str
    part: SessionPart | None = None
    """None for a transient session: no refresh token, no `sid`."""

    @property
    def subject(self) -> TokenSubject:
        """Whom the tokens are about."""
        return self.disclosure.subject


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """A successful answer of the token endpoint. Lifespans are in seconds."""

    access_token: str = field(repr=False)
    token_id: str
    expires_in: int
    token_type: str
    not_before: int
    scope: str
    refresh_token: str | None = field(default=None, repr=False)
    refresh_expires_in: int = 0
    id_token: str | None = field(default=None, repr=False)
    session_state: str | None = None
    others: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What mappers add; no member of the answer's own is among them."""

    def document(self) -> dict[str, Any]:
        """Return the response's members in Keycloak's order, absent ones left out."""
        members = {
            "access_token": self.access_token,
            "expires_in": self.expires_in,
            "refresh_expires_in": self.refresh_expires_in,
            "refresh_token": self.refresh_token,
            "token_type": self.token_type,
            "id_token": self.id_token,
            "not-before-policy": self.not_before,
            "session_state": self.session_state,
            "scope": self.scope,
        }
        known = {name: value for name, value in members.items() if value is not None}
        return {**known, **{n: value for n, value in self.others.items() if n not in members}}


def issue_tokens(request: ProtocolRequest, issue: Issue) -> TokenResponse:
    """Sign the tokens of one answer.

    Raises OAuthError when the client wants a bound token and shows no certificate, or an
    algorithm for which the realm has no key.
    """
    client = issue.subject.client
    confirmation = confirmation_claim(client, request.certificate)
    claims = access_claims(request, issue, confirmation)
    access_token = sign_access_token(request, client, claims)
    refresh_token, refresh_expires_in = _refresh_token(request, issue, claims, confirmation)
    return TokenResponse(
        access_token=access_token,
        token_id=claims["jti"],
        expires_in=claims["exp"] - claims["iat"],
        token_type="bearer" if _is_on(client, LOWER_CASE_BEARER) else "Bearer",
        not_before=max(
            request.realm.realm.not_before, client.not_before, issue.subject.user.not_before
        ),
        scope=issue.disclosure.granted.text,
        refresh_token=refresh_token,
        refresh_expires_in=refresh_expires_in,
        id_token=_id_token(request, issue, claims, access_token),
        session_state=issue.part.session.id if issue.part else None,
        others=_others(issue),
    )


def _others(issue: Issue) -> dict[str, Any]:
    others: dict[str, Any] = {}
    issue.disclosure.add_claims(others, ClaimsFor.TOKEN_RESPONSE)
    return others


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
    longest = longest_client_session(realm.session_limits)
    return longest if lifespan < timedelta(0) else min(lifespan, longest)


def access_claims(
    request: ProtocolRequest, issue: Issue, confirmation: Mapping[str, str] | None
) -> dict[str, Any]:
    """Return what the access token says, unsigned."""
    client, part = issue.subject.client, issue.part
    lightweight = _is_on(client, LIGHTWEIGHT)
    expires_at = request.now + access_token_lifespan(request.realm.realm, client)
    if part is not None:
        end = access_tokens_end_at(
            request.realm.realm.session_limits, part.session, client, part.client_session
        )
        expires_at = expires_at if end is None else min(expires_at, end)
    claims: dict[str, Any] = {
        "exp": int(expires_at.timestamp()),
        "iat": int(request.now.timestamp()),
        "jti": f"{_context(issue, lightweight=lightweight)}:{uuid.uuid4()}",
        "iss": request.issuer,
        "typ": "Bearer",
        "azp": client.client_id,
    }
    if part is not None:
        claims["sid"] = part.session.id
    purpose = ClaimsFor.LIGHTWEIGHT_TOKEN if lightweight else ClaimsFor.ACCESS_TOKEN
    issue.disclosure.add_claims(claims, purpose)
    if part is None:
        claims["sub"] = issue.subject.user.id
    claims["scope"] = issue.disclosure.granted.text
    if confirmation is not None:
        claims["cnf"] = confirmation
    return claims


def _context(issue: Issue, *, lightweight: bool) -> str:
    """Return the jti's prefix: session kind, token kind, grant. Keycloak: 2.2."""
    session = "tr" if issue.part is None else "of" if issue.part.session.offline else "on"
    return f"{session}{'lt' if lightweight else 'rt'}{issue.grant}"


def _refresh_token(
    request: ProtocolRequest,
    issue: Issue,
    access: Mapping[str, Any],
    confirmation: Mapping[str, str] | None,
) -> tuple[str | None, int]:
    part, client = issue.part, issue.subject.client
    if part is None or client.attributes.get(USE_REFRESH_TOKENS, "true").lower() == "false":
        return None, 0
    limits = request.realm.realm.session_limits
    issued_at = int(request.now.timestamp())
    claims: dict[str, Any] = {
        "iat": issued_at,
        "jti": part.refresh_id,
        "iss": request.issuer,
        "aud": request.issuer,
        "sub": issue.subject.user.id,
        "typ": OFFLINE if part.session.offline else REFRESH,
        "azp": client.client_id,
        "sid": part.session.id,
        "scope": " ".join(issue.disclosure.granted.names),
        "prov": "default",
    }
    if "aud" in access:
        claims["aud_x"] = access["aud"]
    if part.family is not None:
        claims["reuse_id"] = part.family
    if confirmation is not None:
        claims["cnf"] = confirmation
    expires_in = 0
    if not part.session.offline or limits.offline_max_lifespan_enabled:
        end = client_session_ends_at(limits, part.session, client, part.client_session)
        claims["exp"] = int(end.timestamp())
        expires_in = claims["exp"] - issued_at
    return request.realm.key_ring.sign_for_ourselves(claims, request.now), expires_in


def _id_token(
    request: ProtocolRequest, issue: Issue, access: Mapping[str, Any], access_token: str
) -> str | None:
    """Return the ID token where `openid` was granted for a user who signed in."""
    if issue.part is None or not issue.disclosure.granted.openid:
        return None
    claims = id_claims(request, issue, issue.part, access)
    client = issue.subject.client
    claims["at_hash"] = access_token_hash(request, client, access_token)
    return sign_for_client(request, client, claims, ID_TOKEN_ALGORITHM)


def id_claims(
    request: ProtocolRequest, issue: Issue, part: SessionPart, access: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the ID token says, unsigned, but for the hash of the access token."""
    client = issue.subject.client
    claims: dict[str, Any] = {
        "exp": access["exp"],
        "iat": access["iat"],
        "jti": str(uuid.uuid4()),
        "iss": request.issuer,
        "aud": client.client_id,
        "sub": issue.subject.user.id,
        "typ": "ID",
        "azp": client.client_id,
        "sid": part.session.id,
    }
    issue.disclosure.add_claims(claims, ClaimsFor.ID_TOKEN)
    if client.client_id not in audiences_of(claims):
        claims["aud"] = [client.client_id, *audiences_of(claims)]
    return claims


def _is_on(client: Client, attribute: str) -> bool:
    return client.attributes.get(attribute, "").lower() == "true"
