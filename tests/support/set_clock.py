"""A clock that tests set."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(slots=True)
class SetClock:
    """Tells the instant it was set to."""

    instant: datetime

    def now(self) -> datetime:
        """Return the instant."""
        return self.instant

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self.instant += by
