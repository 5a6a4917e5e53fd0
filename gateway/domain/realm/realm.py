"""The realm: every setting the rules read, and verbatim what has no rule yet.

Here are lifetimes and rotation of tokens, authorization requests, DPoP nonces, the looks and
headers of pages, SMTP and the webhook; `sign_in.py` and `certificates.py` have the other groups.
Attributes without a Keycloak name are our own: `docs/sign-in-pages.md` describes those of pages. An
unusable value of them is refused where it is written, and changes nothing where it is stored
already.
Keycloak: RealmRepresentation, its token and session settings and creation defaults; 12.8 PAR, 12.10
(`parRequestUriLifespan` and `acr.loa.map`); browserSecurityHeaders and smtpServer, free maps of
strings. Spec: RFC 9449 §8, §9
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, Self

from gateway.domain.events import KIND_OF, SAVED_BY_DEFAULT
from gateway.domain.keys import SignatureAlgorithm, SigningAlgorithm
from gateway.domain.limits.caches import cached
from gateway.domain.realm.certificates import CertificateSettings, parse_certificate_settings
from gateway.domain.realm.sign_in import (
    BruteForce,
    FlowBindings,
    LoginSettings,
    OtpPolicy,
    PasskeyPolicy,
    PasswordPolicy,
    WebAuthnPolicy,
)
from gateway.domain.secrets import Secret

ACCENT_COLOR: Final = "realmgate.login.accentColor"
LOGO: Final = "realmgate.login.logo"
DARK_LOGO: Final = "realmgate.login.logoDark"
CONTACT: Final = "realmgate.contact"
_DARK_MODE: Final = "darkMode"
"""Keycloak's attribute: `false` keeps pages light."""
_COLOR: Final = re.compile(r"#([0-9A-Fa-f]{6}|[0-9A-Fa-f]{3})")
_LONGEST_LINK: Final = 2_048
_LONGEST_IMAGE: Final = 32_768
_LONGEST_CONTACT: Final = 255
_URL_CHARACTERS: Final = r"[^\x00-\x20\x7f\\<>\"'`]*"
_IMAGE_URL: Final = re.compile(
    rf"https://[A-Za-z0-9.-]+(:\d{{1,5}})?(/{_URL_CHARACTERS})?|/(?!/){_URL_CHARACTERS}"
)
_EMBEDDED_IMAGE: Final = re.compile(
    r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+=*"
)


@dataclass(frozen=True, slots=True)
class Appearance:
    """What the attributes of a realm change; empty texts change nothing."""

    accent_color: str = ""
    """`#rrggbb` or `#rgb`."""
    logo: str = ""
    dark_logo: str = ""
    """In place of `logo` on dark pages."""
    light_only: bool = False
    contact: str = ""
    """Whom users ask for help and access: a mail address, an https URL, or other text."""


def is_color(text: str) -> bool:
    """Tell whether the text is a color in the form `#rrggbb` or `#rgb`."""
    return _COLOR.fullmatch(text) is not None


def is_image(text: str) -> bool:
    """Tell whether a page may load the image: https, a path, or embedded (32,768 characters)."""
    if len(text) <= _LONGEST_LINK and _IMAGE_URL.fullmatch(text):
        return True
    return len(text) <= _LONGEST_IMAGE and _EMBEDDED_IMAGE.fullmatch(text) is not None


def is_contact(text: str) -> bool:
    """Tell whether pages can show the text as one line of at most 255 characters."""
    return bool(text.strip()) and len(text) <= _LONGEST_CONTACT and text.isprintable()


_STANDARD_APPEARANCE: Final = Appearance()
_OF_APPEARANCE: Final = (ACCENT_COLOR, LOGO, DARK_LOGO, _DARK_MODE, CONTACT)


def _parse_appearance(attributes: Mapping[str, str]) -> Appearance:
    if attributes.keys().isdisjoint(_OF_APPEARANCE):
        return _STANDARD_APPEARANCE
    accent, logo = attributes.get(ACCENT_COLOR, ""), attributes.get(LOGO, "")
    dark_logo, contact = attributes.get(DARK_LOGO, ""), attributes.get(CONTACT, "").strip()
    return Appearance(
        accent_color=accent if is_color(accent) else "",
        logo=logo if is_image(logo) else "",
        dark_logo=dark_logo if is_image(dark_logo) else "",
        light_only=attributes.get(_DARK_MODE, "").lower() == "false",
        contact=contact if is_contact(contact) else "",
    )


