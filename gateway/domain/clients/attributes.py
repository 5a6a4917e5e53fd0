"""Attributes of a client that rules read, and the kinds of their values.

The attributes themselves are kept verbatim. A value that was stored before it was checked, and
cannot be parsed, inherits the realm's setting, or fails closed: an unknown algorithm signs nothing,
an unreadable time of expiration has passed, and an unreadable name or template of
`realmgate.certificate.*` matches no certificate. Keycloak: client attributes (26.7)
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gateway.domain.certificate_names import (
    CLAIM_NAME,
    WILDCARD,
    CertificateName,
    CertificateTemplate,
)
from gateway.domain.keys import (
    ALGORITHMS_OF_CLIENTS,
    ContentEncryption,
    KeyManagement,
    SigningAlgorithm,
)
from gateway.domain.realm import (
    OVERLAP_FORM,
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

ANY_ALGORITHM: Final = "any"
"""`request.object.signature.alg`: whatever the client has a key for, and `none`."""
UNREADABLE_TIME: Final = datetime.fromtimestamp(1, UTC)
"""Stands for a stored time that is no number: it has passed."""
ChosenAlgorithm = SigningAlgorithm | str | None
"""What a client chose: None is the realm's default, a plain str one that nothing signs with."""
ChosenKeyManagement = KeyManagement | str | None
"""None encrypts nothing; a plain str is an algorithm that nothing encrypts with."""
ChosenContentEncryption = ContentEncryption | str | None
"""None is the default, A128CBC-HS256."""
LONGEST_DEVICE_LOCK: Final = timedelta(days=366)
_DEVICE_LOCK: Final = timedelta(minutes=5)

ValueCheck = Callable[[str], str | None]
"""Returns what is allowed where the text is refused, None where it is accepted."""


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """A kind of values. Without a `check` every text is accepted."""

    parse: Callable[[str], Any]
    check: ValueCheck | None = None


def setting(name: str, kind: AttributeValue, *, default: Any = None) -> Any:
    """Return the field of a group of settings that an attribute of the client holds.

    Without a default it is what the empty text stands for.
    """
    value = kind.parse("") if default is None else default
    return field(default_factory=lambda: value, metadata={name: kind})


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
    return timedelta(seconds=min(seconds or 0, _MOST_SECONDS)) or _DEVICE_LOCK


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
ALTERNATIVE_NAMES: Final = {"dns": SAN_DNS, "uri": SAN_URI, "ip": SAN_IP, "email": SAN_EMAIL}
"""The attribute by the kind of the name in the certificate."""
HARMLESS_SETTINGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "access.token.lifespan",
            "client.session.idle.timeout",
            "client.session.max.lifespan",
            "client.offline.session.idle.timeout",
            "client.offline.session.max.lifespan",
        ),
        "the same tokens for another time",
    ),
    **dict.fromkeys(("logoUri", "policyUri", "tosUri"), "a link for users"),
}
"""The attributes that are not part of the reach of a client, and why."""
