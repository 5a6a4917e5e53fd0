"""The registered nodes of a client.

The gateway sends no requests to addresses that clients name, so every node is answered as
unreachable. Keycloak: clients/{id}/nodes, push-revocation, test-nodes-available
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    NotFound,
    WireFamily,
    require_changeable_clients,
)
from gateway.admin.changes import Changes
from gateway.admin.clients.access import changing_client, get_client, replace_client
from gateway.domain.clock import Clock
from gateway.domain.events import OperationType, ResourceType
from gateway.representations.clients import failed_notifications, nodes_of, with_nodes

_RESERVED: Final = re.compile(r"[:/?#@!$&()*+,;=\[\]\\]")
_LONGEST: Final = 255


class ClientNodes:
    """The use cases. All raise NotFound, Forbidden and StoreUnavailable."""

    def __init__(self, changes: Changes, clock: Clock) -> None:
        self._changes = changes
        self._clock = clock

    async def add(self, acting: Acting, client_id: str, document: Mapping[str, Any]) -> None:
        node = document.get("node")
        if not isinstance(node, str) or not node:
            raise InvalidRequest("Node not found in params", WireFamily.PROSE)
        _require_name(node)
        async with changing_client(self._changes, acting, client_id) as (change, client):
            nodes = {**nodes_of(client), node: int(self._clock.now().timestamp())}
            await replace_client(change, client, with_nodes(client, nodes))
            path = f"clients/{client.id}/nodes/{node}"
            change.record(OperationType.CREATE, ResourceType.CLUSTER_NODE, path)

    async def remove(self, acting: Acting, client_id: str, node: str) -> None:
        async with changing_client(self._changes, acting, client_id) as (change, client):
            nodes = dict(nodes_of(client))
            if node not in nodes:
                raise NotFound("Client does not have node ")
            del nodes[node]
            await replace_client(change, client, with_nodes(client, nodes))
            path = f"clients/{client.id}/nodes/{node}"
            change.record(OperationType.DELETE, ResourceType.CLUSTER_NODE, path)

    async def push_revocation(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Return the nodes that were reached, and those that were not: all of them."""
        async with self._changes.begin(acting) as change:
            client = await get_client(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            path = f"clients/{client.id}/push-revocation"
            change.record(OperationType.ACTION, ResourceType.CLIENT, path)
        return failed_notifications(client)

    async def test(self, acting: Acting, client_id: str) -> dict[str, Any]:
        async with self._changes.begin(acting) as change:
            client = await get_client(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            path = f"clients/{client.id}/test-nodes-available"
            reached = failed_notifications(client)
            change.record(OperationType.ACTION, ResourceType.CLUSTER_NODE, path, reached)
        return reached


def _require_name(node: str) -> None:
    found = _RESERVED.search(node)
    if found is not None:
        raise InvalidRequest(f"Character '{found.group()}' not allowed.", WireFamily.PROSE)
    if len(node) > _LONGEST or not node.isprintable():
        raise InvalidRequest(
            f"A node has a name of 1 to {_LONGEST} printable characters", WireFamily.PROSE
        )
