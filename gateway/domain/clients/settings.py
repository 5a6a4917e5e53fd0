"""Settings of a client that rules read, in frozen groups: tokens, authorization endpoint, logout.

Keycloak: client attributes (advanced settings, fine grain configuration, secret rotation) (26.7).
Spec: OpenID Connect Back-Channel Logout §2.2, Front-Channel Logout §2
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from gateway.domain.certificate_names import CertificateName
from gateway.domain.keys import (
    ContentEncryption,
    KeyManagement,
    SecretAlgorithm,
    SignatureAlgorithm,
    SigningAlgorithm,
)

ANY_ALGORITHM: Final = "any"
"""`request.object.signature.alg`: whatever the client has a key for, and `none`."""
UNSIGNED: Final = "none"
_OBJECT_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "request or request_uri": ("request", "request_uri"),
    "request only": ("request",),
    "request_uri only": ("request_uri",),
}
_INHERITED: Final = timedelta()


@dataclass(frozen=True, slots=True)
class AuthorizationSettings:
    """What the client's authorization requests must look like, and what responses contain."""

    code_challenge_method: str = ""
    """`pkce.code.challenge.method`: the required method; empty: any. Spec: RFC 7636 §4.3."""
    pushed_requests_only: bool = False
    """`require.pushed.authorization.requests`. Spec: RFC 9126 §6."""
    exclude_issuer: bool = False
    """`exclude.issuer.from.auth.response`: no parameter `iss`. Spec: RFC 9207 §2."""
    exclude_session_state: bool = False
    """`exclude.session.state.from.auth.response`"""


@dataclass(frozen=True, slots=True)
class DeviceGrantSettings:
    """Whether devices may ask for tokens; zero inherits the realm's time. Spec: RFC 8628 §3.2."""

    enabled: bool = False
    """`oauth2.device.authorization.grant.enabled`"""
    code_lifespan: timedelta = _INHERITED
    """`oauth2.device.code.lifespan`"""
    polling_interval: timedelta = _INHERITED
    """`oauth2.device.polling.interval`"""


@dataclass(frozen=True, slots=True)
class AuthenticationLevels:
    """Levels of authentication by the names that clients use for them (`acr`)."""

    names: Mapping[str, int] = field(default_factory=dict)
    """`acr.loa.map`: acr -> level; those of the client come before those of the realm."""
    default: tuple[str, ...] = ()
    """`default.acr.values`: asked for where a request asks for none."""
    minimum: str = ""
    """`minimum.acr.value`: the least that a request may ask for."""


@dataclass(frozen=True, slots=True)
class RequestObjectSettings:
    """Request objects. Spec: RFC 9101 §10.5, OpenID Connect Core §6."""

    algorithm: str = ""
    """`request.object.signature.alg`: empty or `any` accepts each, `none` included."""
    encryption: str = ""
    """`request.object.encryption.alg`: of those that are encrypted; empty or `any` accepts each."""
    content_encryption: str = ""
    """`request.object.encryption.enc`: the same."""
    required: str = ""
    """`request.object.required`: `request or request_uri`, `request only`, `request_uri only`."""
    uris: tuple[str, ...] = ()
    """`request.uris`: what a `request_uri` may be; a `*` at the end stands for the rest."""

    @property
    def allowed_parameters(self) -> tuple[str, ...]:
        """The parameters one of which a request must have; empty: it needs no request object."""
        return _OBJECT_PARAMETERS.get(self.required, ())


@dataclass(frozen=True, slots=True)
class VerificationKeys:
    """Keys that verify JWTs of the client; the set has its encryption key. Spec: RFC 7591 §2."""

    key_set: str = ""
    """`jwks.string`: a JWKS; counts where `use.jwks.string` is set."""
    uses_key_set: bool = False
    """`use.jwks.string`"""
    key_set_url: str = ""
    """`jwks.url`: where a JWKS is; counts where `use.jwks.url` is set."""
    uses_key_set_url: bool = False
    """`use.jwks.url`"""
    certificate: str = ""
    """`jwt.credential.certificate`: base64 of DER."""
    public_key: str = ""
    """`jwt.credential.public.key`"""


