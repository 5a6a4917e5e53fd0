"""Writes the client certificates that a worker has seen, in the background."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from gateway.certificates import SeenCertificates
from gateway.domain.errors import StoreUnavailable

INTERVAL: Final = timedelta(seconds=1)


async def write_seen_certificates(seen: SeenCertificates, interval: timedelta = INTERVAL) -> None:
    """Write what waits every `interval`, and at the end; an unavailable store is tried again."""
    available = True
    try:
        while True:
            await asyncio.sleep(interval.total_seconds())
            available = await _write(seen, available=available)
    finally:
        await _write(seen, available=available)


async def _write(seen: SeenCertificates, *, available: bool) -> bool:
    """Write, and return whether the store is available; log when it begins not to be."""
    try:
        await seen.write()
    except StoreUnavailable as failure:
        if available:
            log = structlog.get_logger()
            log.warning("seen certificates left for later", store=failure.store)
        return False
    return True
