"""What a worker clears away now and then: revocations of tokens that have expired anyway."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.storage import Database

INTERVAL: Final = timedelta(minutes=10)


async def keep_house(database: Database, clock: Clock, interval: timedelta = INTERVAL) -> None:
    """Clear away now and every `interval`; a store that is away is left for the next time."""
    while True:
        try:
            async with database.write() as stores:
                await stores.revocations.purge(clock.now())
        except StoreUnavailable as failure:
            structlog.get_logger().warning("housekeeping left for later", store=failure.store)
        await asyncio.sleep(interval.total_seconds())
