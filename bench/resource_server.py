"""A resource server with a secret, and what it and its clients ask of the protocol endpoints."""

import json
from urllib.parse import urlencode

from bench.load import Requests, one_request
from bench.people import token_path
from bench.processes import BenchError

_CREDENTIALS = {"client_id": "resource-server", "client_secret": "of nobody, of a resource server"}
RESOURCE_SERVER: dict[str, object] = {
    "clientId": _CREDENTIALS["client_id"],
    "secret": _CREDENTIALS["client_secret"],
    "standardFlowEnabled": False,
    "serviceAccountsEnabled": True,
    "protocolMappers": [
        {
            "name": "audience",
            "protocol": "openid-connect",
            "protocolMapper": "oidc-audience-mapper",
            "config": {
                "included.client.audience": _CREDENTIALS["client_id"],
                "access.token.claim": "true",
            },
        }
    ],
}
"""The client, as a realm file has it. Its tokens are for itself, so it may introspect them."""


def resource_server_requests(port: int, realm: str) -> dict[str, Requests]:
    """Return its requests; `port` leads to the server that it asks for the introspected token."""
    base = f"/realms/{realm}"
    form = resource_server_form(grant_type="client_credentials")
    token = json.loads(one_request(port, Requests(token_path(realm), form)))["access_token"]
    introspection = Requests(f"{token_path(realm)}/introspect", resource_server_form(token=token))
    if not json.loads(one_request(port, introspection))["active"]:
        raise BenchError("the token of the resource server is not active")
    return {
        "introspection": introspection,
        "JWKS": _get(f"{base}/protocol/openid-connect/certs"),
        "discovery document": _get(f"{base}/.well-known/openid-configuration"),
        "realm document": _get(base),
        "client_credentials token": Requests(token_path(realm), form),
    }


def resource_server_form(**parameters: str) -> str:
    """Return a form with the credentials of the resource server."""
    return urlencode(_CREDENTIALS | parameters)


def _get(path: str) -> Requests:
    return Requests(path, "", method="GET")
