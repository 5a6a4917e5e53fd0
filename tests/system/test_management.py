"""Health and metrics: what an operator's probes and Prometheus are told."""

import base64
import re
import secrets
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from gateway.cli import main
from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
REALM = "/realms/master"


def checks(gateway: Gateway) -> tuple[int, dict[str, Any]]:
    status, report = gateway.health()
    return status, {check["name"]: check for check in report["checks"]}


def counted(gateway: Gateway, line: str) -> float:
    found = [row for row in gateway.metrics().splitlines() if row.startswith(line)]
    return float(found[0].rpartition(" ")[2]) if found else 0.0


def test_readiness_reports_each_part(gateway: Gateway) -> None:
    status, found = checks(gateway)
    assert status == 200
    assert {name: check["status"] for name, check in found.items()} == {
        "sql": "UP",
        "keys": "UP",
        "redis": "UP",
        "redis-server": "UP",
        "revocation-lists": "UP",
        "clock": "UP",
    }
    assert found["keys"]["data"] == {"master": 1}
    assert found["revocation-lists"]["data"] == {"configured": False}


def test_liveness_and_start_answer_apart_from_the_stores(gateway: Gateway) -> None:
    for name in ("live", "started"):
        assert gateway.health(name) == (200, {"status": "UP", "checks": []})


def test_management_knows_no_other_address_and_no_other_method(gateway: Gateway) -> None:
    assert httpx2.get(f"{gateway.management_url}{REALM}").status_code == 404
    response = httpx2.post(f"{gateway.management_url}/health/live")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")


def test_management_describes_the_admin_api_as_documented(gateway: Gateway) -> None:
    served = httpx2.get(f"{gateway.management_url}/openapi.json")
    assert served.headers["content-type"] == "application/json"
    assert served.text == (ROOT / "docs/openapi.json").read_text(encoding="utf-8")


def test_the_public_listener_knows_neither_health_nor_metrics(gateway: Gateway) -> None:
    with gateway.client() as client:
        assert client.get("/metrics").status_code == 404
        assert client.get("/health/ready").status_code == 404


