"""Stores that go away under a running gateway. Attacks F2, F8."""

import json
import os
import signal
from pathlib import Path
from urllib.parse import quote

import httpx2

from tests.support.certificates import Zoo
from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.postgres import PostgresServer
from tests.support.redis_server import RedisServer
from tests.support.wire import SECRET, audience, basic, client, protocol

SVC = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
PROXY = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
CLIENTS = [client("svc", protocolMappers=[audience("svc")])]
REALM = {
    "realm": "r",
    "enabled": True,
    "clients": CLIENTS,
    "users": [
        {
            "username": "service-account-svc",
            "enabled": True,
            "serviceAccountClientId": "svc",
            "clientRoles": {"realm-management": ["realm-admin"]},
        }
    ],
}
IN_MEMORY = ("/admin/realms/r", "/admin/realms/r/credential-registrators", "/admin/serverinfo")
"""What the admin API could answer from memory once the caller is known."""
RECOVERY = 10.0
"""Seconds to wait on a busy machine for what takes two on an idle one. Attacks S18."""


def _token(http: httpx2.Client, form: dict[str, str] | None = None) -> httpx2.Response:
    return http.post(protocol("r", "token"), data=SVC | (form or {}))


def _introspect(http: httpx2.Client, token: str) -> httpx2.Response:
    form = {"client_id": "svc", "client_secret": SECRET, "token": token}
    return http.post(protocol("r", "token/introspect"), data=form)


def _is_active(http: httpx2.Client, token: str) -> bool:
    answer = _introspect(http, token)
    return answer.status_code == httpx2.codes.OK and answer.json()["active"] is True


def _check(gateway: Gateway, name: str) -> str:
    checks = gateway.health()[1]["checks"]
    return str(next(check["status"] for check in checks if check["name"] == name))


def test_without_sql_what_needs_it_is_503_and_the_rest_goes_on(
    tmp_path: Path, own_postgres: PostgresServer, certificate_zoo: Zoo
) -> None:
    """With a certificate a token is 503: whether it is on a deny list is not known."""
    pem = (certificate_zoo.directory / "device-1.crt").read_text()
    certificate = {"ssl-client-cert": quote(pem), "ssl-client-verify": "SUCCESS"}
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    url = own_postgres.url(own_postgres.create_database()).reveal()
    with (
        start_gateway(tmp_path, import_realm=tmp_path / "realms.json", database_url=url) as gateway,
        gateway.client(**PROXY) as http,
    ):
        token = _token(http).json()["access_token"]
        assert _is_active(http, token)
        bearer = {"Authorization": f"Bearer {token}"}
        for path in IN_MEMORY:
            assert http.get(path, headers=bearer).status_code == 200
        own_postgres.stop()

        for refused in (
            *(http.get(path, headers=bearer) for path in IN_MEMORY),
            _introspect(http, token),
            http.post(protocol("r", "revoke"), data=SVC | {"token": token}),
            _token(http, {"client_id": "never seen"}),
            http.get("/realms/never-seen"),
            http.get("/", headers={"Accept": "text/html"}),
            http.post(protocol("r", "token"), data=SVC, headers=certificate),
        ):
            assert refused.status_code == 503
            assert refused.json()["error"] == "temporarily_unavailable"
            assert int(refused.headers["retry-after"]) >= 1
        assert http.get(protocol("r", "certs"), headers=certificate).status_code == 200
        assert http.get("/realms/r/.well-known/openid-configuration").status_code == 200
        assert _token(http).status_code == 200
        assert gateway.health()[0] == 503
        assert gateway.health("live")[0] == 200

        own_postgres.start()
        until(lambda: _is_active(http, token), "no recovery", RECOVERY)
        assert "Traceback" not in gateway.log_text()


