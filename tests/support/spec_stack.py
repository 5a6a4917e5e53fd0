"""The whole product as a client meets it: HTTPS through the real nginx, to real gateways.

`spec` is one gateway on SQLite, `pair` two on PostgreSQL that share all stores. Names of users are
given out once (`fresh`), so that no test sees what another one did.
"""

import base64
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from argon2.low_level import Type, hash_secret_raw

from gateway.cli.nginx import PlainHttp
from tests.support.edge_certificates import EdgeCertificates
from tests.support.forked_gateway import run_command
from tests.support.gateway_process import Gateway, start_gateway
from tests.support.nginx import RunningNginx, start_nginx
from tests.support.postgres import PostgresServer
from tests.support.redis_server import RedisServer
from tests.support.sign_in_browser import web_client
from tests.support.wire import (
    BOUND,
    DEVICE,
    PASSWORD,
    SECRET,
    app,
    audience,
    claims_of,
    client,
    device,
    user,
)

ADMIN_PASSWORD = "The administrator's word 1"
CHEAP = "hashAlgorithm(pbkdf2-sha-256) and hashIterations(1000)"
"""The alias of the specification's own realms."""
FACTOR = 5
TEN_MINUTES = 600
KEY_BOUND = {"dpop.bound.access.tokens": "true"}
_PATIENCE = 60.0
NUMBERED = 40
"""How many users of each kind a realm has."""
DEVICE_SUBJECT = "CN=device-1,OU=Devices,O=Realmgate Demonstration"


def imported(digest: str, rounds: int, password: str = PASSWORD) -> dict[str, Any]:
    """Return a PBKDF2 credential as Keycloak exports it, made without the product."""
    salt = b"sixteen bytes .."
    value = hashlib.pbkdf2_hmac(digest, password.encode(), salt, rounds)
    name = "pbkdf2" if digest == "sha1" else f"pbkdf2-{digest}"
    return _hashed(name, rounds, value, salt, {})


def _imported_argon2() -> dict[str, Any]:
    salt = b"sixteen bytes .."
    value = hash_secret_raw(PASSWORD.encode(), salt, 2, 256, 1, 32, Type.ID)
    parameters = {
        "hashLength": ["32"],
        "memory": ["256"],
        "type": ["id"],
        "version": ["1.3"],
        "parallelism": ["1"],
    }
    return _hashed("argon2", 2, value, salt, parameters)


