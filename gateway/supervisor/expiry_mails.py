"""Queues mails about what expires, in the background of a worker."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from gateway.admin.expiry import ExpiryMails
from gateway.domain.errors import StoreUnavailable

INTERVAL: Final = timedelta(minutes=10)


async def queue_expiry_mails(mails: ExpiryMails, interval: timedelta = INTERVAL) -> None:
    """Queue what is due now and every `interval`; an unavailable store is skipped."""
    while True:
        try:
            await mails.queue()
        except StoreUnavailable as failure:
            log = structlog.get_logger()
            log.warning("mails about expiry left for later", store=failure.store)
        await asyncio.sleep(interval.total_seconds())
