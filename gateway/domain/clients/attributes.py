"""Settings of a client among its attributes, parsed once, and the kinds of their values.

The attributes themselves are kept verbatim. A value that was stored before it was checked, and
cannot be parsed, inherits the realm's setting, or fails closed: an unknown algorithm signs nothing,
an unreadable time of expiration has passed, and an unreadable name or template of
`realmgate.certificate.*` matches no certificate. Keycloak: client attributes (26.7)
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gateway.domain.certificate_names import (
    CLAIM_NAME,
    WILDCARD,
    CertificateName,
    CertificateTemplate,
)
from gateway.domain.clients.client import LONGEST_DEVICE_LOCK, Client, DeviceSettings
from gateway.domain.clients.settings import (
    ANY_ALGORITHM,
    UNREADABLE_TIME,
    ChosenAlgorithm,
    ChosenContentEncryption,
    ChosenKeyManagement,
)
from gateway.domain.keys import ALGORITHMS_OF_CLIENTS, ContentEncryption, KeyManagement
from gateway.domain.realm import (
    OVERLAP_FORM,
    RENEWAL_OVERLAP,
    is_overlap,
    parse_levels,
    parse_overlap,
)

_ALGORITHMS: Final = {str(algorithm): algorithm for algorithm in ALGORITHMS_OF_CLIENTS}
_KEY_MANAGEMENT: Final = {str(algorithm): algorithm for algorithm in KeyManagement}
_CONTENT_ENCRYPTION: Final = {str(algorithm): algorithm for algorithm in ContentEncryption}
_OF_REALM_KEYS: Final = tuple(algorithm for algorithm in KeyManagement if algorithm.uses_rsa)
_WHY_NOT_RSA1_5: Final = "RSA1_5 reveals content to Bleichenbacher's attack (RFC 8725 §3.2)"
_SAME_SESSION: Final = "SAME_SESSION"
_SEPARATOR: Final = "##"
_MOST: Final = 2**31 - 1
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)

ValueCheck = Callable[[str], str | None]
"""Returns what is allowed where the text is refused, None where it is accepted."""


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """A kind of values. Without a `check` every text is accepted."""

    parse: Callable[[str], Any]
    check: ValueCheck | None = None


def _is_true(text: str) -> bool:
    return text.lower() == "true"


def _is_not_false(text: str) -> bool:
    return text.lower() != "false"


def _lifespan(text: str) -> timedelta | None:
    return _seconds(text) if text.lstrip("-").isdecimal() else None


def _limit(text: str) -> timedelta:
    return (_seconds(text) if text.isdecimal() else None) or timedelta()


def _seconds(text: str) -> timedelta | None:
    """Return a duration, at most the longest there is; None for what is no number."""
    try:
        return timedelta(seconds=int(text))
    except OverflowError:
        return timedelta.max
    except ValueError:
        return None


def _instant(text: str) -> datetime | None:
    """Return the instant of seconds since 1970; None for zero."""
    try:
        seconds = int(text or 0)
    except ValueError:
        return UNREADABLE_TIME
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, ValueError, OSError):
        return _LATEST if seconds > 0 else _EARLIEST


def _algorithm(text: str) -> ChosenAlgorithm:
    return _ALGORITHMS.get(text, text) or None


def _key_management(text: str) -> ChosenKeyManagement:
    return _KEY_MANAGEMENT.get(text, text) or None


def _content_encryption(text: str) -> ChosenContentEncryption:
    return _CONTENT_ENCRYPTION.get(text, text) or None


def _list(text: str) -> tuple[str, ...]:
    return tuple(item for item in text.split(_SEPARATOR) if item)


def _flag_problem(text: str) -> str | None:
    return None if text in {"true", "false"} else '"true" or "false"'


def _refreshes_exchanges(text: str) -> bool:
    return text == _SAME_SESSION


def _exchange_refresh_problem(text: str) -> str | None:
    return None if text in {"", "NO", _SAME_SESSION} else f'"NO" or "{_SAME_SESSION}"'


def _seconds_problem(text: str) -> str | None:
    fine = re.fullmatch("-1|[0-9]{1,10}", text) and int(text) <= _MOST
    return None if fine else f"-1, or whole seconds up to {_MOST}"


def _instant_problem(text: str) -> str | None:
    fine = re.fullmatch("[0-9]{1,10}", text, re.ASCII)
    return None if fine else "whole seconds since 1970, 0 for never"


def _algorithm_problem(text: str) -> str | None:
    if text in ALGORITHMS_OF_CLIENTS:
        return None
    return "one of " + ", ".join(ALGORITHMS_OF_CLIENTS)


def _key_management_problem(text: str) -> str | None:
    return None if text in {"", *KeyManagement} else _one_of_algorithms(KeyManagement)


def _content_encryption_problem(text: str) -> str | None:
    return None if text in {"", *ContentEncryption} else "one of " + ", ".join(ContentEncryption)


def _request_encryption_problem(text: str) -> str | None:
    accepted = (ANY_ALGORITHM, *_OF_REALM_KEYS)
    return None if text in {"", *accepted} else _one_of_algorithms(accepted)


def _request_content_problem(text: str) -> str | None:
    return None if text == ANY_ALGORITHM else _content_encryption_problem(text)


def _one_of_algorithms(accepted: Iterable[str]) -> str:
    return f"one of {', '.join(accepted)}; {_WHY_NOT_RSA1_5}"


LIST: Final = AttributeValue(_list)
"""Texts with `##` between them."""
LEVELS: Final = AttributeValue(parse_levels)
TEXT: Final = AttributeValue(str.strip)
SWITCH: Final = AttributeValue(_is_true)
"""A flag that accepts any text, and takes all but `true` for false."""
FLAG: Final = AttributeValue(_is_true, _flag_problem)
FLAG_UNLESS_FALSE: Final = AttributeValue(_is_not_false, _flag_problem)
EXCHANGE_REFRESH: Final = AttributeValue(_refreshes_exchanges, _exchange_refresh_problem)
LIFESPAN: Final = AttributeValue(_lifespan, _seconds_problem)
LIMIT: Final = AttributeValue(_limit, _seconds_problem)
INSTANT: Final = AttributeValue(_instant, _instant_problem)
ALGORITHM: Final = AttributeValue(_algorithm, _algorithm_problem)
KEY_MANAGEMENT: Final = AttributeValue(_key_management, _key_management_problem)
CONTENT_ENCRYPTION: Final = AttributeValue(_content_encryption, _content_encryption_problem)
REQUEST_ENCRYPTION: Final = AttributeValue(str.strip, _request_encryption_problem)
REQUEST_CONTENT_ENCRYPTION: Final = AttributeValue(str.strip, _request_content_problem)


_COUNT: Final = re.compile("[1-9][0-9]{0,5}")
_LOCK: Final = re.compile("[1-9][0-9]{0,8}")
_MOST_SECONDS: Final = int(LONGEST_DEVICE_LOCK.total_seconds())


def name_of(kind: str) -> AttributeValue:
    """Return the kind of values that are a name of a certificate; a malformed one is none."""

    def parse(text: str) -> CertificateName | None:
        try:
            return CertificateName.of_kind(kind, text.strip())
        except ValueError:
            return None

    def problem(text: str) -> str | None:
        try:
            CertificateName.of_kind(kind, text.strip())
        except ValueError as error:
            return str(error)
        if kind == "dns" and text.strip().startswith(WILDCARD):
            return "a DNS name without a wildcard"
        return None if text.isprintable() else "text without control characters"

    return AttributeValue(parse, problem)


def read_template(text: str) -> CertificateTemplate | None:
    """Return the template; None for what is none."""
    try:
        return CertificateTemplate.parse_template(text.strip())
    except ValueError:
        return None


def _template_problem(text: str) -> str | None:
    try:
        CertificateTemplate.parse_template(text.strip())
    except ValueError as error:
        return str(error)
    return None


def read_claims(text: str) -> Mapping[str, str]:
    """Return claims by placeholder; none of what is no JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {name: str(claim) for name, claim in found.items()} if isinstance(found, dict) else {}


