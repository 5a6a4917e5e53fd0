"""Sends waiting entries of a queue in the background of a worker, and logs failures.

One slow server delays few deliveries: a realm has half of the places, and what is due is claimed as
soon as places are free.
Entries that this process commits wake the loop. It looks every `interval` for the others: those of
commands and of workers that ended, and those that are tried again.
"""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Generic

import structlog

from gateway.domain.deliveries import (
    Claimed,
    Deliveries,
    DeliveryQueue,
    FailedDelivery,
    QueueSignals,
)
from gateway.domain.errors import StoreUnavailable

AT_ONCE: Final = 16
"""Deliveries of one queue that a worker sends at a time."""
OF_REALM: Final = AT_ONCE // 2
"""The same of one realm."""
INTERVAL: Final = timedelta(seconds=1)
AFTER_COMMIT: Final = timedelta(milliseconds=50)
"""The reply to the request leaves first; its entries, and others of that time, are claimed once."""
_WITHOUT_STORE: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class DeliveryWords:
    """The words of a queue in the log."""

    queue: DeliveryQueue
    name: str
    """The field with the id of an entry."""
    failed: str
    given_up: str
    waiting: str


class _Places(Generic[Claimed]):
    """The deliveries of one queue that are under way."""

    def __init__(
        self, deliveries: Deliveries[Claimed], words: DeliveryWords, group: asyncio.TaskGroup
    ) -> None:
        self._deliveries = deliveries
        self._words = words
        self._group = group
        self._running: dict[asyncio.Task[None], str] = {}
        self.is_limited = False
        """Whether something may be due that had no place."""

    async def fill(self) -> bool:
        """Begin due deliveries; return whether more may be due now. Raises StoreUnavailable."""
        of_realm = Counter(self._running.values())
        busy = sorted(realm for realm, number in of_realm.items() if number >= OF_REALM)
        largest = max((number for number in of_realm.values() if number < OF_REALM), default=0)
        most = min(AT_ONCE - len(self._running), OF_REALM - largest)
        self.is_limited = bool(busy) or most <= 0
        if most <= 0:
            return False
        claimed = await self._deliveries.claim(most, busy)
        for each in claimed:
            task = self._group.create_task(self._deliver(each))
            self._running[task] = each.realm_id
            task.add_done_callback(self._running.pop)
        return len(claimed) == most

    async def wait_for_room(self, longest: timedelta) -> None:
        """Wait until half of the running deliveries have ended: a claim takes several."""
        enough = len(self._running) // 2
        with suppress(TimeoutError):
            async with asyncio.timeout(longest.total_seconds()):
                while len(self._running) > enough:
                    await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)

    async def _deliver(self, claimed: Claimed) -> None:
        try:
            failed = await self._deliveries.deliver(claimed)
        except StoreUnavailable as failure:
            # It is due again when its lease is over.
            structlog.get_logger().warning(self._words.waiting, store=failure.store)
            return
        if failed is not None:
            _log(self._words, failed)


async def run_deliveries(
    deliveries: Deliveries[Claimed],
    words: DeliveryWords,
    signals: QueueSignals,
    interval: timedelta = INTERVAL,
) -> None:
    """Send due deliveries at each signal and every `interval`; ask an unavailable store later."""
    log = structlog.get_logger()
    available = True
    async with asyncio.TaskGroup() as group:
        places = _Places(deliveries, words, group)
        while True:
            try:
                more = await places.fill()
            except StoreUnavailable as failure:
                if available:
                    log.warning(words.waiting, store=failure.store)
                available = False
                await asyncio.sleep(_WITHOUT_STORE.total_seconds())
                continue
            available = True
            if more:
                continue
            if places.is_limited:
                await places.wait_for_room(interval)
            elif await signals.wait(words.queue, interval):
                await asyncio.sleep(AFTER_COMMIT.total_seconds())


def _log(words: DeliveryWords, failed: FailedDelivery) -> None:
    structlog.get_logger().warning(
        words.given_up if failed.is_last else words.failed,
        realm_id=failed.realm_id,
        **{words.name: failed.subject},
        attempts=failed.attempts,
        reason=failed.reason,
    )


MAILS: Final = DeliveryWords(
    DeliveryQueue.MAILS, "mail", "mail not sent", "mail given up", "mails left for later"
)
WEBHOOKS: Final = DeliveryWords(
    DeliveryQueue.WEBHOOKS,
    "webhook",
    "webhook not received",
    "webhook given up",
    "webhooks left for later",
)
LOGOUT_NOTICES: Final = DeliveryWords(
    DeliveryQueue.LOGOUT_NOTICES,
    "client",
    "logout notice not received",
    "logout notice dropped",
    "logout notices left for later",
)