@dataclass(frozen=True, slots=True)
class LogoutSettings:
    """By a request to the client, by a frame in the user's browser, or not at all."""

    root_url: str = ""
    """`rootUrl`: what a URL that begins with `/` belongs to."""
    back_channel_path: str = ""
    """`backchannel.logout.url`: where logout tokens are sent to."""
    back_channel_session_required: bool = False
    """`backchannel.logout.session.required`: logout tokens name the session."""
    revoke_offline_tokens: bool = False
    """`backchannel.logout.revoke.offline.tokens`: logout tokens ask for that too."""
    uses_front_channel: bool = False
    """`frontchannelLogout`"""
    front_channel_path: str = ""
    """`frontchannel.logout.url`: what a frame of the logout page loads."""
    front_channel_session_required: bool = True
    """`frontchannel.logout.session.required`: the frame's URL names issuer and session."""
    stops_at_page: bool = False
    """`logout.confirmation.enabled`: a page says that the user is logged out, and links on."""

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

    subject: str = ""
    """`x509.subjectdn`: a distinguished name or a pattern; empty matches no certificate."""
    is_pattern: bool = True
    """`x509.allow.regex.pattern.comparison`: the subject is a regular expression."""
    authority: str = ""
    """`x509.casubjectdn`: the authority that the certificate must lead to; empty: any trusted."""
    alternative_name: CertificateName | None = None
    """`realmgate.certificate.san.dns`, `.uri`, `.ip`, `.email`: one of them, not with a subject."""
    self_signed: bool = False
    """`realmgate.certificate.self.signed`: the certificate or its key is registered; no names."""


_EPOCH: Final = datetime.fromtimestamp(0, UTC)
UNREADABLE_TIME: Final = datetime.fromtimestamp(1, UTC)
"""Stands for a stored time that is no number: it has passed."""


@dataclass(frozen=True, slots=True)
class SecretSettings:
    """How secrets of a client may be sent, and until when they are accepted."""

    allowed_method: str = ""
    """`client.secret.authentication.allowed.method`: empty allows every method."""
    expires_at: datetime | None = None
    """`client.secret.expiration.time`: None where the secret does not expire."""
    rotated_expires_at: datetime | None = None
    """`client.secret.rotated.expiration.time`: None where the rotated secret is not accepted."""

    def has_expired(self, now: datetime) -> bool:
        """Tell whether the secret has expired; a time before 1970 says nothing."""
        return self.expires_at is not None and _EPOCH < self.expires_at <= now

    def accepts_rotated(self, now: datetime) -> bool:
        return self.rotated_expires_at is not None and now < self.rotated_expires_at


_NOT_SET = timedelta()
_LONGEST_ASSERTION: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class ClientAssertions:
    """What JWTs that authenticate the client must be like. Keycloak: 1.2 (`client-jwt`)."""

    algorithm: str = ""
    """`token.endpoint.auth.signing.alg`: empty accepts each that the method may use."""
    max_lifespan: timedelta = _NOT_SET
    """`token.endpoint.auth.signing.max.exp`: zero is Keycloak's default, `longest`."""

    @property
    def longest(self) -> timedelta:
        """How long an assertion is accepted at most, from `iat` or else from now."""
        return self.max_lifespan if self.max_lifespan > _NOT_SET else _LONGEST_ASSERTION


@dataclass(frozen=True, slots=True)
class ClientSessionLimits:
    """The client's own limits; zero inherits the realm's."""

    idle: timedelta = _INHERITED
    """`client.session.idle.timeout`: counted from the last refresh."""
    max_lifespan: timedelta = _INHERITED
    """`client.session.max.lifespan`: counted from the client's start."""
    offline_idle: timedelta = _INHERITED
    """`client.offline.session.idle.timeout`: the same of an offline session."""
    offline_max_lifespan: timedelta = _INHERITED
    """`client.offline.session.max.lifespan`: the same of an offline session."""