def _claims_problem(text: str) -> str | None:
    allowed = 'a JSON object of claims by placeholder, such as {"device": "device_id"}'
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return allowed
    fine = isinstance(found, dict) and all(
        isinstance(claim, str) and CLAIM_NAME.fullmatch(claim) for claim in found.values()
    )
    return None if fine else allowed


def _count(text: str) -> int:
    return int(text) if _COUNT.fullmatch(text) else 0


def _count_problem(text: str) -> str | None:
    return None if _COUNT.fullmatch(text) else "a whole number from 1 to 999999"


def _lock_duration(text: str) -> timedelta:
    seconds = _LOCK.fullmatch(text) and int(text)
    return timedelta(seconds=min(seconds or 0, _MOST_SECONDS)) or DeviceSettings().lock_duration


def _lock_problem(text: str) -> str | None:
    fine = _LOCK.fullmatch(text) and int(text) <= _MOST_SECONDS
    return None if fine else f"whole seconds from 1 to {_MOST_SECONDS}"


def _overlap(text: str) -> timedelta | None:
    return parse_overlap(text) if text else None


def _overlap_problem(text: str) -> str | None:
    return None if is_overlap(text) else OVERLAP_FORM


CERTIFICATE_TEMPLATE: Final = AttributeValue(read_template, _template_problem)
TEMPLATE_CLAIM_NAMES: Final = AttributeValue(read_claims, _claims_problem)
COUNT: Final = AttributeValue(_count, _count_problem)
LOCK_DURATION: Final = AttributeValue(_lock_duration, _lock_problem)
OVERLAP: Final = AttributeValue(_overlap, _overlap_problem)


