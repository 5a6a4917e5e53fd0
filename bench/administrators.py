"""A service account that administers every realm, and its requests to the admin API."""

import json
from urllib.parse import urlencode

from bench.load import Requests, one_request
from bench.people import token_path
from bench.stack import Site, import_realms

_MASTER = "master"
_CLIENT = "administrator"
_SECRET = "of nobody, in no place but a measurement"  # noqa: S105 - it says so
_LIFESPAN = 36_000


def add_administrator(site: Site) -> None:
    """Import the client into the realm `master`."""
    account = {
        "username": f"service-account-{_CLIENT}",
        "serviceAccountClientId": _CLIENT,
        "realmRoles": ["admin"],
    }
    client = {
        "clientId": _CLIENT,
        "secret": _SECRET,
        "serviceAccountsEnabled": True,
        "standardFlowEnabled": False,
    }
    master = {
        "realm": _MASTER,
        "enabled": True,
        "accessTokenLifespan": _LIFESPAN,
        "clients": [client],
        "users": [account],
    }
    import_realms(site, [master])


def administrator_token(port: int) -> str:
    """Return an access token that outlives the measurement."""
    form = {
        "grant_type": "client_credentials",
        "client_id": _CLIENT,
        "client_secret": _SECRET,
    }
    answer = one_request(port, Requests(token_path(_MASTER), urlencode(form)))
    return str(json.loads(answer)["access_token"])


def admin_requests(
    token: str, method: str, path: str, body: object = None, *, numbers: int = 0
) -> Requests:
    """Ask the admin API below /admin/realms; where `numbers` are given, `%d` counts to them."""
    return Requests(
        path=f"/admin/realms/{path}",
        body="" if body is None else json.dumps(body),
        count=numbers,
        connections=8,
        in_order=numbers > 0,
        method=method,
        content_type="application/json",
        token=token,
    )
