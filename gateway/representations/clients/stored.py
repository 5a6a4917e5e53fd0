"""A client as `write_client` wrote it, read back without judging it a second time.

Rows are written by this program alone, after `read_client` has judged what is in them. Judging
again costs, at each first meeting with a client, as much as many a token's signature.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.domain.clients import Client
from gateway.representations.clients.attributes import ClientAttributes
from gateway.representations.clients.client import CLIENT_FIELDS
from gateway.representations.clients.settings import client_settings
from gateway.representations.clients.uris import allowed_origins
from gateway.representations.protocol_mappers import restore_mappers


def restore_client(document: Mapping[str, Any], realm_id: str) -> Client:
    """Return the client of a document in storage."""
    own, kept = CLIENT_FIELDS.restore(document)
    for attribute, restore in _RESTORED.items():
        if attribute in own:
            own[attribute] = restore(own[attribute])
    return Client(
        realm_id=realm_id,
        document=kept,
        allowed_origins=allowed_origins(own.get("web_origins", ()), kept),
        **own,
        **client_settings(own.get("attributes", {})),
    )


_RESTORED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "attributes": ClientAttributes().write,
    "web_origins": tuple,
    "default_client_scopes": tuple,
    "optional_client_scopes": tuple,
    "protocol_mappers": restore_mappers,
}
