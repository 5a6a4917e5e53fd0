"""The log at start warns when the administrator's password expires; a new one ends the warning."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.domain.secrets import Secret
from gateway.settings import Settings
from gateway.supervisor.preparation import prepare

_CHEAP = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1)"


def _settings(folder: Path, days: int) -> Settings:
    file = folder / "master.json"
    policy = f"{_CHEAP} and forceExpiredPasswordChange({days})"
    file.write_text(json.dumps({"realm": "master", "enabled": True, "passwordPolicy": policy}))
    return Settings(
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


def test_no_administrator_means_no_warning(tmp_path: Path) -> None:
    settings = _settings(tmp_path, 1).model_copy(update={"admin_password": None})
    with capture_logs() as logged:
        prepare(settings)
    assert _warnings(logged) == []
