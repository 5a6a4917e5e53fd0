"""The nodes of a client, and the address at which Keycloak tells it things.

Keycloak: registeredNodes, adminUrl
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.domain.clients import Client

_ADDRESS: Final = "adminUrl"
_NODES: Final = "registeredNodes"


def nodes_of(client: Client) -> Mapping[str, Any]:
    """Return when each node was registered, in seconds since 1970, by its name."""
    nodes = client.document.get(_NODES)
    return nodes if isinstance(nodes, Mapping) else {}


def with_nodes(client: Client, nodes: Mapping[str, Any]) -> Client:
    """Return the client with these nodes and no others."""
    document = {name: value for name, value in client.document.items() if name != _NODES}
    return replace(client, document=document | ({_NODES: dict(nodes)} if nodes else {}))


def told_nobody(client: Client) -> dict[str, Any]:
    """Return what Keycloak says where nobody could be told: whom it would have told."""
    address = client.document.get(_ADDRESS)
    return {"failedRequests": [address]} if address else {}
