"""The protocol claims of each kind of document, as typed values decided by the grant.

They are all that a document contains about its issuer, subject, audience, client, session, times,
scope, key and roles. Mappers decide whether some of them are included; none of them is ever read
from what a mapper writes.
Spec: RFC 7519 §4.1, RFC 9068 §2.2, OpenID Connect Core §2, RFC 7662 §2.2; Keycloak: 2.2
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Protocol

ROLES: Final = "roles"
CLIENT_ID: Final = "client_id"

RESERVED_CLAIMS: Final = frozenset(
    {
        *("iss", "sub", "aud", "exp", "nbf", "iat", "jti", "typ", "azp", "scope"),
        *("sid", "cnf", "acr", "amr", "auth_time", "nonce", "at_hash", "c_hash", "s_hash"),
        *("realm_access", "resource_access", "allowed-origins", "authorization", "act", "may_act"),
        *("session_state", "events"),
    }
)
"""Claims that no mapper writes under a `claim.name` of its choice.

`events` makes a logout token of a JWT. Spec: OpenID Connect Back-Channel Logout §2.4
"""

_OF_TOKENS: Final = RESERVED_CLAIMS | {CLIENT_ID}
_OF_INTROSPECTION: Final = _OF_TOKENS | {
    *("active", "username", "token_type", "jwt"),
    *("prov", "aud_x", "reuse_id"),
}
"""`jwt` is the signed access token that the endpoint adds for clients that may have it.

`prov`, `aud_x` and `reuse_id` are internal to refresh tokens and are not disclosed."""


class ProtocolClaims(Protocol):
    """The decided members of one document."""

    @property
    def reserved(self) -> frozenset[str]:
        """Return the names that mappers cannot set in this document."""
        ...

    @property
    def last(self) -> tuple[str, ...]:
        """Return the members that follow those of mappers."""
        ...

    def members(self) -> dict[str, Any]:
        """Return the members in Keycloak's order, absent ones left out."""
        ...


class IncludedClaims(NamedTuple):
    """Protocol claims that a document has only where a mapper of their type includes them.

    `auth_time` is in seconds since the epoch. None, or an empty list of roles, is absent. A tuple,
    as `AccessTokenClaims`: one is made for every token, at half the cost of a frozen dataclass.
    """

    auth_time: int | None = None
    session_state: str | None = None
    acr: str | None = None
    amr: tuple[str, ...] | None = None
    allowed_origins: tuple[str, ...] | None = None
    realm_roles: Sequence[str] = ()
    client_roles: Mapping[str, Sequence[str]] | None = None
    client_id: str | None = None

    def add_to(self, members: dict[str, Any]) -> None:
        if self.auth_time is not None:
            members["auth_time"] = self.auth_time
        if self.session_state is not None:
            members["session_state"] = self.session_state
        if self.acr is not None:
            members["acr"] = self.acr
        if self.amr is not None:
            members["amr"] = list(self.amr)
        if self.allowed_origins is not None:
            members["allowed-origins"] = list(self.allowed_origins)
        if self.realm_roles:
            members["realm_access"] = {ROLES: list(self.realm_roles)}
        if self.client_roles:
            members["resource_access"] = {
                client: {ROLES: list(names)} for client, names in self.client_roles.items()
            }
        if self.client_id is not None:
            members[CLIENT_ID] = self.client_id


