"""Commands work on an installation that is there; from a wrong folder they make nothing."""

import base64
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main

REALM = '{"realm": "demo", "enabled": true, "defaultSignatureAlgorithm": "ES256"}'
COMMANDS = [
    "keys list",
    "keys rotate --realm demo",
    "keys disable some-kid",
    "realm import realm.json",
    "realm import --reference",
    "realm export demo",
    "user list --realm demo",
    "user show alice --realm demo",
    "user create alice --realm demo",
    "user set-password alice --realm demo --password-file realm.json",
    "user unlock alice --realm demo",
    "user import users.json --realm demo",
    "session list --realm demo --user alice",
    "session end --realm demo --all",
    "migrate",
    "migrate --check",
]
STARTING = ["realm import realm.json", "realm import --reference", "migrate"]


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Work in a folder that has a `var`, as the root of a system does, and no state in it.

    Its path is short, for a state folder in it has to leave room for the name of a socket.
    """
    folder = tmp_path_factory.mktemp("e") / "elsewhere"
    (folder / "var").mkdir(parents=True)
    (folder / "realm.json").write_text(REALM)
    (folder / "users.json").write_text('{"username": "alice"}\n')
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


def run(command: str, environment: Mapping[str, str] | None = None) -> Result:
    return CliRunner(env=environment or {}).invoke(main, command.split())


def found(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("command", COMMANDS)
def test_without_state_a_command_refuses_and_creates_nothing(command: str, elsewhere: Path) -> None:
    before = found(elsewhere)
    done = run(command)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith(f"Error: no Realmgate state in {elsewhere / 'var'}: ")
    assert "REALMGATE_STATE_DIR" in done.stderr
    assert found(elsewhere) == before


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {*STARTING, "migrate --check"}))
def test_a_state_folder_that_is_misspelt_is_not_made(command: str, elsewhere: Path) -> None:
    """Only what begins a database makes the folder that it is told."""
    done = run(command, {"REALMGATE_STATE_DIR": "misspelt"})
    assert done.exit_code == 2
    assert f"no Realmgate state in {elsewhere / 'misspelt'}" in done.stderr
    assert not (elsewhere / "misspelt").exists()


@pytest.mark.parametrize("command", STARTING)
def test_what_begins_a_database_makes_it_where_it_is_told(command: str, elsewhere: Path) -> None:
    done = run(command, {"REALMGATE_STATE_DIR": "state"})
    assert done.exit_code == 0, done.output
    assert (elsewhere / "state" / "realmgate.db").exists()


def test_with_database_and_key_no_state_folder_is_needed(elsewhere: Path) -> None:
    before = found(elsewhere)
    environment = {
        "REALMGATE_DATABASE_URL": f"sqlite:///{elsewhere.parent}/other.db",
        "REALMGATE_ENCRYPTION_KEY": base64.b64encode(bytes(32)).decode(),
    }
    for command in ("migrate", "realm import realm.json", "keys list", "user list --realm demo"):
        done = run(command, environment)
        assert done.exit_code == 0, done.output
    assert found(elsewhere) == before


def test_a_database_without_its_key_gets_no_new_one(elsewhere: Path) -> None:
    """A key made here would seal what no gateway could open."""
    environment = {"REALMGATE_DATABASE_URL": f"sqlite:///{elsewhere.parent}/other.db"}
    assert run("migrate", environment).exit_code == 0
    done = run("realm import realm.json", environment)
    assert done.exit_code == 2
    assert "REALMGATE_ENCRYPTION_KEY" in done.stderr
    assert found(elsewhere / "var") == set()


@pytest.mark.parametrize("command", ["settings show", "doctor"])
def test_looking_makes_nothing(command: str, elsewhere: Path) -> None:
    before = found(elsewhere)
    run(command)
    assert found(elsewhere) == before
