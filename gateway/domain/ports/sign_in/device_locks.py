"""Locks of devices, for all gateways at once. A device is a name in its certificate.

All methods raise StoreUnavailable("redis"): no token is issued or accepted without the answer.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

MOST_LISTED: Final = 1000


class LockCause(StrEnum):
    """Why a device is locked. One lock does not shorten the other."""

    ADMINISTRATOR = "administrator"
    FAILURES = "failures"


@dataclass(frozen=True, slots=True)
class DeviceLock:
    """A lock of one device of a client."""

    device: str
    cause: LockCause
    until: datetime


class DeviceLocks(Protocol):
    """The locks of the devices of each client; `client` is its internal id."""

    async def is_locked(self, realm_id: str, client: str, device: str, now: datetime) -> bool:
        """Return whether the device is locked."""
        ...

    async def lock(self, realm_id: str, client: str, lock: DeviceLock, now: datetime) -> None:
        """Lock a device until an instant, at most `LONGEST_DEVICE_LOCK` from now."""
        ...

    async def unlock(self, realm_id: str, client: str, device: str) -> bool:
        """Remove every lock and the counted failures of a device; return whether it had a lock."""
        ...

    async def list(self, realm_id: str, client: str, now: datetime) -> tuple[DeviceLock, ...]:
        """Return at most `MOST_LISTED` locks of each cause, those that end first before others."""
        ...

    async def count_failure(
        self, realm_id: str, client: str, device: str, window: timedelta
    ) -> int:
        """Count a refused token request; return how many there were in the window."""
        ...