@dataclass(frozen=True, slots=True)
class TokenLifespans:
    """Lifetimes counted from the issue of the token or code; whole seconds on the wire."""

    access_token: timedelta = timedelta(minutes=5)
    """`accessTokenLifespan`: an access token. The realm `master` is created with 60 s."""
    access_token_for_implicit_flow: timedelta = timedelta(minutes=15)
    """`accessTokenLifespanForImplicitFlow`: an access token given to a browser without a code."""
    access_code: timedelta = timedelta(minutes=1)
    """`accessCodeLifespan`: an authorization code, until it is redeemed."""
    access_code_user_action: timedelta = timedelta(minutes=5)
    """`accessCodeLifespanUserAction`: one page of a required action."""
    access_code_login: timedelta = timedelta(minutes=30)
    """`accessCodeLifespanLogin`: the whole sign-in, from the first page to the code."""
    action_token_by_admin: timedelta = timedelta(hours=12)
    """`actionTokenGeneratedByAdminLifespan`: a link that an administrator has sent."""
    action_token_by_user: timedelta = timedelta(minutes=5)
    """`actionTokenGeneratedByUserLifespan`: a link that the user asked for."""
    device_code: timedelta = timedelta(minutes=10)
    """`oauth2DeviceCodeLifespan`: device and user code. Spec: RFC 8628 §3.2 `expires_in`."""
    device_polling_interval: timedelta = timedelta(seconds=5)
    """`oauth2DevicePollingInterval`: least pause of a polling device. Spec: RFC 8628 §3.2."""


@dataclass(frozen=True, slots=True)
class RefreshTokenPolicy:
    """Whether a refresh token may be used again. Spec: RFC 9700 §4.14."""

    revoke_on_use: bool = False
    """`revokeRefreshToken`: each use retires the token and gives a new one."""
    max_reuse: int = 0
    """`refreshTokenMaxReuse`: how often a retired token is still accepted."""


_NONE = timedelta()


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Idle counts from the last refresh, the maximum from the sign-in; whole seconds.

    Where zero inherits, the wider setting is used.
    """

    idle: timedelta = timedelta(minutes=30)
    """`ssoSessionIdleTimeout`: a single-sign-on session that is not used."""
    max_lifespan: timedelta = timedelta(hours=10)
    """`ssoSessionMaxLifespan`: a single-sign-on session, however much it is used."""
    idle_remember_me: timedelta = _NONE
    """`ssoSessionIdleTimeoutRememberMe`: idle timeout with "remember me"; 0 inherits."""
    max_lifespan_remember_me: timedelta = _NONE
    """`ssoSessionMaxLifespanRememberMe`: maximum lifetime with "remember me"; 0 inherits."""
    offline_idle: timedelta = timedelta(days=30)
    """`offlineSessionIdleTimeout`: an offline session that is not used."""
    offline_max_lifespan_enabled: bool = False
    """`offlineSessionMaxLifespanEnabled`: whether offline sessions end at all while in use."""
    offline_max_lifespan: timedelta = timedelta(days=60)
    """`offlineSessionMaxLifespan`: maximum lifetime of an offline session, where enabled."""
    client_idle: timedelta = _NONE
    """`clientSessionIdleTimeout`: one client's part of a session; 0 inherits."""
    client_max_lifespan: timedelta = _NONE
    """`clientSessionMaxLifespan`: one client's part of a session; 0 inherits."""
    client_offline_idle: timedelta = _NONE
    """`clientOfflineSessionIdleTimeout`: one client's part of an offline session; 0 inherits."""
    client_offline_max_lifespan: timedelta = _NONE
    """`clientOfflineSessionMaxLifespan`: one client's part of an offline session; 0 inherits."""


_CREATION_DEFAULTS = (
    ("contentSecurityPolicyReportOnly", ""),
    ("xContentTypeOptions", "nosniff"),
    ("referrerPolicy", "no-referrer"),
    ("xRobotsTag", "none"),
    ("xFrameOptions", "SAMEORIGIN"),
    ("contentSecurityPolicy", "frame-src 'self'; frame-ancestors 'self'; object-src 'none';"),
    ("strictTransportSecurity", "max-age=31536000; includeSubDomains"),
)


