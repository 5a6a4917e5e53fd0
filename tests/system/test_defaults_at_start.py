"""A start gives realms of an earlier version the clients that realms are created with now."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.administration import ADMIN_PASSWORD
from tests.support.gateway_process import start_gateway


def test_a_start_adds_the_clients_that_a_realm_lacks(tmp_path: Path, seed: Path) -> None:
    with start_gateway(tmp_path, seed=seed, wait=False) as gateway:
        gateway.process.kill()
        gateway.process.wait()
    with closing(sqlite3.connect(gateway.state_dir / "realmgate.db")) as database:
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("DELETE FROM clients")
        database.commit()
    with start_gateway(tmp_path, state_dir=gateway.state_dir) as gateway, gateway.client() as http:
        form = {"grant_type": "password", "client_id": "admin-cli"}
        response = http.post(
            "/realms/master/protocol/openid-connect/token",
            data=form | {"username": "admin", "password": ADMIN_PASSWORD},
        )
        assert response.status_code == 200, response.text
        assert [
            line["realm"]
            for line in gateway.log()
            if line["event"] == "default clients and roles added"
        ] == ["master"]
        token = response.json()["access_token"]
        listed = http.get(
            "/admin/realms/master/users", headers={"Authorization": f"Bearer {token}"}
        )
        assert [user["username"] for user in listed.json()] == ["admin"]
