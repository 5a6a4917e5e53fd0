"""The queue of notices to clients that sessions have ended."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from gateway.domain.logout_notices import LogoutNotice


class LogoutNoticeQueue(Protocol):
    """Notices that wait to be sent, of all realms. A notice is in it until `remove`."""

    async def add(self, notices: Sequence[LogoutNotice]) -> None:
        """Store notices, due at once; one of a session to a client that waits already stays."""

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        """Return whether any notice is due, of realms that are not `busy`."""

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[LogoutNotice, ...]:
        """Take due notices and count the attempt: those tried least go first, then the longest due.

        None is of a `busy` realm. No other gateway gets them before the lease is over: that of a
        gateway which died is over by itself.
        """

    async def postpone(self, notice: LogoutNotice, due_at: datetime) -> None:
        """Let the notice be due at an instant."""

    async def remove(self, notice: LogoutNotice) -> None:
        """Remove the notice: it was received, or is dropped."""
