"""Issuing tokens: access, ID and refresh tokens of one answer, and tokens through a browser.

Spec: RFC 9068 §2.2 (claims), RFC 8705 §3.1 and RFC 9449 §6.1 (cnf), OpenID Connect Core §2;
Keycloak: 2.1 to 2.3 headers and keys to lifetimes
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from gateway.domain.clients import ClientTokens, RoleKey
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail
from gateway.domain.ports.client_keys import Encrypter
from gateway.domain.random_values import uuid_text
from gateway.domain.realm import Realm
from gateway.domain.sessions import (
    ClientSession,
    UserSession,
    access_tokens_end_at,
    client_session_ends_at,
    generation_of,
    longest_client_session,
)
from gateway.protocol.claims.mapper import ClaimsFor, MappedClaims
from gateway.protocol.claims.protocol_claims import (
    BEARER,
    CLIENT_SESSION,
    DPOP,
    EXCHANGED_FROM,
    EXCHANGED_TOKENS,
    ID_TOKEN_TYPE,
    LOWER_CASE_BEARER,
    ONLY_FOR,
    RESERVED_CLAIMS,
    WITHOUT_ROLES,
    AccessTokenClaims,
    audience_claim,
    left_out_claim,
    present,
)
from gateway.protocol.devices import device_claims
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import ClaimsContext, GrantedScopes
from gateway.protocol.sender_constraint import (
    KEY,
    certificate_claims,
    confirmation_claim,
    proved_binding,
    refresh_confirmation,
    renewal_claim,
)
from gateway.protocol.tokens.signing import (
    encrypt_id_token,
    sign_access_token,
    sign_for_client,
    token_hash,
)

EXCHANGED: Final = "te"
"""The two letters of the grant that exchanges tokens."""
_LIGHTWEIGHT: Final = "lt"
_NAMED: Final = re.compile(r":[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-([0-9a-f]{12})")
"""A UUID of version 8 ends with a generation. Spec: RFC 9562 §5.8"""
_TOKEN_ID: Final = re.compile(r"(on|of|tr)(rt|lt)([a-z]{2}):.+", re.ASCII | re.DOTALL)


class SessionKind(StrEnum):
    """The store of the token's session: Redis, SQL, or none."""

    ONLINE = "on"
    OFFLINE = "of"
    TRANSIENT = "tr"


@dataclass(frozen=True, slots=True)
class TokenContext:
    """How a token was issued. `grant` is the grant's two letters. Keycloak: 2.2 claims."""

    session: SessionKind
    lightweight: bool
    grant: str
    generation: int | None = None
    """Of the client session, or of the service account where there is none; 48 bits.

    None for a token of a client without a client session, and of an earlier version.
    """


def new_token_id(
    session: SessionKind, grant: str, *, lightweight: bool, generation: int | None = None
) -> str:
    """Return a new id that `parse_token_id` reads."""
    kind = _LIGHTWEIGHT if lightweight else "rt"
    return f"{session}{kind}{grant}:{uuid_text(generation)}"


def parse_token_id(token_id: object) -> TokenContext:
    """Return the context of a token by its `jti`; raises InvalidToken."""
    found = _TOKEN_ID.fullmatch(token_id) if isinstance(token_id, str) else None
    if found is None:
        raise InvalidToken("its jti is not one of ours")
    session, kind, grant = found.groups()
    named = _NAMED.fullmatch(found.string, found.end(3))
    generation = None if named is None else int(named[1], 16)
    return TokenContext(SessionKind(session), kind == _LIGHTWEIGHT, grant, generation)


REFRESH: Final = "Refresh"
OFFLINE: Final = "Offline"
_RESERVED_MEMBERS: Final = RESERVED_CLAIMS | {
    *("access_token", "expires_in", "refresh_expires_in", "refresh_token", "token_type"),
    *("id_token", "not-before-policy", "session_state", "scope", "issued_token_type"),
    *("error", "error_description", "error_uri", "authorization_details"),
}
"""The members of a token response. Spec: RFC 6749 §5, RFC 8693 §2.2, RFC 9396 §7"""

_MOST_NAMED: Final = 10
"""Withheld roles that an event lists."""


@dataclass(frozen=True, slots=True)
class SessionPart:
    """A session and the client's part in it.

    `refresh_id` is the `jti` of the next refresh token, `family` its family, None without rotation.
    """

    session: UserSession
    client_session: ClientSession
    refresh_id: str
    family: str | None = None
    is_stored: bool = True
    """False for a part that the client has for one token alone."""

    @property
    def generation(self) -> int | None:
        """Return that of the client session; None where no store has it."""
        return self.client_session.generation if self.is_stored else None


