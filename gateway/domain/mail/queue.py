"""Mails that wait to be sent: stored with what causes them, sent afterwards by any worker.

attacks E8
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.deliveries import RetrySchedule
from gateway.domain.mail.message import (
    CAUSED_BY_STRANGERS,
    NOTIFICATIONS,
    Mail,
    MailKind,
)

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
MOST_NOTIFICATIONS_OF_USER: Final = 5
"""Notifications of one sort to one user in a period: a guesser of passwords causes some."""
MOST_NOTIFICATIONS_WAITING: Final = 20_000
"""Notifications of one sort and realm that may wait."""
_MOST_ABOUT_EXPIRY: Final = 100
"""Mails about what expires that a realm queues in a period, or that wait."""
_SCHEDULE: Final = RetrySchedule(
    first_delay=timedelta(seconds=15),
    longest_delay=timedelta(minutes=15),
    longest_wait=LONGEST_WAIT,
)


@dataclass(frozen=True, slots=True)
class MailLimit:
    """How many mails of a sort there may be: to one user in a period, and waiting in a realm.

    Sorts are counted apart. What strangers cause keeps no mail back that a user has asked for, and
    none that says what was changed in the account.
    """

    kinds: frozenset[MailKind]
    of_user: int
    waiting: int


_RESETS: Final = frozenset({MailKind.PASSWORD_RESET})
"""Mails that a user, or a caller who knows the user name, asks for."""
_ABOUT_EXPIRY: Final = frozenset({MailKind.CERTIFICATES_EXPIRE})
"""At most one a day to each recipient of a realm."""
_LIMITS: Final = (
    MailLimit(_ABOUT_EXPIRY, _MOST_ABOUT_EXPIRY, _MOST_ABOUT_EXPIRY),
    MailLimit(CAUSED_BY_STRANGERS, MOST_NOTIFICATIONS_OF_USER, MOST_NOTIFICATIONS_WAITING),
    MailLimit(
        NOTIFICATIONS - CAUSED_BY_STRANGERS - _ABOUT_EXPIRY,
        MOST_NOTIFICATIONS_OF_USER,
        MOST_NOTIFICATIONS_WAITING,
    ),
    MailLimit(_RESETS, MOST_OF_USER, MOST_WAITING),
    MailLimit(frozenset(MailKind) - NOTIFICATIONS - _RESETS, MOST_OF_USER, MOST_WAITING),
)


def limit_of(kind: MailKind) -> MailLimit:
    """Return the limit of the sort that a mail is of."""
    return next(limit for limit in _LIMITS if kind in limit.kinds)


@dataclass(frozen=True, slots=True)
class QueuedMail:
    """A mail in the queue."""

    mail: Mail
    user_id: str | None
    """None for a mail that goes to no user of the realm."""
    attempts: int = 0
    """How often a gateway has begun to send it."""
    is_dry_run: bool = False
    """Nothing is sent: adding it takes as long as a mail, where there is no user (attacks: D11)."""

    @property
    def realm_id(self) -> str:
        return self.mail.realm_id

    def next_attempt_at(self, now: datetime) -> datetime | None:
        """Return when to send it again after a failure; None where it is given up."""
        return _SCHEDULE.next_attempt_at(self.attempts, self.mail.created_at, now)


@dataclass(frozen=True, slots=True)
class MailStatus:
    """A mail that waits, or was given up, as an operator sees it: without its link."""

    id: str
    user_id: str | None
    kind: str
    created_at: datetime
    attempts: int
    due_at: datetime | None
    failed_at: datetime | None
    reason: str | None
    """Why the last attempt failed."""
