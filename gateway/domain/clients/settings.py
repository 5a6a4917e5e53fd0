"""Settings of a client that rules read, in frozen groups: tokens, authorization endpoint, logout.

Keycloak: client attributes (advanced settings, fine grain configuration, secret rotation) (26.7).
Spec: OpenID Connect Back-Channel Logout §2.2, Front-Channel Logout §2
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.certificate_names import CertificateName
from gateway.domain.clients.attributes import (
    ALGORITHM,
    ALTERNATIVE_NAMES,
    AUTHORITY,
    BOUND,
    CONTENT_ENCRYPTION,
    EXCHANGE_REFRESH,
    FLAG,
    FLAG_UNLESS_FALSE,
    INSTANT,
    KEY_MANAGEMENT,
    LEVELS,
    LIFESPAN,
    LIMIT,
    LIST,
    OVERLAP,
    REQUEST_CONTENT_ENCRYPTION,
    REQUEST_ENCRYPTION,
    ROTATED_EXPIRES,
    SECRET_EXPIRES,
    SELF_SIGNED,
    SUBJECT,
    SUBJECT_IS_PATTERN,
    SWITCH,
    TEXT,
    ChosenAlgorithm,
    ChosenContentEncryption,
    ChosenKeyManagement,
    name_of,
    setting,
)
from gateway.domain.clock import EPOCH
from gateway.domain.keys import SecretAlgorithm, SignatureAlgorithm, SigningAlgorithm
from gateway.domain.realm import RENEWAL_OVERLAP

UNSIGNED: Final = "none"
_OBJECT_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "request or request_uri": ("request", "request_uri"),
    "request only": ("request",),
    "request_uri only": ("request_uri",),
}


@dataclass(frozen=True, slots=True)
class AuthorizationSettings:
    """What the client's authorization requests must look like, and what responses contain."""

    code_challenge_method: str = setting("pkce.code.challenge.method", TEXT)
    """The required method; empty: any. Spec: RFC 7636 §4.3."""
    pushed_requests_only: bool = setting("require.pushed.authorization.requests", SWITCH)
    """Spec: RFC 9126 §6."""
    exclude_issuer: bool = setting("exclude.issuer.from.auth.response", SWITCH)
    """No parameter `iss`. Spec: RFC 9207 §2."""
    exclude_session_state: bool = setting("exclude.session.state.from.auth.response", SWITCH)


@dataclass(frozen=True, slots=True)
class DeviceGrantSettings:
    """Whether devices may ask for tokens; zero inherits the realm's time. Spec: RFC 8628 §3.2."""

    enabled: bool = setting("oauth2.device.authorization.grant.enabled", SWITCH)
    code_lifespan: timedelta = setting("oauth2.device.code.lifespan", LIMIT)
    polling_interval: timedelta = setting("oauth2.device.polling.interval", LIMIT)


@dataclass(frozen=True, slots=True)
class AuthenticationLevels:
    """Levels of authentication by the names that clients use for them (`acr`)."""

    names: Mapping[str, int] = setting("acr.loa.map", LEVELS)
    """From `acr` to level; those of the client come before those of the realm."""
    default: tuple[str, ...] = setting("default.acr.values", LIST)
    """Asked for where a request asks for none."""
    minimum: str = setting("minimum.acr.value", TEXT)
    """The least that a request may ask for."""


@dataclass(frozen=True, slots=True)
class RequestObjectSettings:
    """Request objects. Spec: RFC 9101 §10.5, OpenID Connect Core §6."""

    algorithm: str = setting("request.object.signature.alg", TEXT)
    """Empty or `any` accepts each, `none` included."""
    encryption: str = setting("request.object.encryption.alg", REQUEST_ENCRYPTION)
    """Of those that are encrypted; empty or `any` accepts each."""
    content_encryption: str = setting("request.object.encryption.enc", REQUEST_CONTENT_ENCRYPTION)
    """Of those that are encrypted, too."""
    required: str = setting("request.object.required", TEXT)
    """`request or request_uri`, `request only`, `request_uri only`."""
    uris: tuple[str, ...] = setting("request.uris", LIST)
    """What a `request_uri` may be; a `*` at the end stands for the rest."""

    @property
    def allowed_parameters(self) -> tuple[str, ...]:
        """The parameters one of which a request must have; empty: it needs no request object."""
        return _OBJECT_PARAMETERS.get(self.required, ())


