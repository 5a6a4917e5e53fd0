"""The built-in clients of every realm. Keycloak: 8.6 a new realm.

Users sign in to `account-console`; the roles of `account` say what they may do there. The others
exist for programs that expect them.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

from gateway.admin.access import REALM_MANAGEMENT
from gateway.domain.clients import Client
from gateway.domain.realm import MASTER, Realm
from gateway.domain.tables import read_table
from gateway.representations.clients import parse_client, render_client

ACCOUNT: Final = "account"
ACCOUNT_CONSOLE: Final = "account-console"
BROKER: Final = "broker"
_ADDRESSES: Final = ("baseUrl", "redirectUris")
_CLIENTS: Final = read_table("gateway.admin.clients", "default_clients.toml")["clients"]


def default_clients(realm: Realm) -> tuple[dict[str, Any], ...]:
    """Return the documents of the built-in clients, as an administrator would send them."""
    segment = quote(realm.name, safe="")
    documents = [
        {name: _with_realm(value, segment) for name, value in row.items()} for row in _CLIENTS
    ]
    if realm.name != MASTER:
        name = f"${{client_{REALM_MANAGEMENT}}}"
        documents.append(administration_holder(REALM_MANAGEMENT, name))
    return tuple(documents)


def _with_realm(value: Any, segment: str) -> Any:
    if isinstance(value, str):
        return value.replace("{realm}", segment)
    is_texts = isinstance(value, list) and isinstance(value[0], str)
    return [_with_realm(each, segment) for each in value] if is_texts else value


def administration_holder(client_id: str, name: str) -> dict[str, Any]:
    """Return a client that only holds roles: there is no sign-in with it."""
    holder = next(row for row in _CLIENTS if row["clientId"] == BROKER)
    return {**holder, "clientId": client_id, "name": name}


def renamed_clients(clients: Iterable[Client], before: Realm, after: Realm) -> Iterator[Client]:
    """Yield the built-in clients whose addresses name the realm, under its new name.

    An address that an administrator has changed stays.
    """
    former = {document["clientId"]: document for document in default_clients(before)}
    new = {document["clientId"]: document for document in default_clients(after)}
    for client in clients:
        if client.client_id not in former or client.client_id not in new:
            continue
        was, will_be = former[client.client_id], new[client.client_id]
        shown = render_client(client)
        changed: dict[str, Any] = {
            name: will_be[name]
            for name in _ADDRESSES
            if name in was and was[name] != will_be[name] and shown.get(name) == was[name]
        }
        if changed:
            yield parse_client(changed, client.realm_id, base=client)
