"""The queue of events for webhooks on both databases, and its delivery to a real receiver."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from ipaddress import ip_network
from typing import Final

import pytest
import structlog
from sqlalchemy import update
from structlog.testing import capture_logs

from gateway.admin.delivery_queues import EVENT_LEASE, WebhookDeliveries
from gateway.domain.deliveries import KEPT_AFTERWARDS, LONGEST_WEBHOOK_WAIT, WebhookDelivery
from gateway.domain.events import LoggedEvent
from gateway.domain.realm import WEBHOOK_URL
from gateway.domain.secrets import Secret
from gateway.listeners import Dispatch, EmailListener, ListenerOptions, WebhookListener
from gateway.outgoing import AddressPolicy, GuardedHttpClient, HttpWebhookSender
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.schema import realms
from tests.support.deliveries import deliver_due
from tests.support.set_clock import SetClock
from tests.support.stored_events import user_event
from tests.support.stored_values import NOW, store_realms
from tests.support.webhook_receiver import SECRET, WebhookReceiver, webhook_receiver

_LOOPBACK: Final = AddressPolicy((ip_network("127.0.0.0/8"),))


@pytest.fixture(scope="module")
def receiver() -> Iterator[WebhookReceiver]:
    with webhook_receiver() as started:
        yield started


@dataclass(frozen=True, slots=True)
class _Queue:
    database: SqlDatabase
    clock: SetClock
    receiver: WebhookReceiver
    deliveries: WebhookDeliveries

    async def add(self, *ids: str) -> None:
        """Let the listener receive events."""
        listener = WebhookListener(ListenerOptions(log=structlog.get_logger()))
        async with self.database.write() as stores:
            await listener.queue(stores, [replace(user_event(each), time=NOW) for each in ids])

    async def claim(self) -> list[str]:
        return [each.id for each in await self.deliveries.claim(8)]

    async def statuses(self) -> list[tuple[str, int, bool]]:
        async with self.database.read() as stores:
            found = await stores.webhooks.list_deliveries("demo-id", 0, 100)
        return [(each.id, each.attempts, each.failed_at is not None) for each in found]

    async def change_realm(self, secret: Secret | None, **attributes: str) -> None:
        async with self.database.write() as stores:
            realm = await stores.realms.find_by_name("demo")
            assert realm is not None
            changed = replace(realm, attributes=attributes, webhook_secret=secret)
            await stores.realms.replace(changed)

    async def break_secret(self) -> None:
        """Make the realm one that the encryption key does not open."""
        async with self.database.write() as stores:
            broken = update(realms).where(realms.c.id == "demo-id").values(webhook_secret="broken")
            await stores.transaction.execute(broken)

    def pass_time(self, time: timedelta) -> None:
        self.clock.instant += time


@pytest.fixture
async def queue(database: SqlDatabase, receiver: WebhookReceiver) -> _Queue:
    await store_realms(database, "demo")
    receiver.confirmed.clear()
    receiver.refused.clear()
    clock = SetClock(NOW)
    client = GuardedHttpClient(_LOOPBACK, allow_http=True)
    deliveries = WebhookDeliveries(database, HttpWebhookSender(client), clock)
    made = _Queue(database, clock, receiver, deliveries)
    await made.change_realm(Secret(SECRET), **{WEBHOOK_URL: receiver.url})
    return made


async def test_an_event_is_claimed_by_one_until_its_lease_is_over(queue: _Queue) -> None:
    await queue.add("1", "2", "1")
    await queue.add("1")
    assert sorted(await queue.claim()) == ["1", "2"]
    assert await queue.claim() == []
    assert await queue.deliveries.claim(8, ["demo-id"]) == ()
    queue.pass_time(EVENT_LEASE)
    assert await queue.deliveries.claim(8, ["demo-id"]) == ()
    assert sorted(await queue.claim()) == ["1", "2"]


async def test_an_event_is_resent_identically_until_confirmed(
    queue: _Queue,
) -> None:
    await queue.add("1")
    queue.receiver.statuses[:] = [500, 302, 429]
    for attempt in range(3):
        taken, (failed,) = await deliver_due(queue.deliveries)
        assert (taken, failed.is_last, failed.attempts) == (1, False, attempt + 1)
        assert await deliver_due(queue.deliveries) == (0, [])
        queue.pass_time(timedelta(minutes=5))
    assert await deliver_due(queue.deliveries) == (1, [])
    (confirmed,) = queue.receiver.confirmed
    every = [*queue.receiver.refused, confirmed]
    assert {(each.id, each.body) for each in every} == {("1", confirmed.body)}
    assert [each.timestamp - every[0].timestamp for each in every] == [0, 300, 600, 900]
    assert all(each.is_signed() for each in every)
    assert await queue.statuses() == []


async def test_a_secret_in_base64_is_the_bytes_it_stands_for(queue: _Queue) -> None:
    key = bytes(range(24))
    await queue.change_realm(
        Secret("whsec_" + base64.b64encode(key).decode()), **{WEBHOOK_URL: queue.receiver.url}
    )
    await queue.add("1")
    await deliver_due(queue.deliveries)
    assert queue.receiver.confirmed[0].is_signed(key)
    assert not queue.receiver.confirmed[0].is_signed()


async def test_an_event_is_dropped_after_a_day_or_without_a_receiver(
    queue: _Queue,
) -> None:
    await queue.add("1")
    queue.receiver.statuses[:] = [503]
    await deliver_due(queue.deliveries)
    queue.pass_time(LONGEST_WEBHOOK_WAIT)
    queue.receiver.statuses[:] = [503]
    _, (failed,) = await deliver_due(queue.deliveries)
    assert failed.is_last
    assert await queue.statuses() == [("1", 2, True)]
    async with queue.database.write() as stores:
        assert await stores.webhooks.retry("demo-id", queue.clock.now()) == 1
    queue.receiver.statuses[:] = [410]
    _, (failed,) = await deliver_due(queue.deliveries)
    assert (failed.is_last, failed.reason) == (True, "the receiver answered with 410")
    async with queue.database.write() as stores:
        await stores.webhooks.purge(queue.clock.now() + KEPT_AFTERWARDS)
    assert await queue.statuses() == []


async def test_a_private_address_gets_events_only_by_configuration(
    queue: _Queue,
) -> None:
    await queue.add("1")
    client = GuardedHttpClient(AddressPolicy(), allow_http=True)
    guarded = WebhookDeliveries(queue.database, HttpWebhookSender(client), queue.clock)
    _, (failed,) = await deliver_due(guarded)
    assert "no address that is allowed" in failed.reason
    assert queue.receiver.confirmed == []


async def test_an_event_of_a_realm_without_a_webhook_is_given_up(queue: _Queue) -> None:
    await queue.add("1")
    await queue.change_realm(None)
    _, (failed,) = await deliver_due(queue.deliveries)
    assert (failed.is_last, queue.receiver.confirmed) == (True, [])


async def test_an_event_waits_while_the_key_does_not_open_the_realm(
    queue: _Queue,
) -> None:
    await queue.add("1")
    await queue.break_secret()
    _, (failed,) = await deliver_due(queue.deliveries)
    assert (failed.is_last, "encryption key" in failed.reason) == (False, True)
    assert await queue.statuses() == [("1", 1, False)]


async def test_such_a_realm_does_not_delay_events_of_others(queue: _Queue) -> None:
    await queue.break_secret()
    log = structlog.get_logger()
    failed = user_event("1", error="invalid_user_credentials")
    dispatch = Dispatch({"email": EmailListener(ListenerOptions(log=log))}, log)
    with capture_logs() as logs:
        async with queue.database.write() as stores:
            await dispatch.queue(stores, [LoggedEvent(failed, listeners=("email",))])
    assert [(each["event"], each["listener"]) for each in logs] == [("listener failed", "email")]


async def test_a_queue_that_is_full_takes_no_more(
    queue: _Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.storage.sql.outgoing_queues.MOST_WAITING", 2)
    await queue.add("1", "2")
    delivery = WebhookDelivery("demo-id", "3", "{}", NOW)
    async with queue.database.write() as stores:
        assert not await stores.webhooks.add("demo-id", [delivery])
    assert len(await queue.statuses()) == 2