@dataclass(frozen=True, slots=True)
class SecurityHeaders:
    """Pairs of Keycloak's key and the value to send, in the given order.

    A value is sent exactly as given, also where a browser will not understand it; an empty one
    is not sent. Unknown keys are kept and sent nowhere.
    """

    values: tuple[tuple[str, str], ...] = _CREATION_DEFAULTS

    def value(self, key: str) -> str | None:
        """Return the value of `key`, None where the realm has none."""
        return next((value for name, value in self.values if name == key), None)

    def with_value(self, key: str, value: str) -> Self:
        """Return the headers with another value of `key`."""
        others = tuple(pair for pair in self.values if pair[0] != key)
        return replace(self, values=(*others, (key, value)))


@dataclass(frozen=True, slots=True)
class Smtp:
    """A mail server; no `host` means that the realm sends nothing.

    `settings` holds the map as given, without the secrets, so that it is returned unchanged.
    The secrets stand apart so that they can be sealed and masked: the password, and
    `token_secret`, by which a token is got that takes the password's place.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    password: Secret | None = None
    token_secret: Secret | None = None

    def with_secrets(self, password: Secret | None, token_secret: Secret | None) -> "Smtp":
        return replace(self, password=password, token_secret=token_secret)

    @property
    def host(self) -> str | None:
        return self.settings.get("host") or None

    @property
    def token_url(self) -> str | None:
        """`authTokenUrl`: where `token_secret` is sent to."""
        return self.settings.get("authTokenUrl") or None


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


_LEVELS: Final = "acr.loa.map"
_PUSHED_REQUEST_LIFESPAN: Final = "parRequestUriLifespan"
_STANDARD_PUSHED_LIFESPAN: Final = timedelta(minutes=1)
_LONGEST: Final = timedelta(hours=1)
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)
DPOP_NONCE: Final = "realmgate.dpop.nonce"
_CHOICES: Final = {"": False, "false": False, "true": True}


@dataclass(frozen=True, slots=True)
class ProtocolSettings:
    """What attributes of a realm change of OAuth 2.0 and OpenID Connect."""

    pushed_request_lifespan: timedelta
    """How long a pushed request may be used: at least a second, at most an hour."""
    levels: Mapping[str, int]
    """Levels of authentication by name (`acr`)."""
    requires_proof_nonce: bool
    """Whether every DPoP proof has to contain a nonce of the realm."""


def _parse_protocol_settings(attributes: Mapping[str, str]) -> ProtocolSettings:
    text = attributes.get(_PUSHED_REQUEST_LIFESPAN, "")
    seconds = int(text) if _NUMBER.fullmatch(text) else 0
    return ProtocolSettings(
        min(timedelta(seconds=seconds), _LONGEST) if seconds else _STANDARD_PUSHED_LIFESPAN,
        parse_levels(attributes.get(_LEVELS, "")),
        _CHOICES.get(attributes.get(DPOP_NONCE, ""), False),
    )


@cached(256 * 1024)
def parse_levels(text: str) -> Mapping[str, int]:
    """Return the levels of a JSON object by name; nothing where it is none."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: int(level) for name, level in found.items() if _NUMBER.fullmatch(str(level))}


def is_nonce_choice(text: str) -> bool:
    """Tell whether the text is `true`, `false` or empty."""
    return text in _CHOICES


_LIFESPAN_OF_KIND: Final = "actionTokenGeneratedByUserLifespan."
_LONGEST_NUMBER: Final = 10
WEBHOOK_URL: Final = "realmgate.webhook.url"
WEBHOOK_SECRET: Final = "realmgate.webhook.secret"  # noqa: S105 - the name of the attribute
WEBHOOK_EVENTS: Final = "realmgate.webhook.events"
SHORTEST_WEBHOOK_SECRET: Final = 16
"""Characters."""
LONGEST_WEBHOOK_SECRET: Final = 255
_LONGEST_URL: Final = 2048
_URL: Final = re.compile(r"https?://[A-Za-z0-9._\[\]:-]+(?:[/?][!-;=?-\[\]_a-z~]*)?")
_CACHED_OCTETS: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where events go, the secret that signs them, and the names of those that are sent."""

    url: str = field(repr=False)
    secret: Secret
    events: frozenset[str]


def _parse_webhook(attributes: Mapping[str, str], secret: Secret | None) -> Webhook | None:
    url = attributes.get(WEBHOOK_URL, "")
    if secret is None or not is_webhook_url(url):
        return None
    return Webhook(url, secret, _names(attributes.get(WEBHOOK_EVENTS, "")))


def is_webhook_url(text: str) -> bool:
    """Tell whether the text is a URL without user and fragment; http is the operator's choice."""
    return len(text) <= _LONGEST_URL and _URL.fullmatch(text) is not None


