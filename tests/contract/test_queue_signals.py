"""Entries that a transaction queues wake the loop that sends them, once they are committed."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from gateway.domain.deliveries import DeliveryQueue, LogoutNotice, WebhookDelivery
from gateway.domain.mail import MOST_OF_USER, Mail, MailKind, QueuedMail
from gateway.domain.ports.storage import Stores
from gateway.storage.sql.database import SqlDatabase
from tests.support.sessions import store_owners
from tests.support.stored_values import NOW

_MAIL: Final = QueuedMail(
    Mail(
        id="mail-1",
        realm_id="demo-id",
        realm_title="Demo",
        recipient="alice@example.com",
        locale="en",
        kind=MailKind.TEST,
        created_at=NOW,
    ),
    "alice-uuid",
)
_NOTICE: Final = LogoutNotice("demo-id", "session", "device-uuid", "alice-uuid", NOW)


async def _add_mail(stores: Stores) -> None:
    await stores.mails.add(_MAIL)


async def _add_mail_of_dry_run(stores: Stores) -> None:
    reset = replace(_MAIL.mail, kind=MailKind.PASSWORD_RESET)
    await stores.mails.add(replace(_MAIL, mail=reset, is_dry_run=True))


async def _add_event(stores: Stores) -> None:
    await stores.webhooks.add("demo-id", [WebhookDelivery("demo-id", "event", "{}", NOW)])


async def _retry_events(stores: Stores) -> None:
    await stores.webhooks.retry("demo-id", NOW)


async def _add_notice(stores: Stores) -> None:
    await stores.logout_notices.add_notices([_NOTICE])


async def _add_no_notice(stores: Stores) -> None:
    await stores.logout_notices.add_notices([])


async def _read_mails(stores: Stores) -> None:
    await stores.mails.list_deliveries("demo-id", 0, 10)


_CASES: Final[dict[Callable[[Stores], Awaitable[None]], DeliveryQueue | None]] = {
    _add_mail: DeliveryQueue.MAILS,
    # As a mail would: the time until a reply tells nothing about the user.
    _add_mail_of_dry_run: DeliveryQueue.MAILS,
    _add_event: DeliveryQueue.WEBHOOKS,
    _retry_events: DeliveryQueue.WEBHOOKS,
    _add_notice: DeliveryQueue.LOGOUT_NOTICES,
    _add_no_notice: None,
    _read_mails: None,
}


async def _signaled(database: SqlDatabase) -> set[DeliveryQueue]:
    signals = database.queue_signals
    return {queue for queue in DeliveryQueue if await signals.wait(queue, timedelta())}


async def _roll_back(database: SqlDatabase, add: Callable[[Stores], Awaitable[None]]) -> None:
    async with database.write() as stores:
        await add(stores)
        raise LookupError


async def test_what_is_committed_wakes_its_own_queue(database: SqlDatabase) -> None:
    await store_owners(database)
    await _signaled(database)
    for add, queue in _CASES.items():
        async with database.write() as stores:
            await add(stores)
            assert not await _signaled(database)
        assert await _signaled(database) == ({queue} if queue else set()), add


async def test_what_is_rolled_back_wakes_no_queue(database: SqlDatabase) -> None:
    await store_owners(database)
    await _signaled(database)
    for add in _CASES:
        with pytest.raises(LookupError):
            await _roll_back(database, add)
        assert not await _signaled(database), add


async def test_a_mail_beyond_the_limit_wakes_no_queue(database: SqlDatabase) -> None:
    await store_owners(database)
    async with database.write() as stores:
        for number in range(MOST_OF_USER):
            await stores.mails.add(replace(_MAIL, mail=replace(_MAIL.mail, id=str(number))))
    await _signaled(database)
    async with database.write() as stores:
        assert not await stores.mails.add(_MAIL)
    assert not await _signaled(database)
