"""Runs `realmgate` by a clock that is ahead of the machine's: `skewed_gateway.py SECONDS ...`."""

import sys
from datetime import UTC, datetime, timedelta

from gateway.cli import main
from gateway.domain.clock import SystemClock

if __name__ == "__main__":
    ahead = timedelta(seconds=int(sys.argv.pop(1)))

    def now(_: SystemClock) -> datetime:
        """Return the machine's instant, and what it is ahead."""
        return datetime.now(UTC) + ahead

    setattr(SystemClock, "now", now)  # noqa: B010 - a method is replaced
    main()