def are_event_names(text: str) -> bool:
    """Tell whether the text lists names of events, with commas or spaces between them."""
    return set(_listed(text)) <= KIND_OF.keys()


def _listed(text: str) -> list[str]:
    return text.replace(",", " ").split()


@cached(_CACHED_OCTETS)
def _names(text: str) -> frozenset[str]:
    return frozenset(_listed(text) or SAVED_BY_DEFAULT)


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
    """`defaultSignatureAlgorithm`: signs where the client names none; None means RS256."""
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
    """Settings without a rule, by JSON name, that differ from Keycloak's default."""
    later: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Stored members that a later version has added; only storage reads them."""
    signature_algorithm: SigningAlgorithm = field(init=False, repr=False, compare=False)
    """The algorithm that signs tokens of clients that name no other."""
    certificates: CertificateSettings = field(init=False, repr=False, compare=False)
    protocol: ProtocolSettings = field(init=False, repr=False, compare=False)
    appearance: Appearance = field(init=False, repr=False, compare=False)
    link_lifespans: Mapping[str, timedelta] = field(init=False, repr=False, compare=False)
    """`actionTokenGeneratedByUserLifespan.<kind>`: links that users ask for, by kind of link."""
    admin_events_expiration: timedelta = field(init=False, repr=False, compare=False)
    """`adminEventsExpiration`: how long stored administrative events are kept; 0 is for ever."""
    has_free_attributes: bool = field(init=False, repr=False, compare=False)
    """`userProfileEnabled` is "false": the attributes of users have no rules."""
    webhook: Webhook | None = field(init=False, repr=False, compare=False)
    """Where events go; None without a usable address and a secret."""

    def __post_init__(self) -> None:
        """Parse the groups that `attributes` hold, once: rules read them at every request."""
        attributes = self.attributes
        signing = self.default_signature_algorithm or SignatureAlgorithm.RS256
        object.__setattr__(self, "signature_algorithm", signing)
        object.__setattr__(self, "certificates", parse_certificate_settings(attributes))
        object.__setattr__(self, "protocol", _parse_protocol_settings(attributes))
        object.__setattr__(self, "appearance", _parse_appearance(attributes))
        lifespans = {
            name.removeprefix(_LIFESPAN_OF_KIND): timedelta(seconds=int(text))
            for name, text in attributes.items()
            if name.startswith(_LIFESPAN_OF_KIND) and _NUMBER.fullmatch(text) and int(text)
        }
        object.__setattr__(self, "link_lifespans", lifespans)
        text = attributes.get("adminEventsExpiration", "")
        seconds = int(text) if text.isdecimal() and len(text) <= _LONGEST_NUMBER else 0
        object.__setattr__(self, "admin_events_expiration", timedelta(seconds=seconds))
        is_free = attributes.get("userProfileEnabled") == "false"
        object.__setattr__(self, "has_free_attributes", is_free)
        object.__setattr__(self, "webhook", _parse_webhook(attributes, self.webhook_secret))

    @property
    def default_role_name(self) -> str:
        """The name of the role that every new user has; a new name of the realm leaves it."""
        return self.default_role or f"default-roles-{self.name.lower()}"

    def named(self, name: str) -> "Realm":
        """Return the realm under another name, its default role under the name it has."""
        default = self.default_role_name
        default = "" if default == f"default-roles-{name.lower()}" else default
        return replace(self, name=name, default_role=default)


FAILURES_PER_ADDRESS: Final = "realmgate.bruteForce.failuresPerAddress"


def is_failure_limit(text: str) -> bool:
    """Tell whether the text is a number of failures; the empty one is 0."""
    return not text or _NUMBER.fullmatch(text) is not None


def brute_force_rules(realm: Realm) -> BruteForce:
    """Return the rules of the guard, with the failures that lock one address out."""
    text = realm.attributes.get(FAILURES_PER_ADDRESS, "")
    if not text or not is_failure_limit(text):
        return realm.brute_force
    return replace(realm.brute_force, failures_per_address=int(text))
