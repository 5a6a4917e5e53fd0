"""Locks of the devices of a client: listed, set and removed. There is no list of devices.

A lock takes effect at once at every gateway: nothing keeps it in memory.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from gateway.admin.access import Acting, InvalidRequest, NotFound
from gateway.admin.changes import Changes
from gateway.admin.clients.access import changing_client, get_client
from gateway.domain.clients import LONGEST_DEVICE_LOCK, Client
from gateway.domain.clock import Clock
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.sign_in.device_locks import DeviceLock, DeviceLocks, LockCause
from gateway.domain.ports.storage import Database
from gateway.representations.clients import parse_device_lock, render_device_lock

STANDARD_LOCK: Final = timedelta(days=30)


class ClientDevices:
    """The use cases. All raise NotFound, Forbidden and StoreUnavailable."""

    def __init__(
        self, database: Database, changes: Changes, locks: DeviceLocks, clock: Clock
    ) -> None:
        self._database = database
        self._changes = changes
        self._locks = locks
        self._clock = clock

    async def list(self, acting: Acting, client_id: str) -> list[dict[str, Any]]:
        """Return the locks of the client's devices, those that end first before others."""
        async with self._database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
        found = await self._locks.list(acting.realm.id, client.id, self._clock.now())
        return [render_device_lock(lock) for lock in sorted(found, key=lambda lock: lock.until)]

    async def lock(
        self, acting: Acting, client_id: str, document: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Lock a device and return the lock; raises InvalidInput and InvalidRequest."""
        device, duration = parse_device_lock(document, LONGEST_DEVICE_LOCK)
        async with changing_client(self._changes, acting, client_id) as (change, client):
            _require_device(client, device)
            now = self._clock.now()
            until = now + (duration or STANDARD_LOCK)
            lock = DeviceLock(device, LockCause.ADMINISTRATOR, until)
            await self._locks.lock(acting.realm.id, client.id, lock, now)
            rendered = render_device_lock(lock)
            change.record(OperationType.CREATE, ResourceType.CUSTOM, _path(client), rendered)
        return rendered

    async def unlock(self, acting: Acting, client_id: str, device: str) -> None:
        """Remove the locks and the counted failures of a device; NotFound without a lock."""
        async with changing_client(self._changes, acting, client_id) as (change, client):
            if not await self._locks.unlock(acting.realm.id, client.id, device):
                raise NotFound("Device is not locked")
            path = _path(client)
            change.record(OperationType.DELETE, ResourceType.CUSTOM, path, {"device": device})


def _require_device(client: Client, device: str) -> None:
    """Raise InvalidRequest for a name that no device of the client can have."""
    template = client.devices.template
    if template is None:
        raise InvalidRequest(f"Client {client.client_id} has no template of devices")
    if not template.fits(device):
        raise InvalidRequest(f"The name does not fit the client's template {template.text}")


def _path(client: Client) -> str:
    return f"clients/{client.id}/device-locks"
