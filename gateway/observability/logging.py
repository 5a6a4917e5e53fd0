"""One JSON object a line on standard output, from the gateway and from libraries.

A line has the fields it was written with and no others: data of a request is on the request's own
line. Every line passes `redact`; only the time is added after it.
"""

import io
import logging
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, BinaryIO

import orjson
import structlog
from structlog.typing import EventDict, Processor

from gateway.domain.clock import Clock
from gateway.observability.redaction import redact, redact_text

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
        return _encode({"time": _iso(clock.now()), **event})

    # Each processor costs a call for every line: the time is added where the line is encoded.
    return [
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        redact,
        render,
    ]


def _iso(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _encode(event: Mapping[str, Any]) -> bytes:
    return orjson.dumps(event, default=lambda value: redact_text(str(value)))


class _IntoStructlog(logging.Handler):
    """Turns a library's log record into a line of the gateway."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger().log(
            record.levelno,
            record.getMessage(),
            logger=record.name,
            **({"exc_info": record.exc_info} if record.exc_info else {}),
        )
