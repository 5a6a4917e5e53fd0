"""The one source of the current instant."""

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


class Clock(Protocol):
    """Tells the current instant; rules take one as an argument so that tests can set it."""

    def now(self) -> datetime:
        """Return the current instant, timezone-aware, in UTC."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)
