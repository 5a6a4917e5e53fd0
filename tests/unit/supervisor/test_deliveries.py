"""The loop that sends what waits in a queue."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from gateway.domain.deliveries import DeliveryQueue, FailedDelivery, QueueSignals
from gateway.domain.errors import StoreUnavailable
from gateway.supervisor.deliveries import AT_ONCE, MAILS, OF_REALM, run_deliveries


@dataclass(frozen=True, slots=True)
class _Item:
    realm_id: str
    number: int


@dataclass
class _Waiting:
    """A queue in memory. Items of the realm `hanging` are sent when `released` is set."""

    due: list[_Item]
    signals: QueueSignals = field(default_factory=QueueSignals)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    begun: list[_Item] = field(default_factory=list)
    sent: list[_Item] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    failures: int = 0

    async def claim(self, most: int, busy: Collection[str] = ()) -> list[_Item]:
        """Take items of realms that are not busy."""
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("sql")
        claimed = [item for item in self.due if item.realm_id not in busy][:most]
        self.due = [item for item in self.due if item not in claimed]
        return claimed

    async def deliver(self, claimed: _Item) -> FailedDelivery | None:
        """Send an item; those of the realm `refusing` fail."""
        self.begun.append(claimed)
        if claimed.realm_id == "hanging":
            await self.released.wait()
        if claimed.realm_id == "refusing":
            return FailedDelivery(
                realm_id="refusing", subject="1", attempts=3, reason="451", is_last=False
            )
        self.sent.append(claimed)
        self.arrived.set()
        return None


def _items(realm_id: str, number: int) -> list[_Item]:
    return [_Item(realm_id, each) for each in range(number)]


async def _run_until_idle(waiting: _Waiting) -> "asyncio.Task[None]":
    """Begin the loop; return when nothing is claimed any more."""
    task = asyncio.create_task(run_deliveries(waiting, MAILS, waiting.signals, timedelta(hours=1)))
    for _ in range(200):
        await asyncio.sleep(0)
    return task


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_realm_whose_server_hangs_takes_half_of_the_places() -> None:
    waiting = _Waiting([*_items("hanging", 3 * AT_ONCE), *_items("quick", 5)])
    task = await _run_until_idle(waiting)
    assert len([item for item in waiting.begun if item.realm_id == "hanging"]) == OF_REALM
    assert len(waiting.sent) == 5
    await _end(task)


async def test_places_of_a_realm_are_filled_again_without_a_pause() -> None:
    waiting = _Waiting(_items("quick", 10 * AT_ONCE))
    task = await _run_until_idle(waiting)
    assert len(waiting.sent) == 10 * AT_ONCE
    await _end(task)


async def test_no_more_are_under_way_than_there_are_places() -> None:
    waiting = _Waiting(_items("hanging", 5 * AT_ONCE))
    task = await _run_until_idle(waiting)
    assert len(waiting.begun) == OF_REALM
    await _end(task)


async def test_what_fails_is_logged_with_its_reason() -> None:
    with capture_logs() as lines:
        task = await _run_until_idle(_Waiting(_items("refusing", 1)))
        await _end(task)
    assert lines == [
        {
            "event": "mail not sent",
            "log_level": "warning",
            "realm_id": "refusing",
            "mail": "1",
            "attempts": 3,
            "reason": "451",
        }
    ]


async def test_an_unavailable_store_is_said_once_and_ends_nothing() -> None:
    with capture_logs() as lines:
        task = await _run_until_idle(_Waiting([], failures=1))
        assert not task.done()
        await _end(task)
    assert [line["event"] for line in lines] == ["mails left for later"]


async def test_a_signal_ends_the_wait_for_the_next_look() -> None:
    waiting = _Waiting([])
    task = await _run_until_idle(waiting)
    waiting.due = _items("quick", 1)
    waiting.signals.notify([DeliveryQueue.WEBHOOKS])
    for _ in range(200):
        await asyncio.sleep(0)
    assert not waiting.sent
    waiting.signals.notify([DeliveryQueue.MAILS])
    async with asyncio.timeout(30):
        await waiting.arrived.wait()
    assert len(waiting.sent) == 1
    await _end(task)


async def test_a_signal_before_the_wait_is_not_lost() -> None:
    signals = QueueSignals()
    signals.notify([DeliveryQueue.MAILS, DeliveryQueue.MAILS])
    assert await signals.wait(DeliveryQueue.MAILS, timedelta(hours=1))
    assert not await signals.wait(DeliveryQueue.MAILS, timedelta())
