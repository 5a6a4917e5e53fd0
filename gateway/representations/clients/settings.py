"""Settings of a client that stand among its attributes, parsed once: rules read the result.

The attributes themselves are kept verbatim. What was stored before it was checked, and cannot be
parsed, inherits the realm's setting, or fails closed: an unknown algorithm signs nothing, an
unreadable time of expiration has passed. Keycloak: client attributes (26.7)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gateway.domain.clients import UNREADABLE_TIME, ChosenAlgorithm, Client
from gateway.domain.keys import ALGORITHMS_OF_CLIENTS

SUBJECT: Final = "x509.subjectdn"
SUBJECT_IS_PATTERN: Final = "x509.allow.regex.pattern.comparison"
SECRET_CREATED: Final = "client.secret.creation.time"  # noqa: S105 - an attribute
SECRET_EXPIRES: Final = "client.secret.expiration.time"  # noqa: S105 - an attribute
ROTATED_SECRET: Final = "client.secret.rotated"  # noqa: S105 - an attribute
ROTATED_CREATED: Final = "client.secret.rotated.creation.time"
ROTATED_EXPIRES: Final = "client.secret.rotated.expiration.time"
SECRET_REMAINING: Final = "client.secret.remaining.expiration.time"  # noqa: S105 - an attribute
SECRET_TIMES: Final = (SECRET_CREATED, SECRET_EXPIRES, ROTATED_CREATED, ROTATED_EXPIRES)
ALGORITHM_ATTRIBUTES: Final = (
    "access.token.signed.response.alg",
    "id.token.signed.response.alg",
    "user.info.response.signature.alg",
)
_ALGORITHMS: Final = {str(algorithm): algorithm for algorithm in ALGORITHMS_OF_CLIENTS}
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


def with_attributes(client: Client, attributes: Mapping[str, str]) -> Client:
    """Return the client with these attributes and the settings that they hold."""
    return replace(client, attributes=attributes, **client_settings(attributes))


def client_settings(attributes: Mapping[str, str]) -> Mapping[str, Any]:
    """Return all groups of settings by field of `Client`; those at their defaults are shared."""
    found: dict[str, dict[str, Any]] = {}
    for name, text in attributes.items():
        setting = _SETTINGS.get(name)
        if setting is not None:
            found.setdefault(setting.group, {})[setting.field] = setting.parse(text)
    if not found:
        return _DEFAULTS
    given = {group: type(_DEFAULTS[group])(**values) for group, values in found.items()}
    return {**_DEFAULTS, **given}


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


@dataclass(frozen=True, slots=True)
class _Setting:
    """Where the value of an attribute stands: `field` of the group `group` of the client."""

    group: str
    field: str
    parse: Callable[[str], Any]


_SETTINGS: Final[Mapping[str, _Setting]] = {
    "access.token.lifespan": _Setting("tokens", "access_token_lifespan", _lifespan),
    "tls.client.certificate.bound.access.tokens": _Setting("tokens", "certificate_bound", _is_true),
    "client.use.lightweight.access.token.enabled": _Setting("tokens", "lightweight", _is_true),
    "use.refresh.tokens": _Setting("tokens", "refresh_tokens", _is_not_false),
    "token.response.type.bearer.lower-case": _Setting("tokens", "lower_case_type", _is_true),
    "client.session.idle.timeout": _Setting("session_limits", "idle", _limit),
    "client.session.max.lifespan": _Setting("session_limits", "max_lifespan", _limit),
    "client.offline.session.idle.timeout": _Setting("session_limits", "offline_idle", _limit),
    "client.offline.session.max.lifespan": _Setting(
        "session_limits", "offline_max_lifespan", _limit
    ),
    ALGORITHM_ATTRIBUTES[0]: _Setting("signing", "access_token", _algorithm),
    ALGORITHM_ATTRIBUTES[1]: _Setting("signing", "id_token", _algorithm),
    ALGORITHM_ATTRIBUTES[2]: _Setting("signing", "userinfo", _algorithm),
    "access.token.header.type.rfc9068": _Setting("signing", "rfc9068_header", _is_true),
    "client.introspection.response.allow.jwt.claim.enabled": _Setting(
        "signing", "introspection_jwt", _is_true
    ),
    SUBJECT: _Setting("certificate_authentication", "subject", str.strip),
    SUBJECT_IS_PATTERN: _Setting("certificate_authentication", "is_pattern", _is_true),
    "client.secret.authentication.allowed.method": _Setting(
        "secret_settings", "allowed_method", str.strip
    ),
    SECRET_EXPIRES: _Setting("secret_settings", "expires_at", _instant),
    ROTATED_EXPIRES: _Setting("secret_settings", "rotated_expires_at", _instant),
}
_GROUPS: Final = frozenset(setting.group for setting in _SETTINGS.values())
_DEFAULTS: Final[Mapping[str, Any]] = {
    item.name: item.default for item in fields(Client) if item.name in _GROUPS
}
