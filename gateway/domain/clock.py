"""The one source of the current instant."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the current instant; rules take one as an argument so that tests can set it."""

    def now(self) -> datetime:
        """Return the current instant, timezone-aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current instant, timezone-aware, in UTC."""
        return datetime.now(UTC)
