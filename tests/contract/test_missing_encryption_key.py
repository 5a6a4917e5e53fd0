"""A start beside a database that contains secrets never creates a key: it names the missing one."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.domain.errors import SecretUnreadable
from gateway.domain.secrets import Secret
from gateway.settings import SettingsError, read_settings
from gateway.supervisor.preparation import prepare
from tests.support.postgres import PostgresServer

OTHER_KEY = base64.b64encode(b"another key".ljust(32)).decode()


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Return the settings of a new installation with an administrator."""
    common = {"state_dir": tmp_path / "state", "admin_password": Secret("a-password")}
    if request.param == "sqlite":
        yield common
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create_database()
    yield common | {"database_url": server.url(name)}
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_missing_key_is_named_and_none_is_created(settings: dict[str, Any]) -> None:
    prepare(read_settings(**settings))
    key = settings["state_dir"] / "secrets" / "encryption.key"
    content = key.read_bytes()
    key.unlink()
    with pytest.raises(SettingsError) as refused:
        prepare(read_settings(**settings))
    message = str(refused.value)
    assert str(key) in message
    assert "REALMGATE_ENCRYPTION_KEY_FILE" in message
    assert "Restore" in message
    assert not key.exists()
    key.write_bytes(content)
    key.chmod(0o600)
    prepare(read_settings(**settings))


def test_a_database_without_secrets_gets_a_key(settings: dict[str, Any]) -> None:
    prepare(read_settings(**settings | {"admin_password": None}))
    key = settings["state_dir"] / "secrets" / "encryption.key"
    key.unlink()
    prepare(read_settings(**settings))
    assert key.exists()


@pytest.mark.parametrize(
    ("setting", "source"),
    [
        ("encryption_key", "REALMGATE_ENCRYPTION_KEY does"),
        ("encryption_key_file", "(REALMGATE_ENCRYPTION_KEY_FILE)"),
    ],
)
def test_another_key_is_named_with_the_remedy(
    settings: dict[str, Any], tmp_path: Path, setting: str, source: str
) -> None:
    prepare(read_settings(**settings))
    other = tmp_path / "other.key"
    other.write_text(OTHER_KEY)
    other.chmod(0o600)
    wrong = Secret(OTHER_KEY) if setting == "encryption_key" else other
    with pytest.raises(SecretUnreadable) as refused:
        prepare(read_settings(**settings, **{setting: wrong}))
    message = str(refused.value)
    assert source in message
    assert "Restore the key" in message
    assert OTHER_KEY not in message
