"""`realmgate user` refuses passwords that break the realm's rules, in Keycloak's words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main

RULES = (
    "hashAlgorithm(pbkdf2-sha256) and hashIterations(1) and length(8) and digits(1) and notUsername"
    " and passwordHistory(2) and passwordBlacklist(worst.txt)"
)


class Shell:
    """The command on a state folder with the realm `demo`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        file = folder / "demo.json"
        file.write_text(
            '{"realm": "demo", "enabled": true, "defaultSignatureAlgorithm": "ES256",'
            f' "passwordPolicy": "{RULES}"}}'
        )
        lists = folder / "state" / "password-blacklists"
        lists.mkdir(parents=True)
        (lists / "worst.txt").write_text("Password1\n")
        assert self("realm", "import", str(file)).exit_code == 0

    def __call__(self, *arguments: str, text: str | None = None) -> Result:
        """Run the command."""
        environment = {"REALMGATE_STATE_DIR": str(self.folder / "state")}
        return CliRunner(env=environment).invoke(main, arguments, input=text)

    def set_password(self, command: str, password: str) -> Result:
        """Create alice, or give her another password."""
        return self(
            *("user", command, "alice", "--realm", "demo", "--password-file", "-"), text=password
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Make the state folder."""
    return Shell(tmp_path)


def test_a_password_that_breaks_a_rule_creates_nothing(shell: Shell) -> None:
    refused = shell.set_password("create", "short 1")
    assert refused.exit_code == 2
    assert refused.stderr == "Error: Invalid password: minimum length 8.\n"
    assert shell("user", "list", "--realm", "demo").stdout == ""
    listed = shell.set_password("create", "PASSWORD1")
    assert listed.stderr == "Error: Invalid password: password is blacklisted.\n"
    assert shell.set_password("create", "long enough 1").exit_code == 0


def test_the_passwords_before_are_refused(shell: Shell) -> None:
    assert shell.set_password("create", "long enough 1").exit_code == 0
    assert shell.set_password("set-password", "long enough 2").exit_code == 0
    for password in ("long enough 1", "long enough 2"):
        refused = shell.set_password("set-password", password)
        assert refused.exit_code == 2
        assert refused.stderr == (
            "Error: Invalid password: must not be equal to any of last 2 passwords.\n"
        )
    assert shell.set_password("set-password", "long enough 3").exit_code == 0


def test_a_list_that_is_away_is_named_with_its_folder(shell: Shell) -> None:
    (shell.folder / "state/password-blacklists/worst.txt").unlink()
    refused = shell.set_password("create", "long enough 1")
    assert refused.exit_code == 2
    assert "'worst.txt' given" in refused.stderr
    assert "password-blacklists" in refused.stderr


def test_without_a_terminal_the_error_names_the_other_way(shell: Shell) -> None:
    create = ("user", "create", "alice", "--realm", "demo", "--set-password")
    done = subprocess.run(
        [sys.executable, "-m", "gateway", *create],
        env=os.environ | {"REALMGATE_STATE_DIR": str(shell.folder / "state")},
        input="long enough 1\nlong enough 1\n",
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 2
    assert done.stderr.endswith(
        "\n\nError: No terminal to ask for a password: use --password-file FILE, or - for standard"
        " input.\n"
    )
    assert "Warning" not in done.stderr
    assert shell("user", "list", "--realm", "demo").stdout == ""
