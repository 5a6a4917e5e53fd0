"""Sends the mails of the queue, as often as it takes within bounds.

A mail is in the queue until a server has accepted it, so it may be sent twice where a gateway is
killed between the two: with the same Message-ID, by which servers and readers know the copy.
attacks E8
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from gateway.domain.clock import Clock
from gateway.domain.mail import MailNotSent, QueuedMail, mail_server
from gateway.domain.ports.mail import MailSender
from gateway.domain.ports.storage import Database

AT_ONCE: Final = 8
"""Mails that one worker sends at a time."""
LEASE: Final = timedelta(seconds=60)
"""Longer than one attempt takes: then the mail of a worker that died is due again."""


@dataclass(frozen=True, slots=True)
class FailedMail:
    """A mail that was not accepted. `is_last` where it is given up."""

    queued: QueuedMail
    reason: str
    is_last: bool


class MailDelivery:
    """Takes due mails from the queue, and sends them."""

    def __init__(self, database: Database, sender: MailSender, clock: Clock) -> None:
        self._database = database
        self._sender = sender
        self._clock = clock

    async def deliver_due(self) -> tuple[int, tuple[FailedMail, ...]]:
        """Send some of what is due; return how many, and those that failed.

        Raises StoreUnavailable.
        """
        now = self._clock.now()
        async with self._database.read() as stores:
            if not await stores.mails.has_due(now):
                return 0, ()
        async with self._database.write() as stores:
            claimed = await stores.mails.claim(now, LEASE, AT_ONCE)
        results = await asyncio.gather(*map(self._deliver, claimed))
        return len(claimed), tuple(failure for failure in results if failure is not None)

    async def _deliver(self, queued: QueuedMail) -> FailedMail | None:
        try:
            await self._send(queued)
        except MailNotSent as failure:
            return await self._failed(queued, failure)
        async with self._database.write() as stores:
            await stores.mails.sent(queued, self._clock.now())
        return None

    async def _send(self, queued: QueuedMail) -> None:
        async with self._database.read() as stores:
            name = await stores.realms.find_name(queued.mail.realm_id)
            realm = None if name is None else await stores.realms.find_by_name(name)
        if realm is None:
            raise MailNotSent("the realm does not exist any more", is_final=True)
        await self._sender.send(mail_server(realm.smtp), queued.mail)

    async def _failed(self, queued: QueuedMail, failure: MailNotSent) -> FailedMail:
        now, reason = self._clock.now(), str(failure)
        again = None if failure.is_final else queued.next_attempt_at(now)
        async with self._database.write() as stores:
            if again is None:
                await stores.mails.give_up(queued, now, reason)
            else:
                await stores.mails.postpone(queued, again, reason)
        return FailedMail(queued, reason, is_last=again is None)