def test_without_sql_the_gateway_is_not_ready(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        database = gateway.state_dir / "realmgate.db"
        with sqlite3.connect(database) as connection:
            connection.execute("ALTER TABLE realms RENAME TO away")
        connection.close()
        until(lambda: gateway.health()[0] == 503, "it stays ready")
        _, found = checks(gateway)
        assert found["keys"]["status"] == "DOWN"
        assert gateway.health("live")[0] == 200


@pytest.mark.parametrize(
    "spoil",
    [
        "DELETE FROM realm_keys",
        "UPDATE realm_keys SET status = 'PASSIVE'",
        "UPDATE realm_keys SET status = 'DISABLED'",
        "DELETE FROM realm_keys WHERE algorithm NOT LIKE 'HS%'",
        "UPDATE realm_keys SET active_from = active_from * 2",
    ],
)
def test_without_a_key_that_signs_the_gateway_is_not_ready(
    tmp_path: Path, seed: Path, spoil: str
) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        with sqlite3.connect(gateway.state_dir / "realmgate.db") as connection:
            connection.execute(spoil)
        connection.close()
        status, found = checks(gateway)
        assert (status, found["keys"]["status"]) == (503, "DOWN")
        assert "no key that signs" in found["keys"]["data"]["reason"]
        assert found["sql"]["status"] == "UP"


def test_a_master_realm_that_signs_by_hmac_is_ready(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        environment = {"REALMGATE_STATE_DIR": str(gateway.state_dir)}
        chosen = ("--set", "defaultSignatureAlgorithm=HS512")
        done = CliRunner(env=environment).invoke(main, ("realm", "update", "master", *chosen))
        assert done.exit_code == 0, done.output
        with sqlite3.connect(gateway.state_dir / "realmgate.db") as connection:
            connection.execute("DELETE FROM realm_keys WHERE algorithm NOT LIKE 'HS%'")
        connection.close()
        status, found = checks(gateway)
        assert (status, found["keys"]["data"]) == (200, {"master": 1})


def test_without_redis_the_check_is_down_and_the_gateway_ready(tmp_path: Path, seed: Path) -> None:
    nowhere = f"redis://127.0.0.1:{free_port()}"
    with start_gateway(tmp_path, seed=seed, redis_url=nowhere) as gateway:
        status, found = checks(gateway)
        assert status == 200
        assert found["redis"]["status"] == "DOWN"
        assert "redis" in found["redis"]["data"]["reason"]
        with gateway.client() as client:
            assert client.get(REALM).status_code == 200


def test_a_key_that_does_not_open_the_database_ends_the_start(
    tmp_path: Path,
    seed: Path,
) -> None:
    with start_gateway(tmp_path, seed=seed) as gateway:
        assert gateway.stop() == 0
    key = gateway.state_dir / "secrets" / "encryption.key"
    key.write_bytes(base64.b64encode(secrets.token_bytes(32)))
    with start_gateway(tmp_path, wait=False, admin_password="") as second:
        assert second.process.wait(20) == 1
        assert f"the encryption key in {key}" in second.log_text()


def test_the_counters_of_all_workers_add_up(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed, workers=2) as gateway:
        for _ in range(30):
            with gateway.client() as client:  # a connection each, so that both workers get some
                assert client.get(REALM).status_code == 200
        line = 'realmgate_requests_total{method="GET",route="/realms/{realm}",status="200"}'
        # A worker counts a request after its response.
        until(lambda: counted(gateway, line) >= 30, "the requests are not counted")
        assert counted(gateway, line) == 30
        assert counted(gateway, 'realmgate_request_seconds_count{route="/realms/{realm}"}') == 30
        files = [file for file in gateway.counter_files() if file.name.startswith("counter_")]
        sizes = [_requests_in(file) for file in files]
        assert len([size for size in sizes if size]) == 2, "one worker answered everything"


def _requests_in(file: Path) -> bool:
    return b"/realms/{realm}" in file.read_bytes()


def test_methods_from_outside_do_not_become_labels(gateway: Gateway) -> None:
    with gateway.client() as client:
        client.request("BREW", REALM)
    metrics = gateway.metrics()
    assert "BREW" not in metrics
    assert 'method="other"' in metrics


def test_every_kind_of_security_event_starts_at_zero(tmp_path: Path, seed: Path) -> None:
    """`increase()` misses the first event of a series that did not exist before it."""
    page = (ROOT / "docs/monitoring.md").read_text(encoding="utf-8")
    table = page.partition("| `kind` of a security event |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    kinds = [kind for row in rows for kind in re.findall(r"`([a-z_]+)`", row)]
    assert len(kinds) >= 8
    with start_gateway(tmp_path, seed=seed) as gateway:
        metrics = gateway.metrics().splitlines()
    for kind in kinds:
        assert f'realmgate_security_events_total{{kind="{kind}"}} 0.0' in metrics, kind


def test_only_grants_that_exist_become_labels(gateway: Gateway) -> None:
    with gateway.client() as client:
        for grant in ("password", "urn:ietf:params:oauth:grant-type:uma-ticket"):
            form = {"grant_type": grant, "client_id": "admin-cli"}
            client.post(f"{REALM}/protocol/openid-connect/token", data=form)
    metrics = gateway.metrics()
    assert 'grant_type="password"' in metrics
    assert 'grant_type="other"' in metrics
    assert "uma-ticket" not in metrics


def test_revocation_lists_show_their_age_and_when_they_expire(
    tmp_path: Path, seed: Path, pki: Path
) -> None:
    files: dict[str, Any] = {"client_ca_file": pki / "ca.crt", "client_crl_file": pki / "ca.crl"}
    files["server_certificate_file"] = pki / "server.crt"
    with start_gateway(tmp_path, seed=seed, **files) as gateway:
        _, found = checks(gateway)
        data = found["revocation-lists"]["data"]
        assert datetime.fromisoformat(data["expires"]) > datetime.now(UTC)
        assert data["age_seconds"] < timedelta(days=1).total_seconds()
        assert counted(gateway, "realmgate_revocation_list_seconds_left") > 0
        assert counted(gateway, "realmgate_client_authority_seconds_left") > 0
        for kind in ("authority", "revocation-list", "server-certificate"):
            labels = f'{{kind="{kind}",realm=""'
            assert counted(gateway, f"realmgate_expiry_seconds_left{labels}}}") > 0
            due = counted(gateway, f'realmgate_expiring{labels},within="7d"}}')
            assert due == 0
        key = '{kind="realm-key",realm="master"}'
        assert counted(gateway, f"realmgate_expiry_seconds_left{key}") > 0


def test_an_unreadable_list_is_reported_and_the_gateway_ready(
    tmp_path: Path, seed: Path, pki: Path
) -> None:
    lists = tmp_path / "ca.crl"
    lists.write_bytes((pki / "ca.crl").read_bytes())
    files: dict[str, Any] = {"client_ca_file": pki / "ca.crt", "client_crl_file": lists}
    with start_gateway(tmp_path, seed=seed, **files) as gateway:
        lists.write_text("-----BEGIN nothing")
        status, found = checks(gateway)
        assert (status, found["revocation-lists"]["status"]) == (200, "DOWN")


def test_authorities_that_cannot_be_read_end_the_start(
    tmp_path: Path, seed: Path, pki: Path
) -> None:
    file = tmp_path / "ca.crt"
    file.write_text("nothing")
    files: dict[str, Any] = {"client_ca_file": file, "client_crl_file": pki / "ca.crl"}
    with start_gateway(tmp_path, seed=seed, wait=False, **files) as gateway:
        assert gateway.process.wait(20) == 2
        assert f"REALMGATE_CLIENT_CA_FILE: {file}" in gateway.log_text()