def _hashed(
    algorithm: str, rounds: int, value: bytes, salt: bytes, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    made = {"hashIterations": rounds, "algorithm": algorithm, "additionalParameters": parameters}
    secret = {
        "value": base64.b64encode(value).decode(),
        "salt": base64.b64encode(salt).decode(),
        "additionalParameters": {},
    }
    return {
        "type": "password",
        "createdDate": 1_000 * int(datetime.now(UTC).timestamp()),
        "credentialData": json.dumps(made),
        "secretData": json.dumps(secret),
    }


_MONTH_AGO = 1_000 * int((datetime.now(UTC) - timedelta(days=31)).timestamp())


def _numbered(*kinds: str, **fields: Any) -> list[dict[str, Any]]:
    return [user(f"{kind}-{number}", **fields) for kind in kinds for number in range(NUMBERED)]


def _realm(name: str, **fields: Any) -> dict[str, Any]:
    standard = {
        "realm": name,
        "enabled": True,
        "sslRequired": "all",
        "defaultSignatureAlgorithm": "ES256",
        "passwordPolicy": CHEAP,
        "users": _numbered("user"),
        "clients": [
            app("app"),
            app("other-app"),
            client("svc", directAccessGrantsEnabled=True, protocolMappers=[audience("svc")]),
        ],
    }
    return standard | fields


def _guarded(name: str, **fields: Any) -> dict[str, Any]:
    return _realm(
        name,
        **{
            "bruteForceProtected": True,
            "failureFactor": FACTOR,
            "waitIncrementSeconds": TEN_MINUTES,
            "maxFailureWaitSeconds": 2 * TEN_MINUTES,
            "quickLoginCheckMilliSeconds": 0,
        }
        | fields,
    )


_QUICK = {"quickLoginCheckMilliSeconds": 60_000, "minimumQuickLoginWaitSeconds": 300}
_ROLES = {
    "realm": [
        {"name": "reader"},
        {
            "name": "editor",
            "composite": True,
            "composites": {"realm": ["reader"], "client": {"shop": ["buy"]}},
        },
    ],
    "client": {"shop": [{"name": "buy"}, {"name": "sell"}]},
}

REALMS = [
    _realm(
        "spec",
        roles=_ROLES,
        users=[
            *_numbered("user"),
            user("alice", realmRoles=["editor"], clientRoles={"shop": ["sell"]}),
            user("disabled", enabled=False),
            user("unfinished", requiredActions=["UPDATE_PASSWORD"]),
            {k: v for k, v in user("nameless").items() if k != "lastName"},
            user("second", credentials=[{"type": "password", "value": PASSWORD}, DEVICE]),
            {"username": "wordless", "enabled": True},
        ],
        clients=[
            app("app", webOrigins=["https://app.example"]),
            app("other-app"),
            app("no-grant", directAccessGrantsEnabled=False),
            app("consent", consentRequired=True),
            app("no-refresh", attributes={"use.refresh.tokens": "false"}),
            app("brief", attributes={"access.token.lifespan": "17"}),
            {"clientId": "shop", "enabled": True, "bearerOnly": True},
            client("svc", directAccessGrantsEnabled=True, protocolMappers=[audience("svc")]),
            client("bound-app", directAccessGrantsEnabled=True, attributes=BOUND),
            device("device-1", DEVICE_SUBJECT, **BOUND),
        ],
    ),
    _realm(
        "dpop",
        eventsEnabled=True,
        enabledEventTypes=["CLIENT_LOGIN_ERROR", "LOGIN_ERROR"],
        clients=[
            app("app"),
            app("changing"),
            app("account-app", protocolMappers=[audience("account")]),
            app("bound-app", attributes=KEY_BOUND),
            client(
                "svc",
                directAccessGrantsEnabled=True,
                protocolMappers=[audience("svc")],
                webOrigins=["https://app.example.test"],
            ),
            client("bound-svc", attributes=KEY_BOUND),
            web_client("web"),
            web_client("bound-web", attributes=KEY_BOUND, implicitFlowEnabled=True),
            web_client("certified-web", attributes=BOUND, implicitFlowEnabled=True),
        ],
    ),
    _realm("rotating", revokeRefreshToken=True, refreshTokenMaxReuse=0),
    _realm("twice", revokeRefreshToken=True, refreshTokenMaxReuse=1),
    _realm("verifying", verifyEmail=True, users=_numbered("user", emailVerified=False)),
    _realm(
        "expiring",
        passwordPolicy=f"{CHEAP} and forceExpiredPasswordChange(30)",
        users=[
            user("user-0", credentials=[imported("sha256", 1_000) | {"createdDate": _MONTH_AGO}])
        ],
    ),
    _realm(
        "imported",
        users=[
            user("sha1", credentials=[imported("sha1", 1_000)]),
            user("sha256", credentials=[imported("sha256", 1_000)]),
            user("sha512", credentials=[imported("sha512", 1_000)]),
            user("argon2", credentials=[_imported_argon2()]),
            user("accented", credentials=[imported("sha256", 1_000, "p\u00e4ssword")]),
        ],
    ),
    _guarded("guarded"),
    _guarded("quick", **_QUICK),
    _guarded("capped", **_QUICK, maxFailureWaitSeconds=60),
    _guarded("brief-lock", **_QUICK, failureFactor=2, waitIncrementSeconds=1),
    _guarded("permanent", permanentLockout=True),
    _guarded(
        "codes",
        maxSecondaryAuthFailures=2,
        users=_numbered("user", credentials=[{"type": "password", "value": PASSWORD}, DEVICE]),
    ),
    _guarded(
        "browsers",
        clients=[web_client("web")],
        attributes={"userProfileEnabled": "false"},
        users=_numbered("user", credentials=[{"type": "password", "value": PASSWORD}, DEVICE]),
    ),
    _realm(
        "slow",
        passwordPolicy="hashAlgorithm(pbkdf2-sha256) and hashIterations(600000)",
        users=[user("user-0", credentials=[imported("sha256", 600_000)])],
    ),
    _realm(
        "limits",
        accessTokenLifespan=61,
        ssoSessionIdleTimeout=907,
        ssoSessionMaxLifespan=36001,
        offlineSessionIdleTimeout=2592001,
        offlineSessionMaxLifespanEnabled=True,
        offlineSessionMaxLifespan=2592000,
    ),
    _realm("parts", clientSessionIdleTimeout=303, clientSessionMaxLifespan=202),
    _realm(
        "offline-parts",
        offlineSessionMaxLifespanEnabled=True,
        clientOfflineSessionIdleTimeout=505,
        clientOfflineSessionMaxLifespan=404,
    ),
    _realm("brief-max", ssoSessionMaxLifespan=55),
    _realm(
        "brief-idle",
        clientSessionIdleTimeout=303,
        clientOfflineSessionIdleTimeout=505,
        offlineSessionMaxLifespanEnabled=True,
    ),
    _realm("idle-offline", offlineSessionIdleTimeout=606, offlineSessionMaxLifespanEnabled=True),
    {
        "realm": "master",
        "enabled": True,
        "passwordPolicy": CHEAP,
        "bruteForceProtected": True,
        "failureFactor": FACTOR,
        "waitIncrementSeconds": TEN_MINUTES,
        "quickLoginCheckMilliSeconds": 0,
        "users": [user("plain")],
    },
]


@dataclass(frozen=True, slots=True)
class Stack:
    """nginx and the gateways behind it."""

    nginx: RunningNginx
    gateways: Sequence[Gateway]
    http: httpx2.Client
    certificates: EdgeCertificates
    settings: Mapping[int, Mapping[str, str]]
    """What each gateway was started with, by its process."""
    given_out: Counter[str] = field(default_factory=Counter)

    def fresh(self, realm: str = "spec") -> str:
        """Return the name of a user of the realm that no test has used."""
        number = self.given_out[realm]
        assert number < NUMBERED, "there are no users left"
        self.given_out[realm] += 1
        return f"user-{number}"

    def token(
        self,
        realm: str = "spec",
        form: Mapping[str, str] | None = None,
        *,
        prefix: str = "",
        http: httpx2.Client | None = None,
        **headers: str,
    ) -> httpx2.Response:
        """POST to the token endpoint, below `/auth` where `prefix` says so."""
        url = f"{self.nginx.https}{prefix}{protocol(realm)}/token"
        return (http or self.http).post(url, data=dict(form or {}), headers=headers)

    def sign_in(
        self, username: str, password: str | None = PASSWORD, realm: str = "spec", **more: str
    ) -> httpx2.Response:
        """Sign in through the client `app`."""
        form = {"grant_type": "password", "client_id": "app", "username": username}
        if password is not None:
            form["password"] = password
        return self.token(realm, form | more)

    def signed_in(self, username: str, realm: str = "spec", **more: str) -> dict[str, Any]:
        """Return the tokens of a user who signs in."""
        response = self.sign_in(username, realm=realm, **more)
        assert response.status_code == httpx2.codes.OK, response.text
        document: dict[str, Any] = response.json()
        return document

    def refresh(self, token: str, realm: str = "spec", **more: str) -> httpx2.Response:
        """Use a refresh token as the client `app`."""
        form = {"grant_type": "refresh_token", "client_id": "app", "refresh_token": token}
        return self.token(realm, form | more)

    def userinfo(self, token: str, realm: str = "spec") -> httpx2.Response:
        """Ask who the bearer is."""
        url = f"{self.nginx.https}{protocol(realm)}/userinfo"
        return self.http.get(url, headers={"Authorization": f"Bearer {token}"})

    def introspect(self, token: str, realm: str = "spec") -> dict[str, Any]:
        """Introspect as `svc`."""
        form = {"client_id": "svc", "client_secret": SECRET, "token": token}
        url = f"{self.nginx.https}{protocol(realm)}/token/introspect"
        document: dict[str, Any] = self.http.post(url, data=form).json()
        return document

    def logout(self, token: str, realm: str = "spec", **more: str) -> httpx2.Response:
        """End a session by its refresh token, as the client `app`."""
        form = {"client_id": "app", "refresh_token": token} | more
        return self.http.post(f"{self.nginx.https}{protocol(realm)}/logout", data=form)

    def administrator(self, username: str = "admin", password: str = ADMIN_PASSWORD) -> str:
        """Return a token of admin-cli in `master`, asked for anew once it has expired."""
        form = {"grant_type": "password", "client_id": "admin-cli"}
        response = self.token("master", form | {"username": username, "password": password})
        assert response.status_code == httpx2.codes.OK, response.text
        return str(response.json()["access_token"])

    def ask(
        self, path: str, method: str = "GET", token: str | None = None, **query: str
    ) -> httpx2.Response:
        """Ask the admin API, as the administrator unless another token is given."""
        return self.http.request(
            method,
            f"{self.nginx.https}/admin/realms/{path}",
            params=query,
            headers={"Authorization": f"Bearer {token or self.administrator()}"},
        )

    def put(self, path: str, document: object) -> httpx2.Response:
        """PUT to the admin API, as the administrator."""
        return self.http.put(
            f"{self.nginx.https}/admin/realms/{path}",
            json=document,
            headers={"Authorization": f"Bearer {self.administrator()}"},
        )

    def id_of(self, username: str, realm: str = "spec") -> str:
        """Return the id of a user."""
        (found,) = self.ask(f"{realm}/users", username=username, exact="true").json()
        return str(found["id"])

    def attack_status(self, username: str, realm: str) -> dict[str, Any]:
        """Return what the attack detection tells of a user."""
        path = f"{realm}/attack-detection/brute-force/users/{self.id_of(username, realm)}"
        document: dict[str, Any] = self.ask(path).json()
        return document

    def command(self, gateway: Gateway, *arguments: str, code: int = 0) -> str:
        """Run `realmgate` with the settings of a gateway; return what it writes."""
        environment = {"PATH": os.environ["PATH"], **self.settings[gateway.pid]}
        done = run_command(arguments, cwd=Path("/"), env=environment, timeout=_PATIENCE)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def counted(self, kind: str) -> int:
        """Return how many security events of a kind all gateways have counted."""
        start = f'realmgate_security_events_total{{kind="{kind}"}} '
        lines = [line for one in self.gateways for line in one.metrics().splitlines()]
        return sum(int(float(line[len(start) :])) for line in lines if line.startswith(start))


def protocol(realm: str) -> str:
    """Return the protocol path of a realm."""
    return f"/realms/{realm}/protocol/openid-connect"


def refusal(response: httpx2.Response) -> tuple[int, str, str]:
    """Return status, code and text of a refused token request."""
    document = response.json()
    assert set(document) == {"error", "error_description"}
    return response.status_code, document["error"], document["error_description"]


def subject_of(tokens: Mapping[str, Any]) -> str:
    """Return whom the tokens speak for."""
    return str(claims_of(tokens["refresh_token"])["sub"])


@contextmanager
def start_stack(
    folder: Path,
    certificates: EdgeCertificates,
    *,
    gateways: int = 1,
    realms: Sequence[Mapping[str, Any]] = REALMS,
    plain_http: PlainHttp = PlainHttp.REDIRECT,
    **settings: object,
) -> Iterator[Stack]:
    """Run nginx, and gateways in state folders of their own; `settings` are the gateways'."""
    file = folder / "realms.json"
    file.write_text(json.dumps(realms))
    states = [folder / f"g{number}" for number in range(gateways)]
    sockets = [f"unix:{state / 'run/gateway.sock'}" for state in states]
    with ExitStack() as running:
        nginx = running.enter_context(
            start_nginx(folder, certificates.folder, sockets, plain_http=plain_http)
        )
        common: dict[str, Any] = {
            "import_realm": file,
            "public_url": nginx.https,
            "mtls_public_url": nginx.mtls,
            "admin_password": ADMIN_PASSWORD,
            "client_ca_file": certificates.folder / "ca.crt",
            "client_crl_file": certificates.folder / "ca.crl",
        }
        started = [
            running.enter_context(start_gateway(folder, state_dir=state, **(common | settings)))
            for state in states
        ]
        http = running.enter_context(nginx.client())
        http.timeout = httpx2.Timeout(_PATIENCE)
        stores = {f"REALMGATE_{name.upper()}": str(value) for name, value in settings.items()}
        environments = {
            one.pid: {"REALMGATE_STATE_DIR": str(one.state_dir), **stores} for one in started
        }
        yield Stack(nginx, started, http, certificates, environments)


@pytest.fixture(scope="session")
def spec(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Stack]:
    """Run one gateway on SQLite and its private Redis behind nginx, for the whole session."""
    with start_stack(tmp_path_factory.mktemp("spec"), edge_certificates) as stack:
        yield stack


@pytest.fixture(scope="session")
def pair(
    tmp_path_factory: pytest.TempPathFactory,
    edge_certificates: EdgeCertificates,
    postgres: PostgresServer,
) -> Iterator[Stack]:
    """Run two gateways on the same PostgreSQL and Redis behind nginx, for the whole session."""
    folder = tmp_path_factory.mktemp("pair")
    server = RedisServer()
    server.start()
    try:
        with start_stack(
            folder,
            edge_certificates,
            gateways=2,
            database_url=postgres.url(postgres.create_database()).reveal(),
            redis_url=server.url.reveal(),
            encryption_key_file=folder / "encryption.key",
        ) as stack:
            yield stack
    finally:
        server.stop()
