"""Mails that wait to be sent: stored with what causes them, sent afterwards by any worker.

attacks E8
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from gateway.domain.deliveries import RetrySchedule
from gateway.domain.limits.rate_limits import RESETS_OF_USER
from gateway.domain.mail.message import (
    NOTIFICATIONS,
    Mail,
    MailKind,
)

LONGEST_WAIT: Final = timedelta(hours=24)
"""After this a mail is given up: a mail server that is away for a day needs its operator."""
KEPT_AFTERWARDS: Final = timedelta(days=7)
"""How long a mail that was given up can be listed."""
_FIRST_PERIOD: Final = datetime(1970, 1, 1, tzinfo=UTC)
PERIOD: Final = timedelta(hours=1)
"""The limit of a user counts mails of this time; a mail that was sent is kept as long."""
MOST_OF_USER: Final = 10
"""Mails to one user in a period: more than a person asks for, and no flood."""
MOST_RESETS_OF_USER: Final = RESETS_OF_USER.in_all + RESETS_OF_USER.of_known
"""Links of resets in a period: those of `RESETS_OF_USER`, which shares them among networks."""
MOST_WAITING: Final = 100_000
"""Mails of one realm that may wait: a dead mail server must not fill the database."""
MOST_NOTIFICATIONS_OF_USER: Final = 5
"""Notifications of one kind to one user in a period: a guesser of passwords causes some."""
MOST_RECIPIENTS_OF_USER: Final = 20
"""Notifications of one kind in a period, those included that are sent at its end."""
MOST_NOTIFICATIONS_WAITING: Final = 20_000
"""Notifications of one kind and realm that may wait."""
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

    Sorts are counted apart: mails that users ask for, links that administrators send, and each
    kind of notification. So neither strangers nor a thief of the account keep a mail back that says
    what was changed, or one that a user or an administrator has asked for.
    """

    kinds: frozenset[MailKind]
    of_user: int
    waiting: int
    is_summed_up: bool = False
    """Further mails of the period become one mail to each recipient, sent at its end."""
    same_work: bool = False
    """A refusal costs as much as a mail: it must not tell whether there is an account."""


_RESETS: Final = frozenset({MailKind.PASSWORD_RESET})
"""Mails that a user, or a caller who knows the user name, asks for."""
_ABOUT_EXPIRY: Final = frozenset({MailKind.CERTIFICATES_EXPIRE})
"""At most one a day to each recipient of a realm."""
_BY_ADMINISTRATORS: Final = frozenset({MailKind.EXECUTE_ACTIONS, MailKind.TEST})
_LIMITS: Final = (
    MailLimit(_ABOUT_EXPIRY, _MOST_ABOUT_EXPIRY, _MOST_ABOUT_EXPIRY),
    *(
        MailLimit(
            frozenset({kind}),
            MOST_NOTIFICATIONS_OF_USER,
            MOST_NOTIFICATIONS_WAITING,
            is_summed_up=True,
        )
        for kind in sorted(NOTIFICATIONS - _ABOUT_EXPIRY)
    ),
    MailLimit(_RESETS, MOST_RESETS_OF_USER, MOST_WAITING, same_work=True),
    MailLimit(_BY_ADMINISTRATORS, MOST_OF_USER, MOST_WAITING),
    MailLimit(
        frozenset(MailKind) - NOTIFICATIONS - _RESETS - _BY_ADMINISTRATORS,
        MOST_OF_USER,
        MOST_WAITING,
    ),
)


def period_end(instant: datetime) -> datetime:
    """Return the end of the period that an instant is in."""
    return instant + PERIOD - (instant - _FIRST_PERIOD) % PERIOD


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
