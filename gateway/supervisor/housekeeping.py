"""What a worker does regularly: it deletes what has expired, and warns of expiring passwords."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from gateway.admin.events import remove_expired_events
from gateway.domain.clock import CLOCK_LEEWAY, Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.expiry import KEPT_AFTER_EXPIRY
from gateway.domain.ports.one_time_passwords import OneTimeMarks
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.supervisor.administrator_warnings import warn_daily

INTERVAL: Final = timedelta(minutes=10)
_RECOUNT: Final = "recount of password costs"
_RECOUNTED_AFTER: Final = timedelta(days=1)


async def run_housekeeping(
    database: Database,
    online_sessions: OnlineSessionStore,
    marks: OneTimeMarks,
    clock: Clock,
    interval: timedelta = INTERVAL,
) -> None:
    """Work now and every `interval`; an unavailable store is skipped until the next time."""
    while True:
        try:
            await _delete_expired(database, online_sessions, clock)
            await warn_daily(database, marks, clock)
            await _recount_daily(database, marks)
        except StoreUnavailable as failure:
            structlog.get_logger().warning("housekeeping left for later", store=failure.store)
        await asyncio.sleep(interval.total_seconds())


async def _recount_daily(database: Database, marks: OneTimeMarks) -> None:
    """Forget costs of password hashes that are gone, once a day in one of all workers."""
    async with database.read() as stores:
        realms = await stores.realms.list()
    for realm in realms:
        if await marks.claim(realm.id, _RECOUNT, _RECOUNTED_AFTER):
            async with database.write() as stores:
                await stores.users.recount_password_costs(realm.id)


async def _delete_expired(
    database: Database, online_sessions: OnlineSessionStore, clock: Clock
) -> None:
    # A clock that is ahead must not delete revocations that other gateways still need.
    now = min(clock.now(), await database.server_time()) - CLOCK_LEEWAY
    async with database.write() as stores:
        await stores.revocations.purge(now)
        await stores.refresh_tokens.purge(now)
        await stores.offline_sessions.purge(now)
        await stores.denied_certificates.purge(now)
        await stores.seen_certificates.purge(now - KEPT_AFTER_EXPIRY)
        await stores.expiry_notices.purge(now - KEPT_AFTER_EXPIRY)
        await stores.change_log.purge()
        await stores.mails.purge(now)
        await stores.webhooks.purge(now)
        realms = await stores.realms.list()
    for realm in realms:
        await online_sessions.purge(realm.id)
        await remove_expired_events(database, realm, now)