def test_a_name_postgresql_cannot_hold_is_unknown_and_no_error(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """NUL in a realm's name or in the client's half of Basic."""
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    url = postgres.url(postgres.create_database()).reveal()
    with (
        start_gateway(tmp_path, import_realm=tmp_path / "realms.json", database_url=url) as gateway,
        gateway.client(**PROXY) as http,
    ):
        assert http.get("/realms/a%00b").status_code == 404
        form = {"grant_type": "client_credentials"}
        nul = http.post(protocol("r", "token"), data=form, headers={"Authorization": basic("a\0b")})
        assert (nul.status_code, nul.json()["error"]) == (401, "invalid_client")


def _revoke(http: httpx2.Client, client_id: str, token: str) -> httpx2.Response:
    form = {"client_id": client_id, "client_secret": SECRET, "token": token}
    return http.post(protocol("r", "revoke"), data=form)


def _refresh(http: httpx2.Client, token: str) -> httpx2.Response:
    form = {"grant_type": "refresh_token", "client_id": "lasting", "refresh_token": token}
    return http.post(protocol("r", "token"), data=form | {"client_secret": SECRET})


def _is_unavailable(answer: httpx2.Response) -> bool:
    is_told = answer.json()["error"] == "temporarily_unavailable"
    return answer.status_code == 503 and is_told and int(answer.headers["retry-after"]) >= 1


def test_a_revocation_that_is_not_stored_is_503_and_repeatable(
    tmp_path: Path, own_postgres: PostgresServer, own_redis: RedisServer
) -> None:
    """RFC 7009 §2.2.1; attacks: C11. Access tokens are revoked in SQL, sessions end in Redis."""
    lasting = client("lasting", attributes={"client_credentials.use_refresh_token": "true"})
    realm = {**REALM, "clients": [*CLIENTS, lasting]}
    (tmp_path / "realms.json").write_text(json.dumps(realm))
    with (
        start_gateway(
            tmp_path,
            import_realm=tmp_path / "realms.json",
            database_url=own_postgres.url(own_postgres.create_database()).reveal(),
            redis_url=own_redis.url.reveal(),
        ) as gateway,
        gateway.client(**PROXY) as http,
    ):
        access = _token(http).json()["access_token"]
        refresh = _token(http, {"client_id": "lasting"}).json()["refresh_token"]
        assert _is_active(http, access)
        assert _refresh(http, refresh).status_code == 200

        os.kill(own_redis.pid, signal.SIGSTOP)
        assert _is_unavailable(_revoke(http, "lasting", refresh))
        os.kill(own_redis.pid, signal.SIGCONT)
        until(lambda: _refresh(http, refresh).status_code == 200, "no recovery", RECOVERY)
        own_postgres.stop()
        assert _is_unavailable(_revoke(http, "svc", access))
        own_postgres.start()
        until(lambda: _is_active(http, access), "no recovery", RECOVERY)

        for client_id, token in (("svc", access), ("lasting", refresh)):
            revoked = _revoke(http, client_id, token)
            assert (revoked.status_code, revoked.content) == (200, b"")
        assert not _is_active(http, access)
        assert _refresh(http, refresh).status_code == 400


def test_without_redis_tokens_go_on_and_it_is_told(tmp_path: Path, own_redis: RedisServer) -> None:
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    with (
        start_gateway(
            tmp_path, import_realm=tmp_path / "realms.json", redis_url=own_redis.url.reveal()
        ) as gateway,
        gateway.client(**PROXY) as http,
    ):
        assert _check(gateway, "redis") == "UP"
        own_redis.stop()
        until(lambda: _check(gateway, "redis") == "DOWN", "the outage is not told")
        token = _token(http).json()["access_token"]
        assert _is_active(http, token)
        revoked = http.post(protocol("r", "revoke"), data=SVC | {"token": token})
        assert revoked.status_code == 200
        assert not _is_active(http, token)
        assert http.get(protocol("r", "certs")).status_code == 200

        own_redis.start()
        until(lambda: _check(gateway, "redis") == "UP", "no recovery", RECOVERY)
