"""Realms whose users sign in by password, and the requests of these users.

All users have one password. The realms hash with PBKDF2-SHA256 and protect their users as the
reference configuration does; the realm of the timing test never locks a user by itself.
"""

import base64
import json
import os
from collections.abc import Iterable
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from urllib.parse import urlencode

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from bench.load import Requests
from bench.processes import BenchError
from bench.stack import TOKEN_LIFESPAN, Site, import_realms

PEOPLE = "people"
COSTLY_PEOPLE = "people-at-todays-cost"
SHIPPED_PEOPLE = "people-at-shipped-cost"
ROTATING_PEOPLE = "people-rotating"
TIMED_PEOPLE = "people-timed"
BROWSING_PEOPLE = "people-browsing"
ROUNDS = {
    PEOPLE: 27_500,
    COSTLY_PEOPLE: 210_000,
    SHIPPED_PEOPLE: 600_000,
    ROTATING_PEOPLE: 27_500,
    TIMED_PEOPLE: 27_500,
    BROWSING_PEOPLE: 1,
}
"""Iterations of PBKDF2-SHA256, by realm. The reference configuration ships without
`hashIterations`, which means 600,000; 27,500 was the default of former versions of Keycloak;
one is next to none."""
_DEAR_ROUNDS = 60_000
"""Iterations of users whose hash costs more than the policy, in the realm of the timing test."""
COUNT = 500
"""So many users called person-1, person-2 and so on are in each realm."""
APP = "app"
BROWSER_APP = "browser-app"
"""Its users sign in with a browser."""
REDIRECT_URI = "https://app.example.test/callback"
_CODE_LIFESPAN = 600
"""Seconds: codes that are collected before a measurement outlive it."""
PASSWORD = "a-Password-Of-16-Characters-1"  # noqa: S105 - of nobody
REFUSED = (HTTPStatus.BAD_REQUEST, "Invalid user credentials")
"""The answer to a wrong password: status and description."""


def add_people(site: Site) -> None:
    """Import the realms with their users; whose name begins with `disabled` is disabled."""
    import_people(site, *ROUNDS)


def import_people(site: Site, *realms: str, **settings: object) -> None:
    """Import some of the realms, perhaps into another database than the state folder's."""
    import_realms(site, [people_document(name) for name in realms], **settings)


def refresh(port: int, realm: str, token: str) -> dict[str, str]:
    """Use a refresh token through the load's nginx; return the answer."""
    form = {"grant_type": "refresh_token", "client_id": APP, "refresh_token": token}
    return _tokens(port, realm, form)


def login_requests(realm: str, connections: int) -> Requests:
    """Let the users of a realm sign in, one after the other."""
    body = urlencode(_login("person-%d"), safe="%")
    return Requests(token_path(realm), body, COUNT, connections, in_order=True)


def flood_requests(realm: str, connections: int) -> Requests:
    """Send wrong passwords of unknown users."""
    body = urlencode(_login("nobody-%d") | {"password": "wrong"}, safe="%")
    return Requests(token_path(realm), body, connections, connections)


def token_path(realm: str) -> str:
    """Return the path of a realm's token endpoint."""
    return f"/realms/{realm}/protocol/openid-connect/token"


def refused_sign_in(port: int, realm: str, numbers: Iterable[int]) -> None:
    """Let users give a wrong password, and see that it is refused."""
    for number in numbers:
        status, answer = _post(port, realm, _login(f"person-{number}") | {"password": "wrong"})
        if (status, answer.get("error_description")) != REFUSED:
            raise BenchError(f"person-{number} of {realm} with a wrong password: {status} {answer}")


def sign_in(port: int, realm: str, numbers: Iterable[int], **more: str) -> list[dict[str, str]]:
    """Let users sign in through the load's nginx; return the answers."""
    return [_tokens(port, realm, _login(f"person-{number}") | more) for number in numbers]


def _tokens(port: int, realm: str, form: dict[str, str]) -> dict[str, str]:
    status, answer = _post(port, realm, form)
    if status != HTTPStatus.OK:
        name = form.get("username", "somebody")
        raise BenchError(f"{name} of {realm} got no tokens: {status} {answer}")
    return answer


def _post(port: int, realm: str, form: dict[str, str]) -> tuple[int, dict[str, str]]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", token_path(realm), urlencode(form), kind)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def _login(username: str) -> dict[str, str]:
    return {
        "grant_type": "password",
        "client_id": APP,
        "username": username,
        "password": PASSWORD,
    }


def people_document(name: str) -> dict[str, object]:
    """Return a realm with its users."""
    hashed, dear = _hashed(ROUNDS[name]), _hashed(_DEAR_ROUNDS)
    timed = name == TIMED_PEOPLE
    kinds = ("person", "locked", "disabled", "dear") if timed else ("person",)
    return {
        "realm": name,
        "enabled": True,
        "sslRequired": "all",
        "accessTokenLifespan": TOKEN_LIFESPAN,
        "ssoSessionIdleTimeout": TOKEN_LIFESPAN,
        "ssoSessionMaxLifespan": TOKEN_LIFESPAN,
        "accessCodeLifespan": _CODE_LIFESPAN,
        "revokeRefreshToken": name == ROTATING_PEOPLE,
        "passwordPolicy": f"hashAlgorithm(pbkdf2-sha256) and hashIterations({ROUNDS[name]})",
        "bruteForceProtected": True,
        "failureFactor": 1_000_000 if timed else 6,
        "waitIncrementSeconds": 1800,
        "maxFailureWaitSeconds": 5400,
        "maxDeltaTimeSeconds": 86400,
        "quickLoginCheckMilliSeconds": 0 if timed else 1000,
        "minimumQuickLoginWaitSeconds": 60,
        "clients": [
            {
                "clientId": APP,
                "publicClient": True,
                "standardFlowEnabled": False,
                "directAccessGrantsEnabled": True,
            },
            {"clientId": BROWSER_APP, "publicClient": True, "redirectUris": [REDIRECT_URI]},
        ],
        "users": [
            {
                "username": f"{kind}-{number}",
                "email": f"{kind}-{number}@example.test",
                "emailVerified": True,
                "firstName": "Pat",
                "lastName": f"Person {number}",
                "enabled": kind != "disabled",
                "credentials": [dear if kind == "dear" else hashed],
            }
            for kind in kinds
            for number in range(1, COUNT + 1)
        ],
    }


def _hashed(rounds: int) -> dict[str, str]:
    """Return the credential as Keycloak exports it; one hash serves all."""
    salt = os.urandom(16)
    value = PBKDF2HMAC(hashes.SHA256(), 32, salt, rounds).derive(PASSWORD.encode())
    texts = {"value": base64.b64encode(value).decode(), "salt": base64.b64encode(salt).decode()}
    data = {"hashIterations": rounds, "algorithm": "pbkdf2-sha256", "additionalParameters": {}}
    return {
        "type": "password",
        "secretData": json.dumps({**texts, "additionalParameters": {}}),
        "credentialData": json.dumps(data),
    }
