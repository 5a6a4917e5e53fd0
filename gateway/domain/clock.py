"""The one source of the current instant, and instants as numbers."""

from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

CLOCK_LEEWAY: Final = timedelta(seconds=15)
"""How far the clocks of two gateways may differ before anything goes wrong.

It is granted where an instant that one gateway wrote is compared with one that another wrote, and
where that can only keep a session that its user began: session starts and session ends. It is not
granted to `notBefore`, to revocations and to the expiry of tokens: a revoked or expired token gets
no second more by it.
"""
LARGEST_SKEW: Final = timedelta(minutes=1)
"""A gateway whose clock is further from those of the stores is not ready."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


def instant_of(microseconds: int) -> datetime:
    """Return the instant that many microseconds after 1970."""
    return EPOCH + microseconds * MICROSECOND


def microseconds_of(instant: datetime) -> int:
    """Return the microseconds since 1970; a naive instant raises TypeError."""
    return (instant - EPOCH) // MICROSECOND


class Clock(Protocol):
    """Tells the current instant; rules take one as an argument so that tests can set it."""

    def now(self) -> datetime:
        """Return the current instant, timezone-aware, in UTC."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)