@dataclass(frozen=True, slots=True)
class Issue:
    """The tokens to issue. `grant` is the grant's two letters in the jti's prefix."""

    context: ClaimsContext
    grant: str
    part: SessionPart | None = None
    """None for a transient session: no refresh token, no `sid`."""
    kept: GrantedScopes | None = None
    """The scopes of the refresh token; None for those of the access token."""
    nonce: str | None = field(default=None, repr=False)
    """That of the authorization request: only the first ID token repeats it."""
    lifespan: timedelta | None = None
    """Of the access token, for the authorization endpoint; None for that of realm and client."""
    always_refreshable: bool = False
    """There is a refresh token, also against the client's `use.refresh.tokens`."""
    id_token_encrypter: Encrypter | None = field(default=None, repr=False)
    """Of a client that wants encrypted ID tokens: it gets none without."""
    refreshable: bool = True
    """Whether there may be a refresh token."""
    id_token_alone: bool = False
    """An ID token is delivered with any scopes, and the access token is not."""
    audiences: frozenset[str] | None = None
    """The access token is for none but these; None: for all that mappers and roles give."""
    left_out: frozenset[RoleKey] | None = None
    """Composites that tokens leave out with all administrative roles; None leaves none out."""
    exchanged_from: Mapping[str, int] = field(default_factory=dict)
    """Generations of the client sessions that end the tokens too, by the client's internal id."""
    exchanged_tokens: tuple[str, ...] = ()
    """The ids of the access tokens whose revocation ends the tokens too."""
    binding: Mapping[str, str] = field(default_factory=dict)
    """The binding of the token that these tokens replace."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Further hashes of the ID token: `c_hash`, `s_hash`. Spec: OpenID Connect Core §3.3.2.11"""
    id_token_is_detached_signature: bool = False
    """The ID token protects the response by its hashes and has no claims of mappers."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An unsigned access token: what the grant decided, and the document with mappers' claims."""

    protocol: AccessTokenClaims
    document: dict[str, Any] = field(repr=False)


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
    issued_token_type: str | None = None
    """Of a token exchange. Spec: RFC 8693 §2.2.1"""
    mapped: MappedClaims = field(default_factory=MappedClaims, repr=False)
    """The claims of mappers."""

    def document(self) -> dict[str, Any]:
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
            "issued_token_type": self.issued_token_type,
        }
        present_members = {name: value for name, value in members.items() if value is not None}
        return self.mapped.document(present_members, _RESERVED_MEMBERS)


def issue_tokens(request: ProtocolRequest, issue: Issue) -> TokenResponse:
    """Sign the tokens of one answer; raises OAuthError without a required proof or key."""
    subject, withheld = issue.context.subject, issue.context.withheld
    client = subject.client
    if withheld:
        more = f" and {len(withheld) - _MOST_NAMED} more" if len(withheld) > _MOST_NAMED else ""
        request.event.details[Detail.WITHHELD_ROLES] = ", ".join(withheld[:_MOST_NAMED]) + more
    confirmation = confirmation_claim(client, request.certificate, request.proof_key)
    if issue.binding:
        proved = proved_binding(issue.binding, request.certificate)
        confirmation = {**proved, **(confirmation or {})}
    access = access_claims(request, issue, confirmation)
    claims = access.protocol
    access_token = sign_access_token(request, client, access.document)
    refresh_token, refresh_expires_in = None, 0
    if issue.part is not None and issue.refreshable:
        refresh_token, refresh_expires_in = _refresh_token(request, issue, issue.part, claims)
    id_token = None
    if issue.id_token_alone:
        id_token = sign_id_token(request, issue, claims, None)
    elif (issue.kept or issue.context.granted).openid:  # also where a refresh leaves it out
        id_token = sign_id_token(request, issue, claims, access_token)
    return TokenResponse(
        access_token=access_token,
        token_id=claims.token_id,
        expires_in=claims.expires_at - claims.issued_at,
        token_type=claims.token_type,
        not_before=max(request.realm.realm.not_before, client.not_before, subject.user.not_before),
        scope=issue.context.granted.text,
        refresh_token=refresh_token,
        refresh_expires_in=refresh_expires_in,
        id_token=id_token,
        session_state=issue.part.session.id if issue.part else None,
        mapped=issue.context.map_claims(ClaimsFor.TOKEN_RESPONSE),
    )


