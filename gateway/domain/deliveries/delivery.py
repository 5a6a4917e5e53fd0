"""Deliveries of a queue, their failures, and when they are tried again."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeVar

_MOST_DOUBLINGS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySchedule:
    """When a failed delivery is tried again: after delays that double up to a limit."""

    first_delay: timedelta
    longest_delay: timedelta
    longest_wait: timedelta
    """After this, from its creation, a delivery is given up."""
    most_attempts: int | None = None

    def next_attempt_at(
        self, attempts: int, created_at: datetime, now: datetime
    ) -> datetime | None:
        """Return when to try again after a number of attempts; None to give up."""
        # A bounded exponent: the number would grow beyond what a duration can be.
        doublings = min(max(attempts - 1, 0), _MOST_DOUBLINGS)
        delay = min(self.first_delay * 2**doublings, self.longest_delay)
        is_last = self.most_attempts is not None and attempts >= self.most_attempts
        return None if is_last or now + delay > created_at + self.longest_wait else now + delay


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedDelivery:
    """An attempt that failed. `is_last` where the delivery is given up.

    `subject` says what of it a log line names, such as the id of a mail.
    """

    realm_id: str
    subject: str
    attempts: int
    reason: str
    is_last: bool


class Queued(Protocol):
    """A delivery that a worker has claimed."""

    @property
    def realm_id(self) -> str:
        """The realm, whose servers may be slow."""


Claimed = TypeVar("Claimed", bound=Queued)


class Deliveries(Protocol[Claimed]):
    """Takes due deliveries from a queue, and sends them. Both methods raise StoreUnavailable."""

    async def claim(self, most: int, busy: Collection[str] = ()) -> Sequence[Claimed]:
        """Return due deliveries of realms that are not `busy`, which no other worker gets."""

    async def deliver(self, claimed: Claimed) -> FailedDelivery | None:
        """Send one, and note how it ended in the queue; return the failure."""
