"""Mails that wait to be sent: stored with what causes them, sent afterwards by any worker.

attacks E8
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.mail.message import Mail

LONGEST_WAIT: Final = timedelta(hours=24)
"""After this a mail is given up: a mail server that is away for a day needs its operator."""
KEPT_AFTERWARDS: Final = timedelta(days=7)
"""How long a mail that was given up can be listed."""
PERIOD: Final = timedelta(hours=1)
"""The limit of a user counts mails of this time; a mail that was sent is kept as long."""
MOST_OF_USER: Final = 10
"""Mails to one user in a period: more than a person asks for, and no flood."""
MOST_WAITING: Final = 100_000
"""Mails of one realm that may wait: a dead mail server must not fill the database."""
_FIRST_DELAY: Final = timedelta(seconds=15)
_LONGEST_DELAY: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class QueuedMail:
    """A mail in the queue."""

    mail: Mail
    user_id: str
    attempts: int = 0
    """How often a gateway has begun to send it."""

    def next_attempt_at(self, now: datetime) -> datetime | None:
        """Return when to send it again after a failure; None where it is given up."""
        # A bounded exponent: the number would grow beyond what a duration can be.
        delay = min(_FIRST_DELAY * 2 ** min(max(self.attempts - 1, 0), 10), _LONGEST_DELAY)
        is_last = now + delay > self.mail.created_at + LONGEST_WAIT
        return None if is_last else now + delay


@dataclass(frozen=True, slots=True)
class MailStatus:
    """A mail that waits, or was given up, as an operator sees it: without its link."""

    id: str
    user_id: str
    kind: str
    created_at: datetime
    attempts: int
    due_at: datetime | None
    failed_at: datetime | None
    reason: str | None
    """Why the last attempt failed."""
