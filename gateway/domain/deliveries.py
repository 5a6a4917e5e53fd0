"""Queues of the background: webhook events and logout notices, their failures and next tries.

Entries are stored with the change that causes them. The worker that stored them is woken and sends
them; any worker sends the entries that it finds due later.
Spec: OpenID Connect Back-Channel Logout §2.5 (a provider may send again what has failed)
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final, Protocol, TypeVar

from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.errors import RealmgateError
from gateway.domain.sessions import UserSession

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
    """A failed attempt; after the last one the delivery is given up. `subject` is for log lines."""

    realm_id: str
    subject: str
    attempts: int
    reason: str
    is_last: bool


class NotDelivered(RealmgateError):
    """An attempt failed; `str()` is for logs. `is_final` where another attempt would fail again."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


class Queued(Protocol):
    """A delivery that a worker has claimed."""

    @property
    def realm_id(self) -> str:
        """The realm, whose servers may be slow."""


class Retried(Queued, Protocol):
    """A delivery that is tried until it succeeds or is given up."""

    @property
    def id(self) -> str:
        """The id of its row in the realm, and its name in logs."""

    @property
    def attempts(self) -> int:
        """How often a gateway has begun to send it."""

    def next_attempt_at(self, now: datetime) -> datetime | None:
        """Return when to send it again after a failure; None where it is given up."""


Claimed = TypeVar("Claimed", bound=Queued)
RetriedT = TypeVar("RetriedT", bound=Retried)


class Deliveries(Protocol[Claimed]):
    """Takes due deliveries from a queue, and sends them. Both methods raise StoreUnavailable."""

    async def claim(self, most: int, busy: Collection[str] = ()) -> Sequence[Claimed]:
        """Return due deliveries of realms that are not `busy`, which no other worker gets."""

    async def deliver(self, claimed: Claimed) -> FailedDelivery | None:
        """Send one, and note how it ended in the queue; return the failure."""


class DeliveryQueue(Enum):
    """The queues of the database."""

    MAILS = auto()
    WEBHOOKS = auto()
    LOGOUT_NOTICES = auto()


class QueueSignals:
    """Tells the loops that send that this process has committed entries. For one event loop."""

    def __init__(self) -> None:
        self._events = {queue: asyncio.Event() for queue in DeliveryQueue}

    def notify(self, queues: Iterable[DeliveryQueue]) -> None:
        """End the wait for each queue, or the next one where no loop waits now."""
        for queue in queues:
            self._events[queue].set()

    async def wait(self, queue: DeliveryQueue, longest: timedelta) -> bool:
        """Wait for entries of a queue; return whether they came within `longest`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(longest.total_seconds()):
                await self._events[queue].wait()
        was_notified = self._events[queue].is_set()
        self._events[queue].clear()
        return was_notified


LONGEST_WEBHOOK_WAIT: Final = timedelta(hours=24)
"""After this an event is given up."""
KEPT_AFTERWARDS: Final = timedelta(days=7)
"""How long an event that was given up can be listed, and sent again."""
MOST_WAITING: Final = 100_000
"""Events of one realm that may wait; further ones are dropped, and counted in the log."""
_WEBHOOK_SCHEDULE: Final = RetrySchedule(
    first_delay=timedelta(seconds=15),
    longest_delay=timedelta(minutes=15),
    longest_wait=LONGEST_WEBHOOK_WAIT,
)


class WebhookNotReceived(NotDelivered):
    """The receiver did not confirm an event, or has answered that it takes no more."""


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
        return _WEBHOOK_SCHEDULE.next_attempt_at(self.attempts, self.created_at, now)


@dataclass(frozen=True, slots=True)
class WebhookStatus:
    """An event that waits, or was given up, as an operator sees it."""

    id: str
    created_at: datetime
    attempts: int
    due_at: datetime | None
    failed_at: datetime | None
    reason: str | None


MOST_ATTEMPTS: Final = 10
LONGEST_NOTICE_WAIT: Final = timedelta(hours=1)
"""After this a notice is dropped: the client's own session has had time to end."""
_NOTICE_SCHEDULE: Final = RetrySchedule(
    first_delay=timedelta(seconds=5),
    longest_delay=timedelta(minutes=10),
    longest_wait=LONGEST_NOTICE_WAIT,
    most_attempts=MOST_ATTEMPTS,
)


@dataclass(frozen=True, slots=True)
class LogoutNotice:
    """The notice for one client; `client` is its internal id."""

    realm_id: str
    session_id: str
    client: str
    user_id: str
    created_at: datetime
    attempts: int = 0
    """How often a gateway has begun to send it."""

    def next_attempt_at(self, now: datetime) -> datetime | None:
        """Return when to send it again after a failure; None where it is dropped."""
        return _NOTICE_SCHEDULE.next_attempt_at(self.attempts, self.created_at, now)


def logout_notices(
    sessions: Iterable[UserSession], clients: Mapping[str, Client], now: datetime
) -> tuple[LogoutNotice, ...]:
    """Return the notices, one of each session, to the `clients` (by internal id) that want it."""
    wanted = {
        (session.id, identity): LogoutNotice(
            session.realm_id, session.id, identity, session.user_id, now
        )
        for session in sessions
        for identity in session.clients
        if identity in clients and _is_notified(clients[identity])
    }
    return tuple(wanted.values())


def _is_notified(client: Client) -> bool:
    is_usable = client.enabled and client.protocol == OPENID_CONNECT
    return is_usable and bool(client.logout.back_channel_url)
