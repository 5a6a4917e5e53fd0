"""The answer about one request to a protected site, and the identity that it asserts."""

from dataclasses import dataclass, field
from enum import StrEnum

from gateway.domain.certificates import ClientCertificate
from gateway.domain.forward_auth.site import Credential, Rule, Site


class Reason(StrEnum):
    """Why a request is refused, as the header `X-Realmgate-Reason` says."""

    AMBIGUOUS_REQUEST = "ambiguous_request"
    UNKNOWN_HOST = "unknown_host"
    NO_RULE = "no_rule"
    HTTPS_REQUIRED = "https_required"
    """The realm requires TLS between caller and proxy."""
    NO_CREDENTIAL = "no_credential"
    CREDENTIAL_NOT_ACCEPTED = "credential_not_accepted"
    """The rule does not accept credentials of this kind."""
    INVALID_SESSION = "invalid_session"
    INVALID_TOKEN = "invalid_token"  # noqa: S105 - a reason
    CERTIFICATE_MISMATCH = "certificate_mismatch"
    """The token is bound to another certificate than the caller's."""
    PROOF_MISMATCH = "proof_mismatch"
    """The token is bound to a DPoP key, and the request has no valid proof of it."""
    AUDIENCE_NOT_ALLOWED = "audience_not_allowed"
    """The token's `aud` has no audience that the site or the rule expects."""
    TOKEN_NOT_BOUND = "token_not_bound"  # noqa: S105 - a reason
    UNTRUSTED_CERTIFICATE = "untrusted_certificate"
    REALM_NOT_ALLOWED = "realm_not_allowed"
    """The credential is of a realm that the site does not name."""
    MISSING_REALM_ROLE = "missing_realm_role"
    MISSING_CLIENT_ROLE = "missing_client_role"
    MISSING_SCOPE = "missing_scope"
    MISSING_GROUP = "missing_group"
    CLIENT_NOT_ALLOWED = "client_not_allowed"
    CERTIFICATE_NOT_ALLOWED = "certificate_not_allowed"


@dataclass(frozen=True, slots=True)
class Identity:
    """What the gateway asserts about the caller; rights are those of this moment.

    `subject` is the user's id; for a client its service account's id. `client_id` is the clientId
    that the token or session was issued to, or that the certificate belongs to. `client_roles`
    are `client/role`, `groups` are paths. `thumbprint` is that of the certificate that the token
    is bound to or that is the credential itself, base64url; `proof_key` that of the DPoP key that
    the token is bound to. `audiences` are the `aud` of a bearer token. `certificate` is the
    caller's, where the realm trusts it; nothing that is asserted depends on it, so it is not
    compared.
    """

    realm: str
    kind: Credential
    subject: str
    username: str
    email: str | None = None
    email_verified: bool = False
    groups: tuple[str, ...] = ()
    realm_roles: frozenset[str] = frozenset()
    client_roles: frozenset[str] = frozenset()
    client_id: str | None = None
    scopes: frozenset[str] = frozenset()
    thumbprint: str | None = None
    proof_key: str | None = None
    audiences: frozenset[str] = frozenset()
    session_id: str | None = field(default=None, repr=False)
    certificate: ClientCertificate | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The request may pass; `identity` is None at an anonymous rule."""

    site: Site
    rule: Rule
    identity: Identity | None
    explanation: str


@dataclass(frozen=True, slots=True)
class ProofChallenge:
    """Why a DPoP proof is refused: a code of RFC 9449 §7.1, and the nonce for the next proof."""

    error: str
    description: str
    nonce: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Unauthenticated:
    """The request lacks a valid credential: 401.

    `error` is the code of RFC 6750 §3.1, None where no credential was sent. `proof` says what
    is wrong with the DPoP proof that the token needs. `may_sign_in` says that a browser can get a
    session at this site.
    """

    reason: Reason
    explanation: str
    site: Site
    rule: Rule
    may_sign_in: bool = False
    error: str | None = None
    proof: ProofChallenge | None = None


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The request must not pass, whatever the caller does next: 403.

    `identity` is set where the caller is known. `error` is the code of RFC 6750 §3.1, None where
    no token would help.
    """

    reason: Reason
    explanation: str
    site: Site | None = None
    rule: Rule | None = None
    identity: Identity | None = None
    error: str | None = None


Decision = Allowed | Unauthenticated | Forbidden
