"""One JSON object a line on standard output, from the gateway and from libraries, without secrets.

A line has the fields it was written with and no others: data of a request is on the request's own
line. Every line passes `redact`; only the time is added after it. It removes the whole value of a
secret name. In any other text it removes JWTs, PEM blocks (escaped ones too), Authorization
credentials, passwords in addresses, and `name=value` or `"name": "value"` pairs of a secret name,
at any depth. Source: attacks E5, scoreboard S20.
"""

import io
import logging
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, BinaryIO

import orjson
import structlog
from structlog.typing import EventDict, Processor

from gateway.domain.clock import Clock

REDACTED = "[redacted]"

_HIDDEN_NAME = (
    r"(?:[\w-]{0,40}(?:password|passwd|passphrase|secret|authorization|cookie|credential|assertion"
    r"|private[_-]?key|api[_-]?key|encryption[_-]?key|code[_-]?verifier|client[_-]?cert)[\w-]{0,40}"
    r"|[\w-]{0,40}token|code|otp|totp|pem|id_token_hint|state|nonce)"
)
_HARMLESS = frozenset({"client_certificate_thumbprint"})
_KEY = re.compile(_HIDDEN_NAME, re.IGNORECASE)
_PLAIN = frozenset({str, int, float})
_DEEPEST = 16
_LONGEST = 8_192
_LONGEST_KEPT = 64

_SIGN = re.compile(r"[=:\s%+]|eyJ|-----")
_HINTS = (
    *("eyj", "-----begin", "bearer", "basic", "digest", "dpop", "://", "passw", "passphrase"),
    *("secret", "authorization", "cookie", "credential", "assertion", "key", "verifier", "cert"),
    *("token", "code", "otp", "pem", "state", "nonce"),
)
"""A text of one of the forms contains one of these, folded: a tenth of a pattern's cost."""
_SHAPES = (
    (re.compile(r"-----BEGIN.*?(?:-----END[^-]*-----|\Z)", re.DOTALL), REDACTED),
    (re.compile(r"\beyJ[\w-]{5,}(?:\.[\w-]*){0,4}"), REDACTED),
    (re.compile(r"(?i)\b(bearer|basic|digest|dpop)(\s+|%20|\+)[\w.~+/=%-]{6,}"), rf"\1 {REDACTED}"),
    (re.compile(r"(://[^/\s:@]*):[^/\s@]+@"), rf"\1:{REDACTED}@"),
    (
        re.compile(
            rf"(?i)(\b{_HIDDEN_NAME}[\"']?\s*(?:=|:|%3D)\s*)(\"[^\"]*\"|'[^']*'|[^\s&,;\"'}}]+)"
        ),
        rf"\1{REDACTED}",
    ),
)


def redact(_logger: object, _method: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event without secrets: a structlog processor that runs before the renderer."""
    found = {}
    for key, value in event.items():
        # Most values are short names without a sign of a secret: one check, without a call.
        kind, shown = value.__class__, len(key) <= _LONGEST_KEPT and not _hides_short(key)
        if not shown or kind not in _PLAIN:
            found[key] = _value(key, value, 0)
        elif kind is not str or (
            # One word has no sign but `eyJ`: no pattern is needed for it.
            len(value) <= _LONGEST_KEPT
            and ((value.isalnum() and "eyJ" not in value) or not _SIGN.search(value))
        ):
            found[key] = value
        else:
            found[key] = redact_text(value)
    return found


def redact_text(text: str) -> str:
    """Remove secrets from `text` by their form, and cut it to the longest value of a line."""
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "..."
    # Most values are names and identifiers without secrets: two cheap checks first.
    if not _SIGN.search(text) or not any(map(text.casefold().__contains__, _HINTS)):
        return text
    for shape, replacement in _SHAPES:
        text = shape.sub(replacement, text)
    return text


# For every field of every log line: a cache in C costs a fifth of one in Python.
@lru_cache(maxsize=1024)
def _hides_short(key: str) -> bool:
    return _names_secret(key)


def _names_secret(key: str) -> bool:
    name = key.lower()
    return name not in _HARMLESS and _KEY.fullmatch(name) is not None


def _value(key: str, value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    hides = _hides_short(key) if len(key) <= _LONGEST_KEPT else _names_secret(key)
    if hides or depth > _DEEPEST:
        return REDACTED
    if isinstance(value, str):  # first: most values are, and the check for a Mapping is slow
        return redact_text(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _value(str(name), item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_value("", item, depth + 1) for item in value]
    return redact_text(_text(value))


def _text(value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "replace")
    return str(value)


_QUIET_LIBRARIES = ("alembic", "aiosqlite", "asyncio")


def configure_logging(level: str, clock: Clock, stream: BinaryIO | None = None) -> None:
    """Send everything at or above `level` to `stream` (standard output) as JSON lines."""
    least = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=_processors(clock),
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.BytesLoggerFactory(stream or _standard_output()),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [_IntoStructlog()]
    root.setLevel(least)
    for name in _QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(max(least, logging.WARNING))


def _standard_output() -> BinaryIO:
    buffer = getattr(sys.stdout, "buffer", None)
    return buffer if isinstance(buffer, io.BufferedIOBase) else sys.__stdout__.buffer  # type: ignore[union-attr,return-value] # a process has a standard output


def _processors(clock: Clock) -> list[Processor]:
    def render(_logger: object, _method: str, event: EventDict) -> bytes:
        now = clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return orjson.dumps({"time": now, **event}, default=_text_of_other)

    # Each processor costs a call for every line: the time is added where the line is encoded.
    return [
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        redact,
        render,
    ]


def _text_of_other(value: object) -> str:
    return redact_text(str(value))


class _IntoStructlog(logging.Handler):
    """Turns a library's log record into a line of the gateway."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger().log(
            record.levelno,
            record.getMessage(),
            logger=record.name,
            **({"exc_info": record.exc_info} if record.exc_info else {}),
        )
