"""kill -9 at any moment: what was acknowledged is there afterwards. Attacks F9, S12, S13."""

import json
import os
import signal
from pathlib import Path

from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.wire import CHEAP, PASSWORD, SECRET, app, audience, client, protocol, user

SVC = {"client_id": "svc", "client_secret": SECRET}
REALM = {
    "realm": "r",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "users": [user("alice")],
    "clients": [client("svc", protocolMappers=[audience("svc")]), app("app")],
}


def _ask(gateway: Gateway, path: str, form: dict[str, str]) -> tuple[int, dict[str, object]]:
    with gateway.client() as http:
        response = http.post(protocol("r", path), data=form)
    return response.status_code, response.json() if response.content else {}


def _kill(gateway: Gateway) -> None:
    for pid in (*gateway.family(), gateway.pid):
        os.kill(pid, signal.SIGKILL)
    gateway.process.wait(10)


def test_a_revocation_and_a_logout_outlive_a_crash_of_everything(tmp_path: Path) -> None:
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    sign_in = {"client_id": "app", "username": "alice", "password": PASSWORD}
    with start_gateway(tmp_path, import_realm=tmp_path / "realms.json") as gateway:
        grant = SVC | {"grant_type": "client_credentials"}
        revoked, kept = (str(_ask(gateway, "token", grant)[1]["access_token"]) for _ in range(2))
        offline = [
            str(
                _ask(
                    gateway,
                    "token",
                    sign_in | {"grant_type": "password", "scope": "offline_access"},
                )[1]["refresh_token"]
            )
            for _ in range(2)
        ]
        assert _ask(gateway, "revoke", SVC | {"token": revoked})[0] == 200
        logout = {"client_id": "app", "refresh_token": offline[0]}
        assert _ask(gateway, "logout", logout)[0] == 204
        _kill(gateway)
    with start_gateway(tmp_path) as gateway:
        refresh = {"client_id": "app", "grant_type": "refresh_token"}
        assert _ask(gateway, "token/introspect", SVC | {"token": revoked})[1] == {"active": False}
        assert _ask(gateway, "token/introspect", SVC | {"token": kept})[1]["active"] is True
        assert _ask(gateway, "token", refresh | {"refresh_token": offline[0]})[0] == 400
        until(
            lambda: _ask(gateway, "token", refresh | {"refresh_token": offline[1]})[0] == 200,
            "an offline session was lost",
        )
