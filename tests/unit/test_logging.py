"""Every line is one JSON object, from our code and from libraries, without secrets."""

import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog

from gateway.observability.logging import configure_logging

CANARY = "canary-4711"


class FixedClock:
    """Always the same instant."""

    def now(self) -> datetime:
        """Return it."""
        return datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


@pytest.fixture
def stream() -> Iterator[io.BytesIO]:
    """Capture what is logged; afterwards logging is as it was."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    captured = io.BytesIO()
    configure_logging("info", FixedClock(), captured)
    yield captured
    root.handlers, root.level = before
    structlog.reset_defaults()


def lines(stream: io.BytesIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_carries_time_level_and_fields(stream: io.BytesIO) -> None:
    structlog.get_logger().warning("token refused", realm="demo", client="demo-device")
    assert lines(stream) == [
        {
            "time": "2026-01-02T03:04:05.678Z",
            "level": "warning",
            "event": "token refused",
            "realm": "demo",
            "client": "demo-device",
        }
    ]


def test_a_librarys_line_and_traceback_take_the_same_way(stream: io.BytesIO) -> None:
    try:
        int(f"password={CANARY}")
    except ValueError:
        logging.getLogger("some.library").exception("Bearer %s failed", CANARY)
    (line,) = lines(stream)
    assert line["logger"] == "some.library"
    assert line["level"] == "error"
    assert "ValueError" in line["exception"]
    assert CANARY not in stream.getvalue().decode()


def test_lines_below_the_level_are_not_written(stream: io.BytesIO) -> None:
    structlog.get_logger().debug("quiet")
    logging.getLogger("some.library").debug("quiet")
    assert lines(stream) == []


def test_a_line_break_cannot_forge_a_second_line(stream: io.BytesIO) -> None:
    structlog.get_logger().info('x\n{"event":"forged"}')
    assert len(lines(stream)) == 1
