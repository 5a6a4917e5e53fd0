"""The registered nodes of a client, and locks of its devices.

The gateway sends no requests to addresses that clients name, so every node is answered as
unreachable. There is no list of devices. A lock takes effect at once at every gateway: nothing
keeps it in memory. Keycloak: clients/{id}/nodes, push-revocation, test-nodes-available
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from gateway.admin.access import Acting, require_changeable_clients
from gateway.admin.changes import Administration, Changes
from gateway.admin.clients.listing import changing_client, get_client, replace_client
from gateway.domain.clients import LONGEST_DEVICE_LOCK, Client
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.certificates import DeviceLock, DeviceLocks, LockCause
from gateway.domain.refusals import InvalidRequest, NotFound, WireFamily
from gateway.representations.clients import (
    failed_notifications,
    nodes_of,
    parse_device_lock,
    render_device_lock,
    with_nodes,
)

_RESERVED_CHARACTER: Final = re.compile(r"[:/?#@!$&()*+,;=\[\]\\]")
_LONGEST_NODE: Final = 255


class ClientNodes(Administration):
    """The use cases. All raise NotFound, Forbidden and StoreUnavailable."""

    async def add_node(self, acting: Acting, client_id: str, document: Mapping[str, Any]) -> None:
        node = document.get("node")
        if not isinstance(node, str) or not node:
            raise InvalidRequest("Node not found in params", WireFamily.PROSE)
        _require_node_name(node)
        async with changing_client(self._changes, acting, client_id) as (change, client):
            nodes = {**nodes_of(client), node: int(self._clock.now().timestamp())}
            await replace_client(change, client, with_nodes(client, nodes))
            path = f"clients/{client.id}/nodes/{node}"
            change.record(OperationType.CREATE, ResourceType.CLUSTER_NODE, path)

    async def remove_node(self, acting: Acting, client_id: str, node: str) -> None:
        async with changing_client(self._changes, acting, client_id) as (change, client):
            nodes = dict(nodes_of(client))
            if node not in nodes:
                raise NotFound("Client does not have node ")
            del nodes[node]
            await replace_client(change, client, with_nodes(client, nodes))
            path = f"clients/{client.id}/nodes/{node}"
            change.record(OperationType.DELETE, ResourceType.CLUSTER_NODE, path)

    async def push_revocation(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Return all nodes as unreachable."""
        async with self._changes.begin(acting) as change:
            client = await get_client(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            path = f"clients/{client.id}/push-revocation"
            change.record(OperationType.ACTION, ResourceType.CLIENT, path)
        return failed_notifications(client)

    async def test_nodes(self, acting: Acting, client_id: str) -> dict[str, Any]:
        async with self._changes.begin(acting) as change:
            client = await get_client(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            path = f"clients/{client.id}/test-nodes-available"
            reached = failed_notifications(client)
            change.record(OperationType.ACTION, ResourceType.CLUSTER_NODE, path, reached)
        return reached


def _require_node_name(node: str) -> None:
    found = _RESERVED_CHARACTER.search(node)
    if found is not None:
        raise InvalidRequest(f"Character '{found.group()}' not allowed.", WireFamily.PROSE)
    if len(node) > _LONGEST_NODE or not node.isprintable():
        raise InvalidRequest(
            f"A node has a name of 1 to {_LONGEST_NODE} printable characters", WireFamily.PROSE
        )


STANDARD_LOCK: Final = timedelta(days=30)


class ClientDevices(Administration):
    """The use cases. All raise NotFound, Forbidden and StoreUnavailable."""

    def __init__(self, changes: Changes, locks: DeviceLocks) -> None:
        super().__init__(changes)
        self._locks = locks

    async def list_locks(self, acting: Acting, client_id: str) -> list[dict[str, Any]]:
        """Return the locks of the client's devices, the first to end first."""
        async with self._database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
        found = await self._locks.list_locks(acting.realm.id, client.id, self._clock.now())
        return [render_device_lock(lock) for lock in sorted(found, key=lambda lock: lock.until)]

    async def lock_device(
        self, acting: Acting, client_id: str, document: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Lock a device and return the lock; raises InvalidInput and InvalidRequest."""
        device, duration = parse_device_lock(document, LONGEST_DEVICE_LOCK)
        async with changing_client(self._changes, acting, client_id) as (change, client):
            _require_device(client, device)
            now = self._clock.now()
            until = now + (duration or STANDARD_LOCK)
            lock = DeviceLock(device, LockCause.ADMINISTRATOR, until)
            await self._locks.lock_device(acting.realm.id, client.id, lock, now)
            rendered = render_device_lock(lock)
            change.record(OperationType.CREATE, ResourceType.CUSTOM, _lock_path(client), rendered)
        return rendered

    async def unlock_device(self, acting: Acting, client_id: str, device: str) -> None:
        """Remove the locks and the counted failures of a device; NotFound without a lock."""
        async with changing_client(self._changes, acting, client_id) as (change, client):
            if not await self._locks.unlock_device(acting.realm.id, client.id, device):
                raise NotFound("Device is not locked")
            path = _lock_path(client)
            change.record(OperationType.DELETE, ResourceType.CUSTOM, path, {"device": device})


def _require_device(client: Client, device: str) -> None:
    """Raise InvalidRequest for a name that no device of the client can have."""
    template = client.devices.template
    if template is None:
        raise InvalidRequest(f"Client {client.client_id} has no template of devices")
    if not template.fits(device):
        raise InvalidRequest(f"The name does not fit the client's template {template.text}")


def _lock_path(client: Client) -> str:
    return f"clients/{client.id}/device-locks"
