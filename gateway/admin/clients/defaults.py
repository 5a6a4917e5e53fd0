"""The built-in clients of every realm. Keycloak: 8.6 a new realm.

Users sign in to `account-console`; the roles of `account` say what they may do there. The others
exist for programs that expect them.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

from gateway.admin.access import (
    REALM_MANAGEMENT,
)
from gateway.domain.clients import Client
from gateway.domain.realm import MASTER, Realm
from gateway.representations.clients import parse_client, render_client

ACCOUNT: Final = "account"
ACCOUNT_CONSOLE: Final = "account-console"
ADMIN_CLI: Final = "admin-cli"
ADMIN_CONSOLE: Final = "security-admin-console"
BROKER: Final = "broker"
FOR_A_REALM: Final = {"realm_client": "true"}
_NOT_FOR_A_REALM: Final = {"realm_client": "false"}
_LIGHTWEIGHT: Final = {"client.use.lightweight.access.token.enabled": "true"}
_POST_LOGOUT: Final = {"post.logout.redirect.uris": "+"}
_PKCE: Final = {"pkce.code.challenge.method": "S256"}
_ADDRESSES: Final = ("baseUrl", "redirectUris")
_AUDIENCE: Final = {
    "name": "audience resolve",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-audience-resolve-mapper",
    "config": {},
}
_LOCALE: Final = {
    "name": "locale",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-usermodel-attribute-mapper",
    "config": {
        "introspection.token.claim": "true",
        "userinfo.token.claim": "true",
        "user.attribute": "locale",
        "id.token.claim": "true",
        "access.token.claim": "true",
        "claim.name": "locale",
        "jsonType.label": "String",
    },
}


def default_clients(realm: Realm) -> tuple[dict[str, Any], ...]:
    """Return the documents of the built-in clients, as an administrator would send them."""
    documents = [
        _account(realm),
        _account_console(realm),
        _admin_cli(),
        administration_holder(BROKER, f"${{client_{BROKER}}}"),
        _admin_console(realm),
    ]
    if realm.name != MASTER:
        name = f"${{client_{REALM_MANAGEMENT}}}"
        documents.append(administration_holder(REALM_MANAGEMENT, name))
    return tuple(documents)


def administration_holder(client_id: str, name: str) -> dict[str, Any]:
    """Return a client that only holds roles: there is no sign-in with it."""
    return {
        "clientId": client_id,
        "name": name,
        "bearerOnly": True,
        "fullScopeAllowed": False,
        "nodeReRegistrationTimeout": 0,
        "attributes": FOR_A_REALM,
    }


def _account(realm: Realm) -> dict[str, Any]:
    return _page(ACCOUNT, f"/realms/{_segment(realm)}/account/", _POST_LOGOUT) | {
        "rootUrl": "${authBaseUrl}",
        "fullScopeAllowed": False,
    }


def _account_console(realm: Realm) -> dict[str, Any]:
    attributes = {**_POST_LOGOUT, **_PKCE}
    return _page(ACCOUNT_CONSOLE, f"/realms/{_segment(realm)}/account/", attributes) | {
        "rootUrl": "${authBaseUrl}",
        "fullScopeAllowed": False,
        "protocolMappers": [_AUDIENCE],
    }


def _admin_console(realm: Realm) -> dict[str, Any]:
    attributes = {**_LIGHTWEIGHT, **_POST_LOGOUT, **_PKCE}
    return _page(ADMIN_CONSOLE, f"/admin/{_segment(realm)}/console/", attributes) | {
        "rootUrl": "${authAdminUrl}",
        "webOrigins": ["+"],
        "protocolMappers": [_LOCALE],
    }


def _admin_cli() -> dict[str, Any]:
    return {
        "clientId": ADMIN_CLI,
        "name": f"${{client_{ADMIN_CLI}}}",
        "publicClient": True,
        "standardFlowEnabled": False,
        "directAccessGrantsEnabled": True,
        "nodeReRegistrationTimeout": 0,
        "attributes": {**_NOT_FOR_A_REALM, **_LIGHTWEIGHT},
    }


def _page(client_id: str, address: str, attributes: dict[str, str]) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "name": f"${{client_{client_id}}}",
        "baseUrl": address,
        "redirectUris": [f"{address}*"],
        "publicClient": True,
        "nodeReRegistrationTimeout": 0,
        "attributes": {**_NOT_FOR_A_REALM, **attributes},
    }


def _segment(realm: Realm) -> str:
    return quote(realm.name, safe="")


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
