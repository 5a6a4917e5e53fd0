"""`realmgate user` and `realmgate session` beside a running gateway: what they change, at once."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.support.administration import PASSWORD, Administration
from tests.support.wire import claims_of


class Shell:
    """The commands on a user of its own in the realm `guarded`."""

    def __init__(self, administration: Administration, name: str, password: Path) -> None:
        self.administration = administration
        self.name = name
        created = self.user("create", "--password-file", str(password))
        assert created.exit_code == 0, created.output

    def user(self, command: str, *arguments: str, text: str | None = None) -> Result:
        """Run `realmgate user <command>` on the user."""
        return self.administration.command(
            "user", command, "--realm", "guarded", self.name, *arguments, text=text
        )

    def shown(self) -> dict[str, Any]:
        """Return what `user show` tells."""
        found: dict[str, Any] = json.loads(self.user("show", "--output", "json").stdout)
        return found

    def session(self, command: str, *arguments: str) -> Result:
        """Run `realmgate session <command>` on the realm."""
        return self.administration.command("session", command, "--realm", "guarded", *arguments)

    def sessions(self) -> list[dict[str, Any]]:
        """Return the user's sessions."""
        done = self.session("list", "--user", self.name, "--output", "json")
        assert done.exit_code == 0, done.output
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def may_list_users(self, token: str) -> bool:
        """Tell whether the token is good for the admin API of the realm."""
        return self.administration.ask("GET", "guarded/users", token).status_code == 200