SUBJECT: Final = "x509.subjectdn"
SUBJECT_IS_PATTERN: Final = "x509.allow.regex.pattern.comparison"
AUTHORITY: Final = "x509.casubjectdn"
BOUND: Final = "tls.client.certificate.bound.access.tokens"
CERTIFICATE_PREFIX: Final = "realmgate.certificate."
SAN_DNS: Final = "realmgate.certificate.san.dns"
SAN_URI: Final = "realmgate.certificate.san.uri"
SAN_IP: Final = "realmgate.certificate.san.ip"
SAN_EMAIL: Final = "realmgate.certificate.san.email"
SELF_SIGNED: Final = "realmgate.certificate.self.signed"
TEMPLATE: Final = "realmgate.certificate.template"
TEMPLATE_CLAIMS: Final = "realmgate.certificate.template.claims"
DEVICE_QUOTA: Final = "realmgate.certificate.device.quota"
DEVICE_FAILURES: Final = "realmgate.certificate.device.failures"
DEVICE_LOCK: Final = "realmgate.certificate.device.lock"
CERTIFICATE_ATTRIBUTES: Final = ("jwt.credential.certificate", "jwks.string")
"""Attributes that hold certificates of a client."""
ADMINISTRATIVE_ROLES: Final = "realmgate.administrative.roles"
"""Of exports alone: a JSON list of the administrative roles that tokens may carry."""
SECRET_CREATED: Final = "client.secret.creation.time"  # noqa: S105 - an attribute
SECRET_EXPIRES: Final = "client.secret.expiration.time"  # noqa: S105 - an attribute
ROTATED_SECRET: Final = "client.secret.rotated"  # noqa: S105 - an attribute
ROTATED_CREATED: Final = "client.secret.rotated.creation.time"
ROTATED_EXPIRES: Final = "client.secret.rotated.expiration.time"
SECRET_REMAINING: Final = "client.secret.remaining.expiration.time"  # noqa: S105 - an attribute


def with_attributes(client: Client, attributes: Mapping[str, str]) -> Client:
    """Return the client with these attributes and the settings that they hold."""
    settings = client_settings(attributes, client.document)
    return replace(client, attributes=attributes, **settings)


