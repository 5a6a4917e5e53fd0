"""Deliveries of a queue, one batch at a time."""

import asyncio
from typing import Final

from gateway.domain.deliveries import Claimed, Deliveries, FailedDelivery

BATCH: Final = 8


async def deliver_due(deliveries: Deliveries[Claimed]) -> tuple[int, list[FailedDelivery]]:
    """Send some of what is due; return how many, and what failed."""
    claimed = await deliveries.claim(BATCH)
    results = await asyncio.gather(*map(deliveries.deliver, claimed))
    return len(claimed), [failure for failure in results if failure is not None]