@dataclass(frozen=True, slots=True)
class VerificationKeys:
    """Keys that verify JWTs of the client; the set has its encryption key. Spec: RFC 7591 §2."""

    key_set: str = setting("jwks.string", TEXT)
    """A JWKS; counts where `use.jwks.string` is set."""
    uses_key_set: bool = setting("use.jwks.string", SWITCH)
    key_set_url: str = setting("jwks.url", TEXT)
    """Where a JWKS is; counts where `use.jwks.url` is set."""
    uses_key_set_url: bool = setting("use.jwks.url", SWITCH)
    certificate: str = setting("jwt.credential.certificate", TEXT)
    """Base64 of DER."""
    public_key: str = setting("jwt.credential.public.key", TEXT)


@dataclass(frozen=True, slots=True)
class LogoutSettings:
    """By a request to the client, by a frame in the user's browser, or not at all."""

    root_url: str = ""
    """`rootUrl`: what a URL that begins with `/` belongs to."""
    back_channel_path: str = setting("backchannel.logout.url", TEXT)
    """Where logout tokens are sent to."""
    back_channel_session_required: bool = setting("backchannel.logout.session.required", SWITCH)
    """Logout tokens name the session."""
    revoke_offline_tokens: bool = setting("backchannel.logout.revoke.offline.tokens", SWITCH)
    """Logout tokens ask for that too."""
    uses_front_channel: bool = False
    """`frontchannelLogout`"""
    front_channel_path: str = setting("frontchannel.logout.url", TEXT)
    """What a frame of the logout page loads."""
    front_channel_session_required: bool = setting(
        "frontchannel.logout.session.required", SWITCH, default=True
    )
    """The frame's URL names issuer and session."""
    stops_at_page: bool = setting("logout.confirmation.enabled", SWITCH)
    """A page says that the user is logged out, and links on."""

    @property
    def back_channel_url(self) -> str:
        """Where logout tokens are sent to; empty: nowhere."""
        return self._absolute(self.back_channel_path)

    @property
    def front_channel_url(self) -> str:
        """What a frame loads; empty: the client has none."""
        return self._absolute(self.front_channel_path) if self.uses_front_channel else ""

    def _absolute(self, url: str) -> str:
        return f"{self.root_url.removesuffix('/')}{url}" if url.startswith("/") else url


@dataclass(frozen=True, slots=True)
class CertificateAuthentication:
    """What certificate is the client's. Keycloak: `client-x509`; Spec: RFC 8705 §2.1.2, §2.2."""

    subject: str = setting(SUBJECT, TEXT)
    """A distinguished name or a pattern; empty matches no certificate."""
    is_pattern: bool = setting(SUBJECT_IS_PATTERN, FLAG, default=True)
    """The subject is a regular expression."""
    authority: str = setting(AUTHORITY, TEXT)
    """The authority that the certificate must lead to; empty: any trusted."""
    alternative_name: CertificateName | None = field(
        default=None, metadata={name: name_of(kind) for kind, name in ALTERNATIVE_NAMES.items()}
    )
    """One of them, not with a subject."""
    self_signed: bool = setting(SELF_SIGNED, FLAG)
    """The certificate or its key is registered; no names."""


@dataclass(frozen=True, slots=True)
class SecretSettings:
    """How secrets of a client may be sent, and until when they are accepted."""

    allowed_method: str = setting("client.secret.authentication.allowed.method", TEXT)
    """Empty allows every method."""
    expires_at: datetime | None = setting(SECRET_EXPIRES, INSTANT)
    """None where the secret does not expire."""
    rotated_expires_at: datetime | None = setting(ROTATED_EXPIRES, INSTANT)
    """None where the rotated secret is not accepted."""

    def has_expired(self, now: datetime) -> bool:
        """Tell whether the secret has expired; a time before 1970 says nothing."""
        return self.expires_at is not None and EPOCH < self.expires_at <= now

    def accepts_rotated(self, now: datetime) -> bool:
        return self.rotated_expires_at is not None and now < self.rotated_expires_at


_LONGEST_ASSERTION: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class ClientAssertions:
    """What JWTs that authenticate the client must be like. Keycloak: 1.2 (`client-jwt`)."""

    algorithm: str = setting("token.endpoint.auth.signing.alg", TEXT)
    """Empty accepts each that the method may use."""
    max_lifespan: timedelta = setting("token.endpoint.auth.signing.max.exp", LIMIT)
    """Zero is Keycloak's default, `longest`."""

    @property
    def longest(self) -> timedelta:
        """How long an assertion is accepted at most, from `iat` or else from now."""
        return self.max_lifespan if self.max_lifespan > timedelta() else _LONGEST_ASSERTION