ChosenAlgorithm = SigningAlgorithm | str | None
"""What a client chose: None is the realm's default, a plain str one that nothing signs with."""


@dataclass(frozen=True, slots=True)
class ClientSigning:
    """The client's own choices. Spec: OpenID Connect Registration §2, RFC 9068 §2.1."""

    access_token: ChosenAlgorithm = None
    """`access.token.signed.response.alg`"""
    id_token: ChosenAlgorithm = None
    """`id.token.signed.response.alg`"""
    userinfo: ChosenAlgorithm = None
    """`user.info.response.signature.alg`: None answers with plain JSON."""
    authorization_response: ChosenAlgorithm = None
    """`authorization.signed.response.alg`: of the response modes that end with `jwt`."""
    rfc9068_header: bool = False
    """`access.token.header.type.rfc9068`: the header's `typ` of access tokens is at+jwt."""
    id_token_as_detached_signature: bool = False
    """`id.token.as.detached.signature`: no mapped claims. Spec: FAPI 1.0 Advanced §5.1.1"""
    introspection_jwt: bool = False
    """`client.introspection.response.allow.jwt.claim.enabled`: it may ask for the member `jwt`."""

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


ChosenKeyManagement = KeyManagement | str | None
"""None encrypts nothing; a plain str is an algorithm that nothing encrypts with."""
ChosenContentEncryption = ContentEncryption | str | None
"""None is the default, A128CBC-HS256."""


@dataclass(frozen=True, slots=True)
class ClientEncryption:
    """What is encrypted for the client, and how. Spec: OpenID Connect Registration §2, JARM §3."""

    id_token: ChosenKeyManagement = None
    """`id.token.encrypted.response.alg`: of ID tokens and logout tokens."""
    id_token_content: ChosenContentEncryption = None
    """`id.token.encrypted.response.enc`"""
    userinfo: ChosenKeyManagement = None
    """`user.info.encrypted.response.alg`"""
    userinfo_content: ChosenContentEncryption = None
    """`user.info.encrypted.response.enc`"""
    authorization_response: ChosenKeyManagement = None
    """`authorization.encrypted.response.alg`: of the response modes that end with `jwt`."""
    authorization_response_content: ChosenContentEncryption = None
    """`authorization.encrypted.response.enc`"""


@dataclass(frozen=True, slots=True)
class ClientTokens:
    """The client's own settings of tokens and of the token response."""

    access_token_lifespan: timedelta | None = None
    """`access.token.lifespan`: None inherits the realm's, a negative one lasts as the session."""
    certificate_bound: bool = False
    """`tls.client.certificate.bound.access.tokens`: `cnf` names the client's certificate."""
    renewal_overlap: timedelta | None = None
    """`realmgate.certificates.renewal.overlap`: None inherits the realm's."""
    dpop_bound: bool = False
    """`dpop.bound.access.tokens`: every token request needs a DPoP proof, whose key `cnf` names."""
    lightweight: bool = False
    """`client.use.lightweight.access.token.enabled`: only the claims mappers add to such."""
    refresh_tokens: bool = True
    """`use.refresh.tokens`: whether a session's tokens come with a refresh token."""
    refresh_tokens_of_service_account: bool = False
    """`client_credentials.use_refresh_token`: such tokens have a session and a refresh token."""
    exchange: bool = False
    """`standard.token.exchange.enabled`: the client may exchange access tokens that it received."""
    exchange_refreshes: bool = False
    """`standard.token.exchange.enableRefreshRequestedTokenType`: also for a refresh token."""
    lower_case_type: bool = False
    """`token.response.type.bearer.lower-case`: the response says `bearer`, not `Bearer`."""
