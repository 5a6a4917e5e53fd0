"""The queue of mails to users."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Protocol

from gateway.domain.mail import MailStatus, QueuedMail


class MailQueue(Protocol):
    """Mails that wait to be sent, of all realms. A mail waits until `sent` or `give_up`."""

    async def add(self, queued: QueuedMail) -> bool:
        """Store a mail, due at once; return False where a limit of the user or realm is reached.

        A dry run takes as long, and stores no mail. Of notifications beyond the limit of the user,
        one to each recipient is stored that is due at the end of the period.
        """

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        """Return whether any mail is due, of realms that are not `busy`."""

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[QueuedMail, ...]:
        """Take due mails and count the attempt: those tried least go first, then the longest due.

        None is of a `busy` realm. No other gateway gets them before the lease is over: that of a
        gateway which died is over by itself. A mail that the encryption key does not open is given
        up.
        """

    async def postpone(self, queued: QueuedMail, due_at: datetime, reason: str) -> None:
        """Let the mail be due at an instant."""

    async def sent(self, queued: QueuedMail, now: datetime) -> None:
        """Keep the fact that it was sent, for the limit of the user, and no content."""

    async def give_up(self, queued: QueuedMail, now: datetime, reason: str) -> None:
        """Keep the mail as one that cannot be sent, without its content."""

    async def list(self, realm_id: str, first: int, most: int) -> tuple[MailStatus, ...]:
        """Return the mails of a realm that wait or were given up, the oldest first."""

    async def purge(self, now: datetime) -> None:
        """Remove what is kept no longer."""