def client_settings(
    attributes: Mapping[str, str], document: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return all groups of settings by field of `Client`; those at their defaults are shared."""
    found = _of_document(document)
    for name, text in attributes.items():
        setting = _SETTINGS.get(name)
        if setting is not None:
            found.setdefault(setting.group, {})[setting.field] = setting.value.parse(text)
    if not found:
        return _DEFAULTS
    given = {group: type(_DEFAULTS[group])(**values) for group, values in found.items()}
    return {**_DEFAULTS, **given}


_FIELDS: Final[tuple[tuple[str, str, str, type], ...]] = (
    ("rootUrl", "redirects", "root_url", str),
    ("redirectUris", "redirects", "patterns", tuple),
    ("rootUrl", "display", "root_url", str),
    ("baseUrl", "display", "base_url", str),
    ("name", "display", "name", str),
    ("alwaysDisplayInConsole", "display", "always_listed", bool),
    ("rootUrl", "logout", "root_url", str),
    ("frontchannelLogout", "logout", "uses_front_channel", bool),
)
"""Members of the representation: name, group and field of `Client`, type."""


def _of_document(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings by group that are members of the representation."""
    found: dict[str, dict[str, Any]] = {}
    for name, group, field, kind in _FIELDS:
        if value := document.get(name):
            found.setdefault(group, {})[field] = kind(value)
    return found


@dataclass(frozen=True, slots=True)
class _Setting:
    """Where the value of an attribute stands: `field` of the group `group` of the client."""

    group: str
    field: str
    value: AttributeValue
    harmless: str = ""
    """Why it is not part of the reach of a client; empty where it is. See `client.py`."""


_OTHER_TIME: Final = "the same tokens for another time"
_SETTINGS: Final[Mapping[str, _Setting]] = {
    "access.token.lifespan": _Setting("tokens", "access_token_lifespan", LIFESPAN, _OTHER_TIME),
    BOUND: _Setting("tokens", "certificate_bound", FLAG),
    "dpop.bound.access.tokens": _Setting("tokens", "dpop_bound", FLAG),
    "client.use.lightweight.access.token.enabled": _Setting("tokens", "lightweight", SWITCH),
    "use.refresh.tokens": _Setting("tokens", "refresh_tokens", FLAG_UNLESS_FALSE),
    "client_credentials.use_refresh_token": _Setting(
        "tokens", "refresh_tokens_of_service_account", FLAG
    ),
    "standard.token.exchange.enabled": _Setting("tokens", "exchange", FLAG),
    "standard.token.exchange.enableRefreshRequestedTokenType": _Setting(
        "tokens", "exchange_refreshes", EXCHANGE_REFRESH
    ),
    "token.response.type.bearer.lower-case": _Setting("tokens", "lower_case_type", FLAG),
    "client.session.idle.timeout": _Setting("session_limits", "idle", LIMIT, _OTHER_TIME),
    "client.session.max.lifespan": _Setting("session_limits", "max_lifespan", LIMIT, _OTHER_TIME),
    "client.offline.session.idle.timeout": _Setting(
        "session_limits", "offline_idle", LIMIT, _OTHER_TIME
    ),
    "client.offline.session.max.lifespan": _Setting(
        "session_limits", "offline_max_lifespan", LIMIT, _OTHER_TIME
    ),
    "access.token.signed.response.alg": _Setting("signing", "access_token", ALGORITHM),
    "id.token.signed.response.alg": _Setting("signing", "id_token", ALGORITHM),
    "id.token.as.detached.signature": _Setting("signing", "id_token_as_detached_signature", SWITCH),
    "user.info.response.signature.alg": _Setting("signing", "userinfo", ALGORITHM),
    "access.token.header.type.rfc9068": _Setting("signing", "rfc9068_header", FLAG),
    "client.introspection.response.allow.jwt.claim.enabled": _Setting(
        "signing", "introspection_jwt", FLAG
    ),
    "authorization.signed.response.alg": _Setting("signing", "authorization_response", ALGORITHM),
    "id.token.encrypted.response.alg": _Setting("encryption", "id_token", KEY_MANAGEMENT),
    "id.token.encrypted.response.enc": _Setting(
        "encryption", "id_token_content", CONTENT_ENCRYPTION
    ),
    "user.info.encrypted.response.alg": _Setting("encryption", "userinfo", KEY_MANAGEMENT),
    "user.info.encrypted.response.enc": _Setting(
        "encryption", "userinfo_content", CONTENT_ENCRYPTION
    ),
    "authorization.encrypted.response.alg": _Setting(
        "encryption", "authorization_response", KEY_MANAGEMENT
    ),
    "authorization.encrypted.response.enc": _Setting(
        "encryption", "authorization_response_content", CONTENT_ENCRYPTION
    ),
    "post.logout.redirect.uris": _Setting("redirects", "after_logout", LIST),
    "backchannel.logout.url": _Setting("logout", "back_channel_path", TEXT),
    "backchannel.logout.session.required": _Setting(
        "logout", "back_channel_session_required", SWITCH
    ),
    "backchannel.logout.revoke.offline.tokens": _Setting("logout", "revoke_offline_tokens", SWITCH),
    "frontchannel.logout.url": _Setting("logout", "front_channel_path", TEXT),
    "frontchannel.logout.session.required": _Setting(
        "logout", "front_channel_session_required", SWITCH
    ),
    "logout.confirmation.enabled": _Setting("logout", "stops_at_page", SWITCH),
    "allow.oidc.params.in.redirect.uris": _Setting("redirects", "may_hold_response", SWITCH),
    "pkce.code.challenge.method": _Setting("authorization", "code_challenge_method", TEXT),
    "require.pushed.authorization.requests": _Setting(
        "authorization", "pushed_requests_only", SWITCH
    ),
    "exclude.issuer.from.auth.response": _Setting("authorization", "exclude_issuer", SWITCH),
    "exclude.session.state.from.auth.response": _Setting(
        "authorization", "exclude_session_state", SWITCH
    ),
    "oauth2.device.authorization.grant.enabled": _Setting("device_grant", "enabled", SWITCH),
    "oauth2.device.code.lifespan": _Setting("device_grant", "code_lifespan", LIMIT),
    "oauth2.device.polling.interval": _Setting("device_grant", "polling_interval", LIMIT),
    "acr.loa.map": _Setting("levels", "names", LEVELS),
    "default.acr.values": _Setting("levels", "default", LIST),
    "minimum.acr.value": _Setting("levels", "minimum", TEXT),
    "request.object.signature.alg": _Setting("request_objects", "algorithm", TEXT),
    "request.object.encryption.alg": _Setting("request_objects", "encryption", REQUEST_ENCRYPTION),
    "request.object.encryption.enc": _Setting(
        "request_objects", "content_encryption", REQUEST_CONTENT_ENCRYPTION
    ),
    "request.object.required": _Setting("request_objects", "required", TEXT),
    "request.uris": _Setting("request_objects", "uris", LIST),
    "jwks.string": _Setting("verification_keys", "key_set", TEXT),
    "use.jwks.string": _Setting("verification_keys", "uses_key_set", SWITCH),
    "jwks.url": _Setting("verification_keys", "key_set_url", TEXT),
    "use.jwks.url": _Setting("verification_keys", "uses_key_set_url", SWITCH),
    "jwt.credential.certificate": _Setting("verification_keys", "certificate", TEXT),
    "jwt.credential.public.key": _Setting("verification_keys", "public_key", TEXT),
    "token.endpoint.auth.signing.alg": _Setting("assertions", "algorithm", TEXT),
    "token.endpoint.auth.signing.max.exp": _Setting("assertions", "max_lifespan", LIMIT),
    "logoUri": _Setting("display", "logo_uri", TEXT, "a link for users"),
    "policyUri": _Setting("display", "policy_uri", TEXT, "a link for users"),
    "tosUri": _Setting("display", "terms_uri", TEXT, "a link for users"),
    "login_theme": _Setting("display", "theme", TEXT),
    SUBJECT: _Setting("certificate_authentication", "subject", TEXT),
    SUBJECT_IS_PATTERN: _Setting("certificate_authentication", "is_pattern", FLAG),
    AUTHORITY: _Setting("certificate_authentication", "authority", TEXT),
    SAN_DNS: _Setting("certificate_authentication", "alternative_name", name_of("dns")),
    SAN_URI: _Setting("certificate_authentication", "alternative_name", name_of("uri")),
    SAN_IP: _Setting("certificate_authentication", "alternative_name", name_of("ip")),
    SAN_EMAIL: _Setting("certificate_authentication", "alternative_name", name_of("email")),
    SELF_SIGNED: _Setting("certificate_authentication", "self_signed", FLAG),
    TEMPLATE: _Setting("devices", "template", CERTIFICATE_TEMPLATE),
    TEMPLATE_CLAIMS: _Setting("devices", "claims", TEMPLATE_CLAIM_NAMES),
    DEVICE_QUOTA: _Setting("devices", "tokens_per_minute", COUNT),
    DEVICE_FAILURES: _Setting("devices", "failures", COUNT),
    RENEWAL_OVERLAP: _Setting("tokens", "renewal_overlap", OVERLAP),
    DEVICE_LOCK: _Setting("devices", "lock_duration", LOCK_DURATION),
    "client.secret.authentication.allowed.method": _Setting(
        "secret_settings", "allowed_method", TEXT
    ),
    SECRET_EXPIRES: _Setting("secret_settings", "expires_at", INSTANT),
    ROTATED_EXPIRES: _Setting("secret_settings", "rotated_expires_at", INSTANT),
}
SETTING_ATTRIBUTES: Final = frozenset(_SETTINGS)
"""The attributes that rules read."""
HARMLESS_SETTINGS: Final[Mapping[str, str]] = {
    name: setting.harmless for name, setting in _SETTINGS.items() if setting.harmless
}
"""The attributes that are not part of the reach of a client, and why."""
_GROUPS: Final = frozenset(setting.group for setting in _SETTINGS.values())
_DEFAULTS: Final[Mapping[str, Any]] = {
    item.name: item.default for item in fields(Client) if item.name in _GROUPS
}
_CHECKED_ONLY: Final = {
    SECRET_CREATED: INSTANT,
    ROTATED_CREATED: INSTANT,
}
"""Attributes that are validated though no rule reads them."""
CHECKS: Final[Mapping[str, ValueCheck]] = {
    name: value.check
    for name, value in (
        *((name, setting.value) for name, setting in _SETTINGS.items()),
        *_CHECKED_ONLY.items(),
    )
    if value.check
}
"""Attribute -> the check of its text, where any text is refused."""
