"""The protocol claims: decided by the grant, as typed values, and reserved in every document.

They are all that a document contains about its issuer, subject, audience, client, session, times,
scope, key and roles. Mappers decide whether some of them are included; none of them is ever read
from what a mapper writes.
Spec: RFC 7519 §4.1, RFC 9068 §2.2, OpenID Connect Core §2, RFC 7662 §2.2; Keycloak: 2.2 claims
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from gateway.domain.certificate_names import DEVICE_CLAIM
from gateway.domain.clients import RoleKey

ROLES: Final = "roles"
BEARER: Final = "Bearer"
LOWER_CASE_BEARER: Final = "bearer"
DPOP: Final = "DPoP"
ACCESS_TOKEN_TYPES: Final = frozenset({BEARER, LOWER_CASE_BEARER, DPOP})
"""The claim `typ` of access tokens; the client chooses which."""
ID_TOKEN_TYPE: Final = "ID"  # noqa: S105 - a type
CLIENT_ID: Final = "client_id"
ISSUED_SERIAL: Final = "realmgate_issued_serial"
"""The certificate of a bound token, as the digest of its issuer and serial number. An own claim."""
TWIN_THUMBPRINT: Final = "realmgate_twin_thumbprint"
"""The thumbprint of the certificate of a bound token with its other signature. An own claim."""
ONLY_FOR: Final = "aud_only"
"""The clients that a token is for, where a token exchange named them: it has no roles of others."""
WITHOUT_ROLES: Final = "realmgate_without_roles"
"""Of an exchanged token, where the first one carried no administrative roles: so does this one.

The value lists composites of them, which it does not carry either, as pairs of client and name;
the client of a role of the realm is null. An own claim.
"""
CLIENT_SESSION: Final = "realmgate_client_session"
"""The client session that a refresh token was issued in, by its generation. An own claim."""
EXCHANGED_TOKENS: Final = "realmgate_exchanged_tokens"
"""The ids of the access tokens that it was exchanged from, which end it too. An own claim."""
EXCHANGED_FROM: Final = "realmgate_exchanged_from"
"""The client sessions of the tokens that it was exchanged from, which end it too. An own claim.

The value has their generations by the internal ids of their clients.
"""
RENEWAL: Final = "realmgate_renewal"
"""Our own claim, which recognizes a renewed certificate of the holder of a bound token."""

OWN_CLAIMS: Final = frozenset(
    {
        *(CLIENT_SESSION, EXCHANGED_FROM, ISSUED_SERIAL, ONLY_FOR, RENEWAL, WITHOUT_ROLES),
        *(DEVICE_CLAIM, EXCHANGED_TOKENS, TWIN_THUMBPRINT),
    }
)
"""Claims of access tokens by which the gateways limit the use of a token."""

RESERVED_CLAIMS: Final = OWN_CLAIMS | frozenset(
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

RESERVED_IN_TOKENS: Final = RESERVED_CLAIMS | {CLIENT_ID}
"""Names that mappers cannot set in tokens and userinfo."""
RESERVED_IN_INTROSPECTION: Final = RESERVED_IN_TOKENS | {
    *("active", "username", "token_type", "jwt"),
    *("prov", "aud_x", "reuse_id"),
}
"""`jwt` is the signed access token that the endpoint adds for clients that may have it.

`prov`, `aud_x` and `reuse_id` are internal to refresh tokens and are not disclosed."""
LAST_IN_INTROSPECTION: Final = (CLIENT_ID, "username", "token_type", "active")
"""The members that follow those of mappers."""


def only_for(claims: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the clients that a verified token is limited to; None where it is not."""
    found = claims.get(ONLY_FOR)
    return None if found is None else frozenset(map(str, found))


def exchanged_from(claims: Mapping[str, Any]) -> Mapping[str, int]:
    """Return the client sessions that a verified token was exchanged from: client -> generation."""
    found = claims.get(EXCHANGED_FROM)
    return found if isinstance(found, dict) else {}


def exchanged_tokens(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the access tokens that a verified token was exchanged from."""
    found = claims.get(EXCHANGED_TOKENS)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def revocable_ids(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids whose revocation ends a verified access token: its own comes first."""
    own = str(claims["jti"])
    return (own, *exchanged_tokens(claims)) if EXCHANGED_TOKENS in claims else (own,)


def roles_left_out(claims: Mapping[str, Any]) -> frozenset[RoleKey] | None:
    """Return the composites that an exchanged token does not carry; None where it may carry all."""
    found = claims.get(WITHOUT_ROLES)
    if found is None:
        return None
    return frozenset((client, name) for client, name in found)


def left_out_claim(roles: frozenset[RoleKey] | None) -> list[RoleKey] | None:
    """Return the value of the claim for these composites."""
    return None if roles is None else sorted(roles, key=lambda role: (role[0] or "", role[1]))


class IncludedClaims(NamedTuple):
    """Protocol claims that a document has only where a mapper of their type includes them.

    Times are seconds since the epoch; None and empty lists are absent. A tuple is faster than a
    dataclass.
    """

    auth_time: int | None = None
    session_state: str | None = None
    acr: str | None = None
    amr: tuple[str, ...] | None = None
    allowed_origins: tuple[str, ...] | None = None
    realm_roles: Sequence[str] = ()
    client_roles: Mapping[str, Sequence[str]] | None = None
    client_id: str | None = None
    actor: Mapping[str, str] | None = None
    """`act`: the administrator who impersonates the subject. Spec: RFC 8693 §4.1."""

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
        if self.actor is not None:
            members["act"] = self.actor


class AccessTokenClaims(NamedTuple):
    """The claims of an access token; times are seconds since the epoch.

    `subject` is None in some lightweight tokens, `session_id` for a transient session.
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
    token_type: str = BEARER

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
        members["typ"] = self.token_type
        members["azp"] = self.client_id
        if self.session_id is not None:
            members["sid"] = self.session_id
        self.included.add_to(members)
        members["scope"] = self.scope
        if self.confirmation is not None:
            members["cnf"] = self.confirmation
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


def present(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}
