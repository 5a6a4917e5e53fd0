"""Sends the notices of ended sessions in the background of a worker, and logs those that fail."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from gateway.domain.errors import StoreUnavailable
from gateway.protocol.logout import AT_ONCE, FailedDelivery, NoticeDelivery

INTERVAL: Final = timedelta(milliseconds=500)
_WITHOUT_STORE: Final = timedelta(seconds=5)


async def deliver_logout_notices(delivery: NoticeDelivery, interval: timedelta = INTERVAL) -> None:
    """Send what is due, every `interval`; an unavailable store is asked again later."""
    log = structlog.get_logger()
    available = True
    while True:
        try:
            taken, failed = await delivery.deliver_due()
        except StoreUnavailable as failure:
            if available:
                log.warning("logout notices left for later", store=failure.store)
            available = False
            await asyncio.sleep(_WITHOUT_STORE.total_seconds())
            continue
        available = True
        for each in failed:
            _log(each)
        if taken < AT_ONCE:
            await asyncio.sleep(interval.total_seconds())


def _log(failed: FailedDelivery) -> None:
    structlog.get_logger().warning(
        "logout notice dropped" if failed.is_last else "logout notice not received",
        realm_id=failed.notice.realm_id,
        client=failed.client_id,
        attempts=failed.notice.attempts,
        reason=failed.reason,
    )
