"""`realmgate realm`: exit codes, lines and files."""

import base64
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main

ACME = {
    "realm": "acme",
    "enabled": True,
    "defaultSignatureAlgorithm": "ES256",
    "clients": [{"clientId": "robot", "secret": "robot-canary"}],
}


@pytest.fixture
def run(tmp_path: Path, sqlite_template: Path) -> "Command":
    """Run the command on a database of its own."""
    (tmp_path / "realmgate.db").write_bytes(sqlite_template.read_bytes())
    return Command(tmp_path)


class Command:
    """`realmgate realm` with a state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment: Mapping[str, str] = {
            "REALMGATE_STATE_DIR": str(folder),
            "REALMGATE_DATABASE_URL": f"sqlite:///{folder}/realmgate.db",
            "REALMGATE_ENCRYPTION_KEY": base64.b64encode(bytes(32)).decode(),
        }

    def file(self, document: Any, name: str = "realm.json") -> str:
        """Write a realm file and return its path."""
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return str(path)

    def __call__(self, *arguments: str) -> Result:
        """Run the command in the folder."""
        return CliRunner(env=self.environment).invoke(main, ["realm", *arguments])


def test_a_file_goes_in_and_comes_out(run: Command) -> None:
    done = run("import", run.file(ACME))
    assert done.exit_code == 0, done.output
    assert "realm acme: created, 1 client and 0 users added" in done.stdout
    shown = run("export", "acme")
    assert shown.exit_code == 0
    secrets = {item["clientId"]: item.get("secret") for item in json.loads(shown.stdout)["clients"]}
    assert {name for name, secret in secrets.items() if secret is not None} == {"robot"}
    assert secrets["robot"] == "**********"
    assert "robot-canary" in run("export", "acme", "--include-secrets").stdout


def test_a_wrong_file_ends_with_2_a_line_per_error_and_no_change(run: Command) -> None:
    wrong = run.file({"realm": "wrong", "enabled": "yes", "failureFactor": -1}, "wrong.json")
    done = run("import", run.file(ACME), wrong)
    assert done.exit_code == 2
    lines, allowed = done.stderr.splitlines(), "a whole number from 0 to 2147483647"
    assert lines == [
        f'Error: {wrong}, line 1: enabled: "yes" given, true or false expected',
        f"Error: {wrong}, line 1: failureFactor: -1 given, {allowed} expected",
    ]
    assert run("export", "acme").exit_code == 2


@pytest.mark.parametrize("text", ["{", "[]", "", '{"realm": "a", "realm": "b"'])
def test_a_file_that_holds_no_realm_ends_with_2_and_its_name(run: Command, text: str) -> None:
    done = run("import", run.file(text))
    assert done.exit_code == 2
    assert "realm.json" in done.stderr


def test_a_missing_file_ends_with_2_and_its_name(run: Command) -> None:
    done = run("import", str(run.folder / "nowhere.json"))
    assert done.exit_code == 2
    assert "nowhere.json: the file cannot be read: No such file" in done.stderr


def test_no_file_at_all_is_a_usage_error(run: Command) -> None:
    assert run("import").exit_code == 2


def test_an_unknown_realm_ends_with_2_and_its_name(run: Command) -> None:
    done = run("export", "nobody")
    assert done.exit_code == 2
    assert "nobody" in done.stderr


def test_an_export_to_a_file_is_readable_by_its_owner_alone(run: Command) -> None:
    run("import", run.file(ACME))
    target = run.folder / "out.json"
    target.write_text("old")
    target.chmod(0o644)
    assert run("export", "acme", "--output", str(target)).exit_code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert json.loads(target.read_text())["realm"] == "acme"
    assert [path for path in run.folder.iterdir() if path.name.startswith(".out")] == []


def test_existing_realms_are_left_alone_on_demand(run: Command) -> None:
    run("import", run.file(ACME))
    done = run("import", "--skip-existing", run.file(ACME | {"enabled": False}))
    assert "realm acme: exists, left alone" in done.stdout
    assert json.loads(run("export", "acme").stdout)["enabled"] is True


def test_what_is_not_imported_is_said(run: Command) -> None:
    done = run("import", run.file(ACME | {"identityProviders": [{"alias": "x"}]}))
    assert "realm acme: lost: identityProviders (1: `x`): not imported" in done.stderr


def test_a_fresh_database_is_brought_to_this_version_first(run: Command) -> None:
    (run.folder / "realmgate.db").unlink()
    assert run("import", run.file(ACME)).exit_code == 0


def test_the_reference_configuration_needs_no_file(run: Command) -> None:
    done = run("import", "--reference")
    assert done.exit_code == 0, done.output
    assert "realm demo: created, 4 clients" in done.stdout
