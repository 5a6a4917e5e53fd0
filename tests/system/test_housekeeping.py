"""A running gateway clears away what has expired."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.gateway_process import Gateway, start_gateway, until


def _remember(database: Path, token_id: str, expires_in: timedelta) -> None:
    expires_at = int((datetime.now(UTC) + expires_in).timestamp() * 1_000_000)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "INSERT INTO revocations (realm_id, token_id, expires_at) SELECT id, ?, ? FROM realms",
            (token_id, expires_at),
        )


def _remembered(gateway: Gateway) -> set[str]:
    with closing(sqlite3.connect(gateway.state_dir / "realmgate.db")) as connection:
        return {token for (token,) in connection.execute("SELECT token_id FROM revocations")}


def test_a_worker_forgets_expired_revocations_from_its_start_on(tmp_path: Path, seed: Path) -> None:
    """However short workers live: a gateway that is restarted often must not gather them."""
    with start_gateway(tmp_path, seed=seed) as gateway:
        gateway.stop()
    _remember(gateway.state_dir / "realmgate.db", "old", -timedelta(minutes=1))
    _remember(gateway.state_dir / "realmgate.db", "new", timedelta(hours=1))
    assert _remembered(gateway) == {"old", "new"}
    with start_gateway(tmp_path) as again:
        until(lambda: _remembered(again) == {"new"}, "what has expired is still there", 5)
