"""Sends the mails of the queue in the background of a worker, and logs those that fail."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from gateway.admin.mail import AT_ONCE, FailedMail, MailDelivery
from gateway.domain.errors import StoreUnavailable

INTERVAL: Final = timedelta(seconds=1)
_WITHOUT_STORE: Final = timedelta(seconds=5)


async def deliver_mails(delivery: MailDelivery, interval: timedelta = INTERVAL) -> None:
    """Send what is due, every `interval`; an unavailable store is asked again later."""
    log = structlog.get_logger()
    available = True
    while True:
        try:
            taken, failed = await delivery.deliver_due()
        except StoreUnavailable as failure:
            if available:
                log.warning("mails left for later", store=failure.store)
            available = False
            await asyncio.sleep(_WITHOUT_STORE.total_seconds())
            continue
        available = True
        for each in failed:
            _log(each)
        if taken < AT_ONCE:
            await asyncio.sleep(interval.total_seconds())


def _log(failed: FailedMail) -> None:
    structlog.get_logger().warning(
        "mail given up" if failed.is_last else "mail not sent",
        realm_id=failed.queued.mail.realm_id,
        mail=failed.queued.mail.id,
        attempts=failed.queued.attempts,
        reason=failed.reason,
    )