class AccessTokenClaims(NamedTuple):
    """The claims of an access token. Instants are in seconds since the epoch.

    `subject` is None in a lightweight token whose mappers do not include it, `session_id` None
    for a transient session.
    """

    expires_at: int
    issued_at: int
    token_id: str
    issuer: str
    audiences: tuple[str, ...]
    subject: str | None
    client_id: str
    session_id: str | None
    scope: str
    confirmation: Mapping[str, str] | None
    included: IncludedClaims

    @property
    def reserved(self) -> frozenset[str]:
        return _OF_TOKENS

    @property
    def last(self) -> tuple[str, ...]:
        return ()

    def members(self) -> dict[str, Any]:
        members: dict[str, Any] = {
            "exp": self.expires_at,
            "iat": self.issued_at,
            "jti": self.token_id,
            "iss": self.issuer,
        }
        if self.audiences:
            members["aud"] = audience_claim(self.audiences)
        if self.subject is not None:
            members["sub"] = self.subject
        members["typ"] = "Bearer"
        members["azp"] = self.client_id
        if self.session_id is not None:
            members["sid"] = self.session_id
        self.included.add_to(members)
        members["scope"] = self.scope
        if self.confirmation is not None:
            members["cnf"] = self.confirmation
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class IdTokenClaims:
    """The claims of an ID token; `access_token_hash` is None in an example."""

    reserved: ClassVar[frozenset[str]] = _OF_TOKENS
    last: ClassVar[tuple[str, ...]] = ()

    expires_at: int
    issued_at: int
    token_id: str
    issuer: str
    audiences: tuple[str, ...]
    subject: str
    client_id: str
    session_id: str
    access_token_hash: str | None
    included: IncludedClaims

    def members(self) -> dict[str, Any]:
        members: dict[str, Any] = {
            "exp": self.expires_at,
            "iat": self.issued_at,
            "jti": self.token_id,
            "iss": self.issuer,
            "aud": audience_claim(self.audiences),
            "sub": self.subject,
            "typ": "ID",
            "azp": self.client_id,
            "sid": self.session_id,
        }
        if self.access_token_hash is not None:
            members["at_hash"] = self.access_token_hash
        self.included.add_to(members)
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshTokenClaims:
    """The claims of a refresh token; no mapper writes into it.

    `expires_at` is None for an offline session without a maximum, `family` None without rotation.
    """

    expires_at: int | None
    issued_at: int
    token_id: str
    issuer: str
    subject: str
    token_type: str
    client_id: str
    session_id: str
    scope: str
    access_audiences: tuple[str, ...]
    family: str | None
    confirmation: Mapping[str, str] | None

    def members(self) -> dict[str, Any]:
        return _present(
            {
                "exp": self.expires_at,
                "iat": self.issued_at,
                "jti": self.token_id,
                "iss": self.issuer,
                "aud": self.issuer,
                "sub": self.subject,
                "typ": self.token_type,
                "azp": self.client_id,
                "sid": self.session_id,
                "scope": self.scope,
                "prov": "default",
                "aud_x": audience_claim(self.access_audiences),
                "reuse_id": self.family,
                "cnf": self.confirmation,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IntrospectionClaims:
    """The members of an introspection response about an active token.

    `token` are the verified claims of that token, `audiences` its audiences and those that
    audience mappers add.
    """

    reserved: ClassVar[frozenset[str]] = _OF_INTROSPECTION
    last: ClassVar[tuple[str, ...]] = (CLIENT_ID, "username", "token_type", "active")

    token: Mapping[str, Any]
    audiences: tuple[str, ...]
    subject: str | None
    client_id: str
    username: str
    token_type: str
    included: IncludedClaims

    def members(self) -> dict[str, Any]:
        token = self.token
        members = _present(
            {
                "exp": token.get("exp"),
                "iat": token.get("iat"),
                "jti": token.get("jti"),
                "iss": token.get("iss"),
                "aud": audience_claim(self.audiences),
                "sub": self.subject,
                "typ": token.get("typ"),
                "azp": token.get("azp"),
                "sid": token.get("sid"),
                "scope": token.get("scope"),
                "cnf": token.get("cnf"),
            }
        )
        self.included.add_to(members)
        members[CLIENT_ID] = self.client_id
        members["username"] = self.username
        members["token_type"] = self.token_type
        members["active"] = True
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class UserinfoClaims:
    """The protocol claims of userinfo. Spec: OpenID Connect Core §5.3.2."""

    reserved: ClassVar[frozenset[str]] = _OF_TOKENS
    last: ClassVar[tuple[str, ...]] = ()

    subject: str
    included: IncludedClaims

    def members(self) -> dict[str, Any]:
        members: dict[str, Any] = {"sub": self.subject}
        self.included.add_to(members)
        return members


def audience_claim(audiences: Sequence[str]) -> str | list[str] | None:
    """Return `aud`: a string for one, a list for several. Spec: RFC 7519 §4.1.3."""
    if not audiences:
        return None
    return audiences[0] if len(audiences) == 1 else list(audiences)


def audiences_of(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the audiences of a token in either shape; what is no text is none."""
    found = claims.get("aud")
    several = found if isinstance(found, list) else [found]
    return tuple(audience for audience in several if isinstance(audience, str))


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
