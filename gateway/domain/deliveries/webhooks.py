"""Events that wait for the webhook of their realm: stored with the event, sent afterwards."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.deliveries.delivery import RetrySchedule
from gateway.domain.errors import RealmgateError

LONGEST_WAIT: Final = timedelta(hours=24)
"""After this an event is given up."""
KEPT_AFTERWARDS: Final = timedelta(days=7)
"""How long an event that was given up can be listed, and sent again."""
MOST_WAITING: Final = 100_000
"""Events of one realm that may wait; further ones are dropped, and counted in the log."""
_SCHEDULE: Final = RetrySchedule(
    first_delay=timedelta(seconds=15),
    longest_delay=timedelta(minutes=15),
    longest_wait=LONGEST_WAIT,
)


class WebhookNotReceived(RealmgateError):
    """The receiver did not confirm an event. `str()` is the reason, for logs and operators only.

    `is_final` where the receiver has answered that it takes no more.
    """

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """An event for the webhook of its realm; `id` is that of the event, `body` JSON."""

    realm_id: str
    id: str
    body: str = field(repr=False)
    created_at: datetime
    attempts: int = 0
    """How often a gateway has begun to send it."""

    def next_attempt_at(self, now: datetime) -> datetime | None:
        """Return when to send it again after a failure; None where it is given up."""
        return _SCHEDULE.next_attempt_at(self.attempts, self.created_at, now)


@dataclass(frozen=True, slots=True)
class WebhookStatus:
    """An event that waits, or was given up, as an operator sees it."""

    id: str
    created_at: datetime
    attempts: int
    due_at: datetime | None
    failed_at: datetime | None
    reason: str | None
