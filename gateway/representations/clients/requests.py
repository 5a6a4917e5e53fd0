"""Documents of clients that are sent to the admin API, before they are read; nodes of clients.

A new client without a name is named by its id, and may be called from where it redirects to. Of a
changed one, what is not sent stays: attributes one by one, too, and an empty one goes. Its lists of
client scopes are changed elsewhere.
Keycloak: POST clients, PUT clients/{id} (26.7), registeredNodes, adminUrl
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.representations.clients.client import CLIENT_FIELDS
from gateway.representations.clients.uris import origins_of
from gateway.representations.spelling import camel_case, snake_case

_REPRESENTATION: Final = "ClientRepresentation"
_SCOPES: Final = ("defaultClientScopes", "optionalClientScopes")
_NODES: Final = "registeredNodes"
_MERGED: Final = ("attributes", _NODES)
_DEPENDENT: Final = (
    *("protocol", "publicClient", "directAccessGrantsEnabled", "attributes"),
    *("rootUrl", "adminUrl", "redirectUris"),
)
"""Fields of a new client on which its defaults depend."""
_LOGOUT_URL: Final = "backchannel.logout.url"
_LOGOUT: Final = {
    "backchannel.logout.session.required": "true",
    "backchannel.logout.revoke.offline.tokens": "false",
}


def given_field(document: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field, whichever way it is spelled; None where there is none."""
    value = document.get(name)
    return document.get(snake_case(name)) if value is None else value


def with_fields(document: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the fields, whichever way it spells them."""
    spellings = {spelling for name in fields for spelling in (name, snake_case(name))}
    others = {name: value for name, value in document.items() if name not in spellings}
    return {**others, **fields}


def new_client_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole document of a client to add; raises UnknownField."""
    CLIENT_FIELDS.require_known(document, _REPRESENTATION)
    added: dict[str, Any] = {}
    if given_field(document, "id") is None:
        added["id"] = str(uuid4())
    if given_field(document, "clientId") is None:
        added["clientId"] = added.get("id") or given_field(document, "id")
    return {**document, **added}


def with_protocol_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new client with what OpenID Connect adds if it names that as its protocol.

    Files of realms and partial imports add nothing. Keycloak: 8.4
    """
    sent = {name: given_field(document, name) for name in _DEPENDENT}
    if sent["protocol"] != OPENID_CONNECT:
        return dict(document)
    switched = dict.fromkeys(("publicClient", "directAccessGrantsEnabled"), True)
    added: dict[str, Any] = {name: flag for name, flag in switched.items() if sent[name] is None}
    if isinstance(sent["rootUrl"], str):
        added |= _defaults_of_root(sent["rootUrl"], sent)
    attributes = sent["attributes"] or {}
    if isinstance(attributes, Mapping) and attributes.get(_LOGOUT_URL) is None:
        added["attributes"] = {**attributes, **_LOGOUT}
    kept = {name: value for name, value in document.items() if camel_case(name) not in added}
    return kept | added


def _defaults_of_root(root: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    added: dict[str, Any] = {} if sent["adminUrl"] is not None else {"adminUrl": root}
    if not sent["redirectUris"]:
        added["redirectUris"] = [f"{root.removesuffix('/')}/*"]
        added["webOrigins"] = origins_of([root])
    return added


def changed_client_document(document: Mapping[str, Any], before: Client) -> dict[str, Any]:
    """Return what of a client is to be changed; raises UnknownField.

    What it has already, though Keycloak's representation has no such field, may be sent back.
    """
    kept = before.document
    known = {name: value for name, value in document.items() if name not in kept}
    CLIENT_FIELDS.require_known(known, _REPRESENTATION)
    ignored = {spelling for name in _SCOPES for spelling in (name, snake_case(name))}
    for spelling in ignored & document.keys():
        if document[spelling] is not None:
            CLIENT_FIELDS.shapes[camel_case(spelling)].read(document[spelling], spelling)
    wanted = {name: value for name, value in document.items() if name not in ignored}
    had = {"attributes": before.attributes, _NODES: kept.get(_NODES, {})}
    for name in _MERGED:
        spelling = name if name in wanted else snake_case(name)
        if isinstance(wanted.get(spelling), Mapping):
            wanted[spelling] = {**had[name], **wanted[spelling]}
    if given_field(wanted, "authorizationServicesEnabled") is None:
        wanted["authorizationServicesEnabled"] = False
    return wanted


def nodes_of(client: Client) -> Mapping[str, Any]:
    """Return when each node was registered, in seconds since 1970, by its name."""
    nodes = client.document.get(_NODES)
    return nodes if isinstance(nodes, Mapping) else {}


def with_nodes(client: Client, nodes: Mapping[str, Any]) -> Client:
    """Return the client with these nodes and no others."""
    document = {name: value for name, value in client.document.items() if name != _NODES}
    return replace(client, document=document | ({_NODES: dict(nodes)} if nodes else {}))


def failed_notifications(client: Client) -> dict[str, Any]:
    """Return Keycloak's answer where no node was notified: the address that it would notify."""
    address = client.document.get("adminUrl")
    return {"failedRequests": [address]} if address else {}
