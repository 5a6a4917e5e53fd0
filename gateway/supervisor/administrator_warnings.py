"""Warnings in the log about accounts.

There is no administrator, the password of one expires, or the names of two users look alike.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from gateway.admin.realms import Administrator, list_administrators
from gateway.admin.users import REMEDY, store_missing_keys
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.one_time_passwords import OneTimeMarks
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
    """The password of an administrator that is to be changed."""

    username: str
    expires_at: datetime
    has_expired: bool

    @property
    def remedy(self) -> str:
        """The command that sets another one."""
        return f"realmgate user set-password {self.username} --realm {MASTER}"


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
    """Repeat the warning of passwords once a day, in one of the workers of all gateways.

    Raises StoreUnavailable.
    """
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
