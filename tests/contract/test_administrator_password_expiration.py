"""The log at start warns when the administrator's password expires; a new one ends the warning."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.domain.secrets import Secret
from gateway.representations.realms import create_realm
from gateway.settings import Settings, read_settings
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.single_use_codes import RedisOneTimeMarks
from gateway.storage.sql.database import SqlDatabase
from gateway.supervisor.housekeeping import warn_at_start, warn_daily
from gateway.supervisor.preparation import prepare
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, credential, group, role, user

_CHEAP = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1)"


def _settings(folder: Path, days: int) -> Settings:
    file = folder / "master.json"
    policy = f"{_CHEAP} and forceExpiredPasswordChange({days})"
    file.write_text(json.dumps({"realm": "master", "enabled": True, "passwordPolicy": policy}))
    return read_settings(
        state_dir=folder / "state", admin_password=Secret("a-password"), import_realm=(file,)
    )


def _warnings(logged: Sequence[Any]) -> list[tuple[str, str]]:
    return [
        (entry["event"], entry["remedy"])
        for entry in logged
        if entry["log_level"] == "warning" and "password" in entry["event"]
    ]


@pytest.mark.parametrize(
    ("days", "event"),
    [
        (-1, None),
        (8, None),
        (9_999_999, None),
        (2_147_483_647, None),
        (7, "administrator's password expires soon"),
        (0, "administrator's password has expired"),
    ],
)
def test_the_start_warns_in_the_last_week(tmp_path: Path, days: int, event: str | None) -> None:
    settings = _settings(tmp_path, days)
    with capture_logs() as logged:
        prepare(settings)
    remedy = "realmgate user set-password admin --realm master"
    assert _warnings(logged) == ([(event, remedy)] if event else [])


def test_a_start_without_an_administrator_says_how_to_create_one(tmp_path: Path) -> None:
    settings = replace(_settings(tmp_path, 1), admin_password=None)
    with capture_logs() as logged:
        prepare(settings)
    (warning,) = [entry for entry in logged if entry["event"] == "no administrator"]
    assert "REALMGATE_ADMIN_PASSWORD_FILE" in warning["remedy"]
    assert "realmgate user roles USER --realm master --add admin" in warning["remedy"]
    assert _warnings(logged) == []


def test_a_start_with_an_administrator_does_not_warn_of_none(tmp_path: Path) -> None:
    settings = _settings(tmp_path, 8)
    with capture_logs() as logged:
        prepare(settings)
        prepare(replace(settings, admin_password=None))
    assert not [entry for entry in logged if entry["event"] == "no administrator"]


async def _store_administrators(database: SqlDatabase) -> None:
    """Store `direct` and `member` with the role `admin`, and `other` without, all expired."""
    document = {"realm": "master", "passwordPolicy": "forceExpiredPasswordChange(1)"}
    expiring = create_realm(document | {"id": "master-id", "enabled": True})
    async with database.write() as stores:
        await stores.realms.add(expiring)
        await stores.roles.add(role("admin", "master"))
        for name in ("direct", "member", "other"):
            await stores.users.add(user(name, "master"))
            await stores.users.set_credential("master-id", credential(f"{name}-uuid"))
        await stores.roles.grant("master-id", "direct-uuid", ["admin-role"])
        await stores.groups.add(group("admins", of="master"))
        await stores.groups.grant("master-id", "admins-group", ["admin-role"])
        await stores.groups.join("master-id", "member-uuid", "admins-group")


async def test_one_gateway_warns_each_administrator_daily(
    database: SqlDatabase, redis_server: RedisServer
) -> None:
    await _store_administrators(database)
    client = create_client(redis_server.url)
    marks, clock = RedisOneTimeMarks(client), SetClock(NOW + timedelta(days=30))
    try:
        with capture_logs() as logged:
            for _ in range(3):
                await warn_daily(database, marks, clock)
        assert {entry["user"] for entry in logged} == {"direct", "member"}
        assert len(logged) == 2
        with capture_logs() as logged:
            await warn_at_start(database, marks, clock)
        assert len(logged) == 2
    finally:
        await client.aclose()