@pytest.fixture
def shell(administration: Administration, tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    """Make a user for the test."""
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    name = f"u{abs(hash(request.node.nodeid)):x}"[:12]
    return Shell(administration, name, password)


def test_a_created_user_has_the_default_roles_and_may_sign_in(shell: Shell) -> None:
    assert shell.administration.sign_in(shell.name) == 200
    shown = shell.shown()
    assert shown["roles"] == ["default-roles-guarded"]
    assert "account/view-profile" in shown["effectiveRoles"]
    assert (shown["enabled"], shown["lockout"]["disabled"]) == (True, False)
    assert PASSWORD not in json.dumps(shown)


def test_a_name_that_is_taken_is_told_and_nothing_changes(shell: Shell) -> None:
    again = shell.user("create")
    assert again.exit_code == 1
    assert again.stderr == "Error: User exists with same username\n"
    assert shell.administration.sign_in(shell.name) == 200


def test_a_role_that_is_given_or_taken_counts_at_once(shell: Shell) -> None:
    token = str(shell.administration.signed_in(shell.name)["access_token"])
    assert not shell.may_list_users(token)
    given = shell.user("roles", "--add", "realm-management/view-users", "--output", "json")
    assert json.loads(given.stdout) == ["default-roles-guarded", "realm-management/view-users"]
    assert shell.may_list_users(token)
    taken = shell.user("roles", "--remove", "realm-management/view-users")
    assert taken.stdout == "default-roles-guarded\n"
    assert not shell.may_list_users(token)


def test_an_unknown_role_is_refused_and_none_is_given(shell: Shell) -> None:
    done = shell.user("roles", "--add", "offline_access", "--add", "nobody/x", "--add", "y")
    assert done.exit_code == 2
    assert '"x" given, a role of that client expected' in done.stderr
    assert '"y" given, a role of the realm expected' in done.stderr
    assert shell.shown()["roles"] == ["default-roles-guarded"]


def test_a_disabled_user_is_out_at_once_and_in_when_enabled(shell: Shell) -> None:
    shell.user("roles", "--add", "realm-management/view-users")
    tokens = shell.administration.signed_in(shell.name)
    assert shell.may_list_users(tokens["access_token"])
    assert shell.user("disable").exit_code == 0
    assert not shell.may_list_users(tokens["access_token"])
    assert not shell.administration.refreshes(tokens)
    assert shell.administration.sign_in(shell.name) != 200
    assert shell.user("enable").exit_code == 0
    assert shell.administration.sign_in(shell.name) == 200


def test_a_temporary_password_must_change_and_a_lasting_one_not(shell: Shell) -> None:
    done = shell.user("set-password", "--temporary", text="word one\nword one\n")
    assert done.exit_code == 0, done.output
    assert shell.shown()["requiredActions"] == ["UPDATE_PASSWORD"]
    shell.user("set-password", text="word two\nword two\n")
    assert shell.shown()["requiredActions"] == []
    assert shell.administration.sign_in(shell.name, "word two") == 200
    assert shell.administration.sign_in(shell.name) != 200


@pytest.fixture
def recorded(administration: Administration) -> Iterator[Callable[[], list[tuple[str, str, str]]]]:
    """Record admin events of `guarded`; return operation, resource type and path, sorted."""
    events = "guarded/admin-events"

    def switch(*, enabled: bool) -> None:
        sent = {"adminEventsEnabled": enabled}
        done = administration.ask("PUT", "guarded/events/config", document=sent)
        assert done.status_code == 204
        assert administration.ask("DELETE", events).status_code == 204

    def listed() -> list[tuple[str, str, str]]:
        names = ("operationType", "resourceType", "resourcePath")
        found = administration.ask("GET", events).json()
        return sorted(tuple(event[name] for name in names) for event in found)

    switch(enabled=True)
    yield listed
    switch(enabled=False)


def test_every_user_change_leaves_the_event_of_the_admin_api(
    shell: Shell, recorded: Callable[[], list[tuple[str, str, str]]]
) -> None:
    shell.administration.lock_out(shell.name)
    user = shell.shown()["id"]
    assert recorded() == []
    for command in (
        ("disable",),
        ("enable",),
        ("roles", "--add", "offline_access"),
        ("roles", "--remove", "offline_access"),
        ("unlock",),
        ("logout",),
    ):
        assert shell.user(*command).exit_code == 0
    done = shell.user("set-password", text="word one\nword one\n")
    assert done.exit_code == 0, done.output
    failures = ("DELETE", "USER_LOGIN_FAILURE", f"attack-detection/brute-force/users/{user}")
    changed = ("UPDATE", "USER", f"users/{user}")
    roles = ("REALM_ROLE_MAPPING", f"users/{user}/role-mappings/realm")
    assert recorded() == [
        ("ACTION", "USER", f"users/{user}/logout"),
        ("ACTION", "USER", f"users/{user}/reset-password"),
        ("CREATE", *roles),
        ("DELETE", *roles),
        failures,
        failures,
        changed,
        changed,
    ]


@pytest.mark.parametrize("text", ["one\nother\n" * 4, ""])
def test_a_password_repeated_differently_changes_nothing(shell: Shell, text: str) -> None:
    assert shell.user("set-password", text=text).exit_code != 0
    assert shell.administration.sign_in(shell.name) == 200


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\n", b"a\0b", b"x" * 2000, b"x" * 20_000])
def test_a_file_without_a_usable_password_is_refused_unshown(
    shell: Shell, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "bad"
    file.write_bytes(content)
    done = shell.user("set-password", "--password-file", str(file))
    assert done.exit_code == 2
    assert "xxx" not in done.output
    assert shell.administration.sign_in(shell.name) == 200


def test_a_password_is_never_an_argument(shell: Shell) -> None:
    assert shell.user("set-password", "a word").exit_code == 2
    assert shell.user("set-password", "--password", "a word").exit_code == 2


def test_sessions_are_listed_and_ended_one_by_one(shell: Shell) -> None:
    first, second = (shell.administration.signed_in(shell.name) for _ in range(2))
    assert {item["id"] for item in shell.sessions()} == {
        first["session_state"],
        second["session_state"],
    }
    assert {
        (item["username"], item["ipAddress"], item["offline"]) for item in shell.sessions()
    } == {(shell.name, "203.0.113.9", False)}
    done = shell.session("end", str(first["session_state"]))
    assert done.stdout == f"session {first['session_state']}: ended\n"
    assert not shell.administration.refreshes(first)
    assert shell.administration.refreshes(second)
    assert [item["id"] for item in shell.sessions()] == [second["session_state"]]
    again = shell.session("end", str(first["session_state"]))
    assert again.exit_code == 1
    assert "there is no session" in again.stderr
    like_options = "-hYBY8cpU4qgVndLrXYwC24e"
    unknown = shell.session("end", like_options)
    assert (unknown.exit_code, like_options in unknown.stderr) == (1, True)


def test_a_logged_out_user_has_no_session_and_no_valid_token(shell: Shell) -> None:
    shell.user("roles", "--add", "realm-management/view-users")
    tokens = shell.administration.signed_in(shell.name)
    done = shell.user("logout")
    assert done.stdout == f"user {shell.name}: 1 session ended\n"
    assert shell.sessions() == []
    assert not shell.administration.refreshes(tokens)
    assert not shell.may_list_users(str(tokens["access_token"]))
    assert shell.shown()["notBefore"] >= claims_of(str(tokens["access_token"]))["iat"]
    assert shell.administration.refreshes(shell.administration.signed_in(shell.name))


def test_the_sessions_of_a_client_are_listed_a_page_at_a_time(shell: Shell) -> None:
    for _ in range(3):
        shell.administration.signed_in(shell.name)
    pages = [
        json.loads(
            shell.session(
                *("list", "--client", "admin-cli", "--output", "json"),
                *("--first", str(first), "--max", "2"),
            ).stdout
        )
        for first in (0, 2)
    ]
    assert len(pages[0]) == 2
    ids = [item["id"] for page in pages for item in page]
    assert len(set(ids)) == len(ids) >= 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("session", "list", "--realm", "guarded"), "either --user or --client"),
        (("session", "end", "--realm", "guarded"), "one of SESSION, --user and --all"),
        (
            ("session", "list", "--realm", "guarded", "--client", "nobody"),
            'no client with the client id "nobody" in',
        ),
        (
            ("session", "list", "--realm", "guarded", "--user", "nobody"),
            'no user with the name or id "nobody" in',
        ),
        (("session", "end", "--realm", "nowhere", "x"), "there is no realm 'nowhere'"),
        (
            ("user", "show", "--realm", "guarded", "nobody"),
            'user: there is no user with the name or id "nobody"',
        ),
        (
            ("user", "show", "--realm", "guarded", "strict-mallory"),
            'no user with the name or id "strict-mallory"',
        ),
        (("user", "unlock", "--realm", "nowhere", "x"), "there is no realm 'nowhere'"),
        (("user", "create", "--realm", "guarded", " a"), '" a" given'),
        (("user", "create", "--realm", "guarded", "x", "--email", "y z"), '"y z" given'),
        (("user", "list", "--realm", "guarded", "--max", "0"), "--max"),
    ],
)
def test_bad_input_ends_with_2_and_is_told(
    administration: Administration, arguments: tuple[str, ...], told: str
) -> None:
    done = administration.command(*arguments)
    assert done.exit_code == 2
    assert told in done.stderr


def test_users_are_listed_with_what_keeps_them_out(administration: Administration) -> None:
    done = administration.command("user", "list", "--realm", "acme", "--search", "anna")
    assert done.stdout == (
        "id-of-anna     anna     anna@acme.test\nid-of-annabel  annabel  belle@other.test\n"
    )
    dora = administration.command("user", "list", "--realm", "acme", "--search", "dora")
    assert dora.stdout == "id-of-dora  dora  disabled\n"
    page = administration.command(
        "user", "list", "--realm", "acme", "--first", "1", "--max", "1", "--output", "json"
    )
    assert [item["username"] for item in json.loads(page.stdout)] == ["annabel"]


def test_ending_all_sessions_of_a_realm_spares_other_realms(
    administration: Administration,
) -> None:
    here = administration.signed_in("trudy", "strict")
    there = administration.signed_in("trudy", "guarded")
    done = administration.command("session", "end", "--realm", "strict", "--all")
    assert done.exit_code == 0, done.output
    assert not administration.refreshes(here, "strict")
    assert administration.refreshes(there)