@dataclass(frozen=True, slots=True)
class ClientSessionLimits:
    """The client's own limits; zero inherits the realm's."""

    idle: timedelta = setting("client.session.idle.timeout", LIMIT)
    """Counted from the last refresh."""
    max_lifespan: timedelta = setting("client.session.max.lifespan", LIMIT)
    """Counted from the client's start."""
    offline_idle: timedelta = setting("client.offline.session.idle.timeout", LIMIT)
    """The same of an offline session."""
    offline_max_lifespan: timedelta = setting("client.offline.session.max.lifespan", LIMIT)
    """The same of an offline session."""


@dataclass(frozen=True, slots=True)
class ClientSigning:
    """The client's own choices. Spec: OpenID Connect Registration §2, RFC 9068 §2.1."""

    access_token: ChosenAlgorithm = setting("access.token.signed.response.alg", ALGORITHM)
    id_token: ChosenAlgorithm = setting("id.token.signed.response.alg", ALGORITHM)
    userinfo: ChosenAlgorithm = setting("user.info.response.signature.alg", ALGORITHM)
    """None answers with plain JSON."""
    authorization_response: ChosenAlgorithm = setting(
        "authorization.signed.response.alg", ALGORITHM
    )
    """Of the response modes that end with `jwt`."""
    rfc9068_header: bool = setting("access.token.header.type.rfc9068", FLAG)
    """The header's `typ` of access tokens is at+jwt."""
    id_token_as_detached_signature: bool = setting("id.token.as.detached.signature", SWITCH)
    """No mapped claims. Spec: FAPI 1.0 Advanced §5.1.1."""
    introspection_jwt: bool = setting("client.introspection.response.allow.jwt.claim.enabled", FLAG)
    """It may ask for the member `jwt`."""

    def algorithms(self) -> Iterator[SigningAlgorithm]:
        """Yield the algorithms that the realm needs keys for."""
        for chosen in (
            self.access_token,
            self.id_token,
            self.userinfo,
            self.authorization_response,
        ):
            if isinstance(chosen, SignatureAlgorithm | SecretAlgorithm):
                yield chosen


@dataclass(frozen=True, slots=True)
class ClientEncryption:
    """What is encrypted for the client, and how. Spec: OpenID Connect Registration §2, JARM §3."""

    id_token: ChosenKeyManagement = setting("id.token.encrypted.response.alg", KEY_MANAGEMENT)
    """Of ID tokens and logout tokens."""
    id_token_content: ChosenContentEncryption = setting(
        "id.token.encrypted.response.enc", CONTENT_ENCRYPTION
    )
    userinfo: ChosenKeyManagement = setting("user.info.encrypted.response.alg", KEY_MANAGEMENT)
    userinfo_content: ChosenContentEncryption = setting(
        "user.info.encrypted.response.enc", CONTENT_ENCRYPTION
    )
    authorization_response: ChosenKeyManagement = setting(
        "authorization.encrypted.response.alg", KEY_MANAGEMENT
    )
    """Of the response modes that end with `jwt`."""
    authorization_response_content: ChosenContentEncryption = setting(
        "authorization.encrypted.response.enc", CONTENT_ENCRYPTION
    )


@dataclass(frozen=True, slots=True)
class ClientTokens:
    """The client's own settings of tokens and of the token response."""

    access_token_lifespan: timedelta | None = setting("access.token.lifespan", LIFESPAN)
    """None inherits the realm's, a negative one lasts as the session."""
    certificate_bound: bool = setting(BOUND, FLAG)
    """`cnf` names the client's certificate."""
    renewal_overlap: timedelta | None = setting(RENEWAL_OVERLAP, OVERLAP)
    """None inherits the realm's."""
    dpop_bound: bool = setting("dpop.bound.access.tokens", FLAG)
    """Every token request needs a DPoP proof, whose key `cnf` names."""
    lightweight: bool = setting("client.use.lightweight.access.token.enabled", SWITCH)
    """Access tokens have only the claims of mappers for lightweight tokens."""
    refresh_tokens: bool = setting("use.refresh.tokens", FLAG_UNLESS_FALSE)
    """Whether a session's tokens come with a refresh token."""
    refresh_tokens_of_service_account: bool = setting("client_credentials.use_refresh_token", FLAG)
    """Such tokens have a session and a refresh token."""
    exchange: bool = setting("standard.token.exchange.enabled", FLAG)
    """The client may exchange access tokens that it received."""
    exchange_refreshes: bool = setting(
        "standard.token.exchange.enableRefreshRequestedTokenType", EXCHANGE_REFRESH
    )
    """Also for a refresh token."""
    lower_case_type: bool = setting("token.response.type.bearer.lower-case", FLAG)
    """The response says `bearer`, not `Bearer`."""
