"""kill -9 of a command that writes: all of it is stored, or nothing. Attacks F9, S12.

A command is killed at the moments that matter: when it has opened the database, when the first of
what it writes arrives there, and when others see it.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.support.forked_gateway import ForkedGateway
from tests.support.gateway_process import Gateway, start_gateway
from tests.support.wire import CHEAP, app, protocol

REALM = {
    "realm": "r",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "attributes": {"userProfileEnabled": "false"},
    "clients": [app("app")],
}
FIRST, SECOND = "The first password 1", "The second password 2"
IMPORTED = 700
"""More than an import stores at a time."""


Moment = Callable[[int], bool]
"""Tells of a process whether the moment has come."""


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs `realmgate user` beside a gateway, and kills it when told to."""

    gateway: Gateway

    @property
    def database(self) -> Path:
        """The database of gateway and commands."""
        return self.gateway.state_dir / "realmgate.db"

    def user(self, *arguments: str, password: str = "", moment: Moment | None = None) -> bool:
        """Run a command, kill it at `moment`; tell whether it ended well before that."""
        typed = ["--password-file", "-"] if password else []
        process = ForkedGateway(
            ["user", *arguments, "--realm", "r", *typed],
            self.gateway.state_dir,
            {"PATH": os.environ["PATH"], "REALMGATE_STATE_DIR": str(self.gateway.state_dir)},
            self.gateway.state_dir / "command.log",
            typed=password,
        )
        if moment is not None:
            while process.poll() is None and not moment(process.pid):
                pass  # the moment is short: a sleep would miss it
            process.kill()
        return process.wait() == 0

    def opened(self) -> Moment:
        """Wait until a process has the database open."""

        def look(pid: int) -> bool:
            try:
                return self.database in [link.readlink() for link in _descriptors(pid)]
            except OSError:
                return False

        return look

    def written(self) -> Moment:
        """Wait until anything has been written since now."""
        log = self.database.with_name("realmgate.db-wal")
        before = log.stat().st_mtime_ns
        return lambda _pid: log.stat().st_mtime_ns != before

    def stored(self, names: str) -> int:
        """Count the users whose names are like this."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as database:
            (count,) = database.execute(
                "SELECT count(*) FROM users WHERE username LIKE ?", (names,)
            ).fetchone()
        return int(count)

    def signs_in(self, username: str, password: str) -> bool:
        """Tell whether the gateway knows the user by this password."""
        form = {"grant_type": "password", "client_id": "app", "username": username}
        with self.gateway.client() as http:
            answer = http.post(protocol("r", "token"), data=form | {"password": password})
        assert answer.status_code in {200, 400}, answer.text
        return answer.status_code == httpx2.codes.OK


def _descriptors(pid: int) -> Iterator[Path]:
    return Path(f"/proc/{pid}/fd").iterdir()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Run a gateway whose database the commands share."""
    folder = tmp_path_factory.mktemp("kill-commands")
    (folder / "realms.json").write_text(json.dumps(REALM))
    with start_gateway(folder, import_realm=folder / "realms.json") as gateway:
        yield Shell(gateway)


def test_a_user_is_there_with_the_password_or_not_at_all(shell: Shell) -> None:
    def seen() -> Moment:
        return lambda _pid: shell.stored("seen") > 0

    for name, moment in (("opened", shell.opened), ("written", shell.written), ("seen", seen)):
        acknowledged = shell.user("create", name, password=FIRST, moment=moment())
        known = shell.stored(name) == 1
        assert shell.signs_in(name, FIRST) is known
        assert known or not acknowledged
        assert shell.user("create", name, password=FIRST) is not known
        assert shell.signs_in(name, FIRST)


def test_a_password_is_the_old_one_or_the_new_one(shell: Shell) -> None:
    assert shell.user("create", "changing", password=FIRST)
    now, then = FIRST, SECOND
    for moment in (shell.opened, shell.written):
        acknowledged = shell.user("set-password", "changing", password=then, moment=moment())
        changed = shell.signs_in("changing", then)
        assert shell.signs_in("changing", now) is not changed
        assert changed or not acknowledged
        now, then = (then, now) if changed else (now, then)
    assert shell.user("set-password", "changing", password=then)
    assert (shell.signs_in("changing", then), shell.signs_in("changing", now)) == (True, False)


def test_a_killed_import_left_whole_users_and_is_resumed(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "users.jsonl"
    password = {"type": "password", "value": FIRST}
    document = {"enabled": True, "credentials": [password]}
    names = [f"imported-{number:04}" for number in range(IMPORTED)]
    file.write_text("\n".join(json.dumps(document | {"username": name}) for name in names))
    some = shell.user("import", str(file), moment=lambda _pid: shell.stored("imported-%") > 0)
    began = shell.stored("imported-%")
    assert not some
    assert 0 < began < IMPORTED
    assert shell.signs_in(names[began - 1], FIRST), "the last of those that are there"
    assert not shell.signs_in(names[began], FIRST)
    assert shell.user("import", str(file))
    assert shell.stored("imported-%") == IMPORTED
    assert shell.signs_in(names[-1], FIRST)
