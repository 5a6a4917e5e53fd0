"""The kinds of values that attributes of clients take: how each is parsed, and what is refused.

What was stored before it was checked, and cannot be parsed, inherits the realm's setting, or fails
closed: an unknown algorithm signs nothing, an unreadable time of expiration has passed.
Keycloak: client attributes (26.7)
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gateway.domain.clients import (
    ANY_ALGORITHM,
    UNREADABLE_TIME,
    ChosenAlgorithm,
    ChosenContentEncryption,
    ChosenKeyManagement,
)
from gateway.domain.keys import ALGORITHMS_OF_CLIENTS, ContentEncryption, KeyManagement
from gateway.domain.realm import parse_levels
from gateway.representations.shapes import MAX_INTEGER

_ALGORITHMS: Final = {str(algorithm): algorithm for algorithm in ALGORITHMS_OF_CLIENTS}
_KEY_MANAGEMENT: Final = {str(algorithm): algorithm for algorithm in KeyManagement}
_CONTENT_ENCRYPTION: Final = {str(algorithm): algorithm for algorithm in ContentEncryption}
_OF_REALM_KEYS: Final = tuple(algorithm for algorithm in KeyManagement if algorithm.uses_rsa)
_WHY_NOT_RSA1_5: Final = "RSA1_5 reveals content to Bleichenbacher's attack (RFC 8725 §3.2)"
_SAME_SESSION: Final = "SAME_SESSION"
_SEPARATOR: Final = "##"
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
    fine = re.fullmatch("-1|[0-9]{1,10}", text) and int(text) <= MAX_INTEGER
    return None if fine else f"-1, or whole seconds up to {MAX_INTEGER}"


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