def access_token_lifespan(
    realm: Realm, tokens: ClientTokens, given: timedelta | None = None
) -> timedelta:
    """Return the given, client's or realm's lifespan within the session's; -1 is that itself."""
    own = tokens.access_token_lifespan if given is None else given
    lifespan = realm.token_lifespans.access_token if own is None else own
    longest = longest_client_session(realm.session_limits)
    return longest if lifespan < timedelta(0) else min(lifespan, longest)


def access_claims(
    request: ProtocolRequest, issue: Issue, confirmation: Mapping[str, str] | None
) -> AccessToken:
    """Return the claims of the access token, unsigned."""
    subject, part = issue.context.subject, issue.part
    client, session = subject.client, SessionKind.TRANSIENT
    lightweight = client.tokens.lightweight
    lifespan = access_token_lifespan(request.realm.realm, client.tokens, issue.lifespan)
    expires_at = request.now + lifespan
    if part is not None:
        session = SessionKind.OFFLINE if part.session.offline else SessionKind.ONLINE
        end = access_tokens_end_at(
            request.realm.realm.session_limits,
            part.session,
            client.session_limits,
            part.client_session,
        )
        expires_at = expires_at if end is None else min(expires_at, end)
    purpose = ClaimsFor.LIGHTWEIGHT_TOKEN if lightweight else ClaimsFor.ACCESS_TOKEN
    mapped = issue.context.map_claims(purpose)
    claims = AccessTokenClaims(
        expires_at=int(expires_at.timestamp()),
        issued_at=int(request.now.timestamp()),
        token_id=new_token_id(
            session,
            issue.grant,
            lightweight=lightweight,
            generation=generation_of(subject.user.exists_since)
            if part is None
            else part.generation,
        ),
        issuer=request.issuer,
        audiences=mapped.audiences
        if issue.audiences is None
        else tuple(name for name in mapped.audiences if name in issue.audiences),
        subject=subject.identifier if part is None or "sub" in mapped.decided else None,
        client_id=client.client_id,
        session_id=None if part is None else part.session.id,
        scope=issue.context.granted.text,
        confirmation=confirmation,
        included=mapped.included(subject),
        token_type=_token_type(client.tokens, confirmation),
    )
    members = claims.members()
    if issue.exchanged_from:
        members[EXCHANGED_FROM] = dict(issue.exchanged_from)
    if issue.exchanged_tokens:
        members[EXCHANGED_TOKENS] = list(issue.exchanged_tokens)
    if client.devices.template is not None:
        members |= device_claims(request, client)
    if confirmation is not None:
        members |= certificate_claims(request, client, confirmation)
    if issue.audiences is not None:
        members[ONLY_FOR] = sorted(issue.audiences)
    if issue.left_out is not None:
        members[WITHOUT_ROLES] = left_out_claim(issue.left_out)
    return AccessToken(claims, mapped.document(members))


def _token_type(tokens: ClientTokens, confirmation: Mapping[str, str] | None) -> str:
    """Return `typ` of the token and `token_type` of the answer. Spec: RFC 9449 §5."""
    if confirmation is not None and KEY in confirmation:
        return DPOP
    return LOWER_CASE_BEARER if tokens.lower_case_type else BEARER


def _refresh_token(
    request: ProtocolRequest, issue: Issue, part: SessionPart, access: AccessTokenClaims
) -> tuple[str | None, int]:
    """Return the token and its lifespan in seconds, which is 0 without an end."""
    client = issue.context.subject.client
    if not (client.tokens.refresh_tokens or issue.always_refreshable):
        return None, 0
    limits = request.realm.realm.session_limits
    expires_at = None
    if not part.session.offline or limits.offline_max_lifespan_enabled:
        end = client_session_ends_at(
            limits, part.session, client.session_limits, part.client_session
        )
        expires_at = int(end.timestamp())
    claims = {
        "exp": expires_at,
        "iat": access.issued_at,
        "jti": part.refresh_id,
        "iss": access.issuer,
        "aud": access.issuer,
        "sub": issue.context.subject.identifier,
        "typ": OFFLINE if part.session.offline else REFRESH,
        "azp": client.client_id,
        "sid": part.session.id,
        "scope": " ".join((issue.kept or issue.context.granted).names),
        "prov": "default",
        "aud_x": audience_claim(access.audiences),
        "reuse_id": part.family,
        CLIENT_SESSION: part.generation,
        EXCHANGED_FROM: dict(issue.exchanged_from) or None,
        EXCHANGED_TOKENS: list(issue.exchanged_tokens) or None,
        "cnf": refresh_confirmation(client, access.confirmation),
        ONLY_FOR: None if issue.audiences is None else sorted(issue.audiences),
        WITHOUT_ROLES: left_out_claim(issue.left_out),
    }
    members = present(claims) | dict(renewal_claim(request, client, access.confirmation))
    token = request.realm.key_ring.sign_for_ourselves(members, request.now)
    return token, 0 if expires_at is None else expires_at - access.issued_at


