"""A service account that administers every realm, and its requests to the admin API."""

import json
from dataclasses import dataclass, field
from urllib.parse import urlencode

from bench.load import Requests, one_request
from bench.people import PEOPLE, token_path
from bench.stack import TOKEN_LIFESPAN, Site, import_realms

MASTER = "master"


@dataclass(frozen=True, slots=True)
class Administrator:
    """The credentials of the service account."""

    client: str
    secret: str = field(repr=False)


ADMINISTRATOR = Administrator("administrator", "of nobody, in no place but a measurement")
ADMIN_PASSWORD = "The Administrator's word of 1 measurement!"  # noqa: S105 - of nobody
"""Of the user `admin` of the realm master."""
_WRITES = 1_000_000
"""More than any round makes: no name twice."""


def add_administrator(site: Site) -> None:
    """Import the client into the realm `master`."""
    account = {
        "username": f"service-account-{ADMINISTRATOR.client}",
        "serviceAccountClientId": ADMINISTRATOR.client,
        "realmRoles": ["admin"],
    }
    client = {
        "clientId": ADMINISTRATOR.client,
        "secret": ADMINISTRATOR.secret,
        "serviceAccountsEnabled": True,
        "standardFlowEnabled": False,
    }
    master = {
        "realm": MASTER,
        "enabled": True,
        "sslRequired": "none",  # a server is measured without nginx, too
        "accessTokenLifespan": TOKEN_LIFESPAN,
        "clients": [client],
        "users": [account],
    }
    import_realms(site, [master])


def administrator_form() -> str:
    """Return the form that asks for the administrator's token."""
    form = {
        "grant_type": "client_credentials",
        "client_id": ADMINISTRATOR.client,
        "client_secret": ADMINISTRATOR.secret,
    }
    return urlencode(form)


def administrator_token(port: int) -> str:
    """Return an access token that outlives the measurement."""
    answer = one_request(port, Requests(token_path(MASTER), administrator_form()))
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


def kinds_of_requests(token: str, writes: str = PEOPLE) -> dict[str, Requests]:
    """Return what an administrator asks of the realm of people; new things go to `writes`.

    `ROUND` in a body stands for something that no other round has.
    """
    user = {"username": "made-ROUND-%d", "enabled": True, "email": "made-ROUND-%d@example.test"}
    return {
        "one realm": admin_requests(token, "GET", PEOPLE),
        "a user by name": admin_requests(
            token, "GET", f"{PEOPLE}/users?username=person-%d&exact=true", numbers=500
        ),
        "a page of 20 users": admin_requests(token, "GET", f"{PEOPLE}/users?max=20"),
        "a page of 100 users": admin_requests(token, "GET", f"{PEOPLE}/users"),
        "clients": admin_requests(token, "GET", f"{PEOPLE}/clients?clientId=app"),
        "a new user": admin_requests(token, "POST", f"{writes}/users", user, numbers=_WRITES),
        "a new role": admin_requests(
            token, "POST", f"{writes}/roles", {"name": "made-ROUND-%d"}, numbers=_WRITES
        ),
    }
