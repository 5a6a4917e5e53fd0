"""Settings of a client for the authorization endpoint, in frozen groups.

Keycloak: client attributes (advanced settings, fine grain configuration)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

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
    """`pkce.code.challenge.method`: the method that must be used; empty leaves it to the client.

    Spec: RFC 7636 §4.3.
    """
    pushed_requests_only: bool = False
    """`require.pushed.authorization.requests`. Spec: RFC 9126 §6."""
    exclude_issuer: bool = False
    """`exclude.issuer.from.auth.response`: no parameter `iss`. Spec: RFC 9207 §2."""
    exclude_session_state: bool = False
    """`exclude.session.state.from.auth.response`"""


@dataclass(frozen=True, slots=True)
class DeviceGrantSettings:
    """Whether devices of the client may ask for tokens; zero inherits the realm's duration.

    Spec: RFC 8628 §3.2
    """

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
    """What verifies JWTs that the client signs; its key set also holds the key to encrypt with.

    Spec: RFC 7591 §2 (jwks, jwks_uri).
    """

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