def sign_id_token(
    request: ProtocolRequest, issue: Issue, access: AccessTokenClaims, access_token: str | None
) -> str:
    """Return the ID token, with `at_hash` of the access token, encrypted where asked for."""
    client = issue.context.subject.client
    found = None if access_token is None else token_hash(request, client, access_token)
    claims = id_claims(request, issue, access, found)
    signed = sign_for_client(request, client.signing.id_token, claims)
    return encrypt_id_token(client, issue.id_token_encrypter, signed)


def id_claims(
    request: ProtocolRequest,
    issue: Issue,
    access: AccessTokenClaims,
    access_token_hash: str | None = None,
) -> dict[str, Any]:
    """Return the claims of the ID token, unsigned; without a hash for an example."""
    client = issue.context.subject.client
    purpose = ClaimsFor.ID_TOKEN
    detached = issue.id_token_is_detached_signature
    mapped = MappedClaims(purpose) if detached else issue.context.map_claims(purpose)
    members: dict[str, Any] = {
        "exp": access.expires_at,
        "iat": access.issued_at,
        "jti": str(uuid.uuid4()),
        "iss": request.issuer,
        "aud": audience_claim(tuple(dict.fromkeys((client.client_id, *mapped.audiences)))),
        "sub": issue.context.subject.identifier,
        "typ": ID_TOKEN_TYPE,
        "azp": client.client_id,
    }
    if issue.nonce is not None:
        members["nonce"] = issue.nonce
    if access.session_id is not None:
        members["sid"] = access.session_id
    if access_token_hash is not None:
        members["at_hash"] = access_token_hash
    members |= issue.hashes
    mapped.included(issue.context.subject).add_to(members)
    members |= device_claims(request, client)
    return mapped.document(members)


@dataclass(frozen=True, slots=True)
class BrowserTokens:
    """The requested tokens of an authorization response; `expires_in` is in seconds.

    Tokens of the implicit flow have their own lifespan; an ID token as detached signature has no
    claims of the user; clients with bound tokens get no access token. Spec: RFC 6749 §4.2.2, OpenID
    Connect Core §3.2.2.5, §3.3.2.5, §3.3.2.11; FAPI 1.0 Advanced §5.1.1, §5.2.2.1 (s_hash);
    Keycloak: 2.3 lifetimes, OIDCLoginProtocol
    """

    token_id: str
    token_type: str
    expires_in: int
    access_token: str | None = field(default=None, repr=False)
    id_token: str | None = field(default=None, repr=False)


def issue_to_browser(
    request: ProtocolRequest,
    issue: Issue,
    *,
    access_token: bool,
    id_token: bool,
    code: str | None,
    state: str | None,
) -> BrowserTokens:
    """Sign the tokens of one authorization response; raises OAuthError as `issue_tokens` does."""
    client = issue.context.subject.client
    hashed = {"c_hash": code, "s_hash": state or None}
    hashes = {name: token_hash(request, client, text) for name, text in hashed.items() if text}
    lifespan = None if code else request.realm.realm.token_lifespans.access_token_for_implicit_flow
    issue = replace(
        issue,
        lifespan=lifespan,
        hashes=hashes,
        id_token_is_detached_signature=client.signing.id_token_as_detached_signature,
    )
    confirmation = confirmation_claim(client, None, None) if access_token else None
    access = access_claims(request, issue, confirmation)
    signed = sign_access_token(request, client, access.document) if access_token else None
    claims = access.protocol
    return BrowserTokens(
        token_id=claims.token_id,
        token_type=claims.token_type,
        expires_in=claims.expires_at - claims.issued_at,
        access_token=signed,
        id_token=sign_id_token(request, issue, claims, signed) if id_token else None,
    )
