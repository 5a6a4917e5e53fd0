"""Regular tasks of a worker: deletions, warnings, mails about expiry, seen certificates.

Warnings in the log about accounts.

There is no administrator, the password of one expires, or the names of two users look alike.
"""

import asyncio
import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from gateway.admin.events import remove_expired_events
from gateway.admin.expiry import ExpiryMails
from gateway.admin.realms import Administrator, list_administrators
from gateway.admin.users import REMEDY, store_missing_keys
from gateway.certificates import SeenCertificates
from gateway.domain.clock import CLOCK_LEEWAY, Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.expiry import KEPT_AFTER_EXPIRY
from gateway.domain.ports.credentials import OneTimeMarks
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER

NO_ADMINISTRATOR: Final = (
    "set REALMGATE_ADMIN_PASSWORD_FILE to the path of a file with a password and start the gateway,"
    " or grant the role to a user: realmgate user roles USER --realm master --add admin"
)
"""How to create an administrator."""
_WARNED_BEFORE: Final = timedelta(days=7)
_REPEATED_AFTER: Final = timedelta(days=1)
_MARK: Final = "warning of administrators' passwords"


@dataclass(frozen=True, slots=True)
class ExpiringPassword:
    """The password of an administrator who has to change it."""

    username: str
    expires_at: datetime
    has_expired: bool

    @property
    def remedy(self) -> str:
        """The command that sets another one."""
        return shlex.join(("realmgate", "user", "set-password", self.username, "--realm", MASTER))


async def warn_at_start(database: Database, marks: OneTimeMarks, clock: Clock) -> None:
    """Warn where there is no administrator, or a password has expired or expires within a week."""
    async with database.read() as stores:
        found = await list_administrators(stores)
    if not found:
        structlog.get_logger().warning("no administrator", realm=MASTER, remedy=NO_ADMINISTRATOR)
    _warn_of_passwords(found, clock)
    # The next warning is due in a day; without Redis the first housekeeping repeats it.
    with suppress(StoreUnavailable):
        await marks.claim(MASTER, _MARK, _REPEATED_AFTER)


async def report_look_alikes(database: Database) -> None:
    """Store missing keys of user names, and warn of names that look alike."""
    for pair in await store_missing_keys(database):
        structlog.get_logger().warning(
            "user names look alike",
            realm_id=pair.realm_id,
            users=[pair.first, pair.second],
            remedy=REMEDY,
        )


async def warn_daily(database: Database, marks: OneTimeMarks, clock: Clock) -> None:
    """Repeat the warning of passwords once a day, in one worker; raises StoreUnavailable."""
    if await marks.claim(MASTER, _MARK, _REPEATED_AFTER):
        async with database.read() as stores:
            found = await list_administrators(stores)
        _warn_of_passwords(found, clock)
        await report_look_alikes(database)


def expiring_passwords(
    administrators: Iterable[Administrator], now: datetime
) -> tuple[ExpiringPassword, ...]:
    """Return the passwords that have expired, or expire within a week."""
    return tuple(
        ExpiringPassword(each.username, each.password_expires_at, now > each.password_expires_at)
        for each in administrators
        if each.password_expires_at is not None and each.password_expires_at - now <= _WARNED_BEFORE
    )


def _warn_of_passwords(administrators: Iterable[Administrator], clock: Clock) -> None:
    for password in expiring_passwords(administrators, clock.now()):
        structlog.get_logger().warning(
            "administrator's password has expired"
            if password.has_expired
            else "administrator's password expires soon",
            user=password.username,
            realm=MASTER,
            expires_at=password.expires_at.isoformat(timespec="seconds"),
            remedy=password.remedy,
        )


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
    """Count the costs of stored password hashes again, once a day in one of all workers."""
    async with database.read() as stores:
        realms = await stores.realms.list_realms()
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
        realms = await stores.realms.list_realms()
    for realm in realms:
        await online_sessions.purge(realm.id)
        await remove_expired_events(database, realm, now)


MAIL_INTERVAL: Final = timedelta(minutes=10)


async def queue_expiry_mails(mails: ExpiryMails, interval: timedelta = MAIL_INTERVAL) -> None:
    """Queue due notices now and every `interval`; an unavailable store is skipped."""
    while True:
        try:
            await mails.queue_mails()
        except StoreUnavailable as failure:
            log = structlog.get_logger()
            log.warning("mails about expiry left for later", store=failure.store)
        await asyncio.sleep(interval.total_seconds())


WRITE_INTERVAL: Final = timedelta(seconds=1)


async def write_seen_certificates(
    seen: SeenCertificates, interval: timedelta = WRITE_INTERVAL
) -> None:
    """Write waiting entries every `interval` and at the end; retry an unavailable store."""
    available = True
    try:
        while True:
            await asyncio.sleep(interval.total_seconds())
            available = await _write_seen(seen, available=available)
    finally:
        await _write_seen(seen, available=available)


async def _write_seen(seen: SeenCertificates, *, available: bool) -> bool:
    """Write, and return whether the store is available; log when it begins not to be."""
    try:
        await seen.write_sightings()
    except StoreUnavailable as failure:
        if available:
            log = structlog.get_logger()
            log.warning("seen certificates left for later", store=failure.store)
        return False
    return True
