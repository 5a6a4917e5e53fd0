"""The realm: every setting the rules read, and verbatim what has no rule yet.

Keycloak: RealmRepresentation and its creation defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from gateway.domain.keys import SignatureAlgorithm, SigningAlgorithm
from gateway.domain.realm.lifetimes import RefreshTokenPolicy, SessionLimits, TokenLifespans
from gateway.domain.realm.password_policy import PasswordPolicy
from gateway.domain.realm.security_headers import SecurityHeaders
from gateway.domain.realm.sign_in import BruteForce, FlowBindings, LoginSettings, OtpPolicy
from gateway.domain.realm.smtp import Smtp
from gateway.domain.realm.web_authn import PasskeyPolicy, WebAuthnPolicy
from gateway.domain.secrets import Secret


class SslRequired(StrEnum):
    """For which clients the realm demands HTTPS."""

    NONE = "none"
    """Never."""
    EXTERNAL = "external"
    """From every address that is not loopback, link-local or private."""
    ALL = "all"
    """From every address."""


@dataclass(frozen=True, slots=True)
class EventsConfig:
    """Recording of user events and of administrative events."""

    enabled: bool = False
    """`eventsEnabled`: user events are stored."""
    expiration: timedelta = timedelta()
    """`eventsExpiration`: how long stored user events are kept; seconds, 0 is for ever."""
    listeners: tuple[str, ...] = ("jboss-logging",)
    """`eventsListeners`: which listeners receive every event, stored or not."""
    enabled_types: tuple[str, ...] = ()
    """`enabledEventTypes`: the types to store; none given means all."""
    admin_enabled: bool = False
    """`adminEventsEnabled`: administrative events are stored."""
    admin_details_enabled: bool = False
    """`adminEventsDetailsEnabled`: with the representation that was sent."""


@dataclass(frozen=True, slots=True)
class Localization:
    """Which languages a page may be shown in."""

    enabled: bool = False
    """`internationalizationEnabled`: users may choose a language."""
    supported_locales: tuple[str, ...] = ()
    """`supportedLocales`: the languages to choose from, in the given order."""
    default_locale: str | None = None
    """`defaultLocale`: the language before a choice."""


MASTER = "master"
"""The realm where administrators sign in."""


def _creation_attributes() -> dict[str, str]:
    return {
        "cibaBackchannelTokenDeliveryMode": "poll",
        "cibaExpiresIn": "120",
        "cibaAuthRequestedUserHint": "login_hint",
        "oauth2DeviceCodeLifespan": "600",
        "oauth2DevicePollingInterval": "5",
        "parRequestUriLifespan": "60",
        "cibaInterval": "5",
        "realmReusableOtpCode": "false",
    }


@dataclass(frozen=True, slots=True)
class Realm:
    """A realm. Rules take the group of settings they need, never the whole of it."""

    id: str
    """`id`: fixed for life; equals the first name unless another was given."""
    name: str
    """`realm`: how URLs address it; may change."""
    enabled: bool = False
    """`enabled`: a disabled realm issues no tokens."""
    display_name: str | None = None
    """`displayName`: what people read."""
    display_name_html: str | None = None
    """`displayNameHtml`: the same with mark-up."""
    not_before: int = 0
    """`notBefore`: tokens issued earlier are rejected; seconds since 1970, 0 rejects none."""
    default_signature_algorithm: SigningAlgorithm | None = SignatureAlgorithm.RS256
    """`defaultSignatureAlgorithm`: signs tokens of clients that name no other.

    None where the empty text was set, which means RS256.
    """
    ssl_required: SslRequired = SslRequired.EXTERNAL
    """`sslRequired`: which requests must come over TLS."""
    token_lifespans: TokenLifespans = field(default_factory=TokenLifespans)
    refresh_tokens: RefreshTokenPolicy = field(default_factory=RefreshTokenPolicy)
    session_limits: SessionLimits = field(default_factory=SessionLimits)
    login: LoginSettings = field(default_factory=LoginSettings)
    brute_force: BruteForce = field(default_factory=BruteForce)
    otp_policy: OtpPolicy = field(default_factory=OtpPolicy)
    web_authn: WebAuthnPolicy = field(default_factory=WebAuthnPolicy)
    web_authn_passwordless: PasskeyPolicy = field(default_factory=PasskeyPolicy)
    password_policy: PasswordPolicy = field(default_factory=PasswordPolicy)
    security_headers: SecurityHeaders = field(default_factory=SecurityHeaders)
    smtp: Smtp = field(default_factory=Smtp)
    events: EventsConfig = field(default_factory=EventsConfig)
    localization: Localization = field(default_factory=Localization)
    login_theme: str | None = None
    """`loginTheme`: the theme of the sign-in pages; None is the built-in design."""
    account_theme: str | None = None
    """`accountTheme`: the theme of the account console; None is that of the sign-in pages."""
    email_theme: str | None = None
    """`emailTheme`: the theme of mails; None is the built-in design."""
    default_role: str = ""
    """`defaultRole`: the role of every new user; empty where its name follows from the realm's."""
    flows: FlowBindings = field(default_factory=FlowBindings)
    attributes: Mapping[str, str] = field(default_factory=_creation_attributes)
    """`attributes`: free strings, order kept."""
    webhook_secret: Secret | None = None
    """The attribute `realmgate.webhook.secret`, which is never among `attributes`."""
    unmodelled: Mapping[str, Any] = field(default_factory=dict)
    """Settings without a rule of their own (themes, unknown ones), by JSON name.

    Those at Keycloak's default are left out; only `representations` reads them.
    """

    @property
    def signature_algorithm(self) -> SigningAlgorithm:
        """The algorithm that signs tokens of clients that name no other."""
        return self.default_signature_algorithm or SignatureAlgorithm.RS256

    @property
    def default_role_name(self) -> str:
        """The name of the role that every new user has; a new name of the realm leaves it."""
        return self.default_role or _default_role_of(self.name)

    def named(self, name: str) -> "Realm":
        """Return the realm under another name, its default role under the name it has."""
        default = "" if self.default_role_name == _default_role_of(name) else self.default_role_name
        return replace(self, name=name, default_role=default)


def _default_role_of(name: str) -> str:
    return f"default-roles-{name.lower()}"
