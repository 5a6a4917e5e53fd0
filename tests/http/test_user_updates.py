"""Users, their groups and events from a shell, by name, beside a running gateway."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.event import followed_events
from gateway.domain.events import EventPage, Period
from tests.support.administration import PASSWORD, Administration
from tests.support.forked_gateway import ForkedGateway
from tests.support.gateway_process import until
from tests.support.own_realm import OwnRealm, own_realm

REALM = "shell-users"
DONE, FAILED, BAD = 0, 1, 2
_FIELDS = {"email": "ann@shell.test", "firstName": "Ann", "lastName": "Other", "enabled": True}
_PASSWORD = {"type": "password", "value": PASSWORD}
_PROFILE = {"userProfileEnabled": "true"}


@dataclass(frozen=True)
class Shell:
    """Commands on the realm of these tests."""

    realm: OwnRealm

    def run(self, *words: str, code: int = DONE, text: str | None = None) -> str:
        done = self.realm.administration.command(*words, "--realm", REALM, text=text)
        assert done.exit_code == code, done.output
        return done.output

    def shown(self, name: str = "ann") -> dict[str, Any]:
        found: dict[str, Any] = self.realm.get(f"users?username={name}&exact=true")[0]
        return found


@pytest.fixture(scope="module")
def realm(
    administration: Administration, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OwnRealm]:
    made = own_realm(
        administration,
        tmp_path_factory.mktemp("shell"),
        REALM,
        attributes=_PROFILE,
        eventsEnabled=True,
        adminEventsEnabled=True,
        groups=[{"name": "staff", "subGroups": [{"name": "boss"}]}],
    )
    made.done(
        "PUT", "users/profile", {**made.get("users/profile"), "unmanagedAttributePolicy": "ENABLED"}
    )
    yield made
    administration.ask("DELETE", REALM)


@pytest.fixture
def shell(realm: OwnRealm) -> Iterator[Shell]:
    """Make the user ann for the test."""
    password = [{"type": "password", "value": "a user's password"}]
    realm.created("users", {"username": "ann", **_FIELDS, "credentials": password})
    made = Shell(realm)
    yield made
    for user in realm.get("users?search=ann"):
        realm.done("DELETE", f"users/{user['id']}")


def test_only_the_named_fields_and_attributes_change(shell: Shell) -> None:
    shell.run("user", "update", "ann", "--attribute", "a=1", "--attribute", "a=2")
    shell.run("user", "update", "ann", "--attribute", "b=3", "--first-name", "Anna")
    found = shell.shown()
    assert found["attributes"] == {"a": ["1", "2"], "b": ["3"]}
    assert (found["firstName"], found["lastName"], found["email"]) == (
        "Anna",
        "Other",
        "ann@shell.test",
    )
    shell.run("user", "update", "ann", "--remove-attribute", "a", "--email-verified")
    found = shell.shown()
    assert (found["attributes"], found["emailVerified"]) == ({"b": ["3"]}, True)
    shell.run("user", "update", "ann", "--set", "enabled=false")
    assert not shell.shown()["enabled"]


def test_the_profile_judges_an_update(shell: Shell) -> None:
    said = shell.run("user", "update", "ann", "--email", "no-address", code=BAD)
    assert "email" in said
    assert "did you mean firstName?" in shell.run(
        "user", "update", "ann", "--set", "firstNam=x", code=BAD
    )
    assert "has no attribute c" in shell.run(
        "user", "update", "ann", "--remove-attribute", "c", code=BAD
    )
    shell.run("user", "update", "ann", code=BAD)
    assert "did you mean ann?" in shell.run("user", "update", "anna", "--email", "x@y.z", code=BAD)


def test_groups_are_joined_and_left_by_path(shell: Shell) -> None:
    said = shell.run("user", "groups", "ann", "--add", "/staff", "--add", "/staff/boss")
    assert said == "/staff\n/staff/boss\n"
    assert shell.run("group", "members", "/staff").split()[0] == "ann"
    assert shell.run("user", "groups", "ann", "--remove", "/staff") == "/staff/boss\n"
    listed = json.loads(shell.run("group", "members", "/staff/boss", "--output", "json"))
    assert [item["username"] for item in listed] == ["ann"]
    shell.run("group", "members", "/staff/boss", "--remove", "ann")
    assert shell.run("group", "members", "/staff", "--add", "ann").split()[0] == "ann"
    assert "did you mean /staff?" in shell.run("user", "groups", "ann", "--add", "/staf", code=1)


def test_required_actions_are_added_and_removed(shell: Shell) -> None:
    words = ("user", "required-actions", "ann")
    assert shell.run(*words) == ""
    said = shell.run(*words, "--add", "UPDATE_PASSWORD", "--add", "CONFIGURE_TOTP")
    assert said == "UPDATE_PASSWORD\nCONFIGURE_TOTP\n"
    assert not shell.realm.sign_in("ann").is_success
    assert shell.run(*words, "--remove", "CONFIGURE_TOTP") == "UPDATE_PASSWORD\n"
    assert "not required" in shell.run(*words, "--remove", "CONFIGURE_TOTP", code=BAD)
    said = shell.run(*words, "--add", "UPDATE_PASWORD", code=FAILED)
    assert "did you mean UPDATE_PASSWORD?" in said
    shell.run(*words, "--remove", "UPDATE_PASSWORD")
    assert shell.realm.sign_in("ann").is_success


def test_credentials_are_labelled_moved_and_deleted(shell: Shell) -> None:
    assert shell.run("user", "credential", "list", "ann").split()[0] == "password"
    shell.run("user", "credential", "label", "ann", "password", "Old one")
    shell.run("user", "credential", "move-first", "ann", "Old one")
    assert "Old one" in shell.run("user", "credential", "list", "ann")
    shell.run("user", "credential", "delete", "ann", "Old one", "--yes")
    assert shell.run("user", "credential", "list", "ann") == ""
    assert not shell.realm.sign_in("ann").is_success


def test_a_user_is_deleted_after_a_question(shell: Shell) -> None:
    assert "Aborted!" in shell.run("user", "delete", "ann", code=FAILED, text="n\n")
    assert shell.run("user", "delete", "Ann", "--yes") == "user Ann: removed\n"
    assert shell.realm.get("users?username=ann&exact=true") == []


def test_events_are_filtered(shell: Shell) -> None:
    shell.realm.sign_in("ann")
    shell.realm.sign_in("ann", password="wrong")

    def types(*options: str) -> list[str]:
        found = json.loads(shell.run("event", "list", "--output", "json", *options))
        return [item["type"] for item in found]

    assert types("--user", "ann") == ["LOGIN_ERROR", "LOGIN"]
    assert types("--user", "ann", "--oldest-first") == ["LOGIN", "LOGIN_ERROR"]
    assert types("--user", "ann", "--type", "login") == ["LOGIN"]
    assert types("--user", "ann", "--client", "nobody") == []
    assert types("--user", "ann", "--ip", "203.0.113.9", "--since", "5m") == types("--user", "ann")
    assert types("--user", "ann", "--ip", "192.0.2.1") == []
    assert types("--user", "ann", "--until", "1h") == []
    assert types("--user", "ann", "--until", "2020-01-01") == []
    assert types("--max", "1") == ["LOGIN_ERROR"]
    line = shell.run("event", "list", "--max", "1").split()
    assert line[1:5] == ["LOGIN_ERROR", "ann", "admin-cli", "203.0.113.9"]
    assert "did you mean LOGIN_ERROR?" in shell.run("event", "list", "--type", "LOGIN_EROR", code=2)
    shell.run("event", "list", "--since", "yesterday", code=BAD)


def test_events_of_administrators_are_filtered(shell: Shell) -> None:
    shell.run("user", "update", "ann", "--first-name", "Anna")
    words = ("event", "list", "--admin", "--resource", "user")
    found = json.loads(shell.run(*words, "--type", "update", "--output", "json"))
    assert found[0]["resourcePath"] == f"users/{shell.shown()['id']}"
    assert shell.run(*words, "--type", "update", "--max", "1").split()[1:3] == ["UPDATE", "USER"]
    own = ("--path", f"users/{shell.shown()['id']}", "--type")
    assert shell.run(*words, *own, "delete") == ""
    by_root = (*words, *own, "create", "--user", "service-account-root")
    assert shell.run(*by_root).split()[4:] == ["service-account-root", "203.0.113.9"]
    assert shell.run(*by_root, "--client", "admin-cli") == ""
    capital = (*words, *own, "create", "--user", "Service-Account-Root")
    assert shell.run(*capital) == shell.run(*by_root)
    shell.run("event", "list", "--resource", "user", code=BAD)


def test_events_are_followed_until_ctrl_c(shell: Shell, tmp_path: Path) -> None:
    output = tmp_path / "followed"
    shell.realm.sign_in("ann", password="first")
    gateway = shell.realm.administration.gateway
    words = ("event", "list", "--realm", REALM, "--user", "ann", "--follow", "--output", "json")
    environment = {"REALMGATE_STATE_DIR": str(gateway.state_dir)}
    process = ForkedGateway(words, tmp_path, environment, output)

    def seen() -> list[str]:
        lines = output.read_text().splitlines() if output.exists() else []
        return [json.loads(line)["type"] for line in lines]

    until(lambda: seen() == ["LOGIN_ERROR"], "the last events are shown")
    shell.realm.sign_in("ann")
    until(lambda: seen() == ["LOGIN_ERROR", "LOGIN"], "a new event is shown once")
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(20) == DONE
    assert seen() == ["LOGIN_ERROR", "LOGIN"]


def test_events_that_are_not_recorded_are_a_hint(shell: Shell) -> None:
    shell.run("event", "config", "update", "--set", "eventsEnabled=false")
    said = shell.run("event", "list")
    assert f"realmgate event config update --realm {REALM} --set eventsEnabled=true" in said
    shell.run("event", "config", "update", "--set", "eventsEnabled=true")
    assert "removed" in shell.run("event", "clear", "--yes")
    assert shell.run("event", "list") == ""


def test_events_of_all_clients_of_a_name_are_listed(shell: Shell) -> None:
    """`admin-cli` and the administrator exist in the realm and in master."""
    gateway = shell.realm.administration
    made = {"username": "both", **_FIELDS, "email": "both@shell.test", "credentials": [_PASSWORD]}
    for realm in ("master", REALM):
        assert gateway.ask("POST", f"{realm}/users", document=made).is_success
        user = gateway.ask("GET", f"{realm}/users?username=both&exact=true").json()[0]["id"]
        owner = "realm-management" if realm == REALM else f"{REALM}-realm"
        client = gateway.ask("GET", f"{realm}/clients?clientId={owner}").json()[0]["id"]
        path = f"{realm}/clients/{client}/roles/manage-users"
        role = gateway.ask("GET", path).json()
        path = f"{realm}/users/{user}/role-mappings/clients/{client}"
        assert gateway.ask("POST", path, document=[role]).is_success
        token = gateway.password_token("both", PASSWORD, realm)
        path = f"{REALM}/users/{shell.shown()['id']}"
        changed = {**_FIELDS, "firstName": realm}
        assert gateway.ask("PUT", path, token, document=changed).is_success
    words = ("event", "list", "--admin", "--output", "json", "--resource", "user")
    for filters in (("--client", "admin-cli"), ("--user", "BOTH"), ("--user", "both")):
        found = json.loads(shell.run(*words, *filters))
        realms = {item["authDetails"]["realmId"] for item in found}
        assert len(realms) == 2, filters
        first, *_ = json.loads(shell.run(*words, *filters, "--max", "1"))
        assert first == found[0]
    user = gateway.ask("GET", "master/users?username=both&exact=true").json()[0]["id"]
    assert gateway.ask("DELETE", f"master/users/{user}").is_success


def test_max_limits_the_events_that_follow_shows_first(shell: Shell) -> None:
    for words in (("--max", "3", "--since", "1h"), ("--first", "1"), ("--until", "1h")):
        shell.run("event", "list", "--follow", *words, code=BAD)


@pytest.mark.parametrize("number", [1, 5, 6, 17])
@pytest.mark.parametrize("slow", [timedelta(), timedelta(minutes=2)])
def test_follow_shows_each_event_since_then_once(number: int, slow: timedelta) -> None:
    """Pages of five; with `slow`, each page takes longer to show than events may be late."""
    start = datetime(2026, 11, 28, tzinfo=UTC)
    clock, stored = [start], list[dict[str, Any]]()

    def store(many: int) -> None:
        for _ in range(many):
            at = int(clock[0].timestamp() * 1000)
            stored.append({"id": f"{len(stored)}", "time": at})

    async def read(period: Period, page: EventPage) -> list[dict[str, Any]]:
        begin = 0 if period.since is None else period.since.timestamp() * 1000
        found = [item for item in stored if item["time"] >= begin]
        found = found[::-1] if page.newest_first else found
        return found[page.first : page.first + page.maximum]

    async def follow(since: datetime | None, first: int) -> list[str]:
        seen: list[str] = []
        followed = followed_events(read, lambda: clock[0], since, first, size=5, pause=0)
        async for found in followed:
            seen += [item["id"] for item in found]
            clock[0] += slow
            if len(stored) < number + 12:
                store(6)
            if len(seen) >= (len(stored) if since else 12):
                return seen
        raise AssertionError

    store(number)
    clock[0] += timedelta(minutes=1)
    everything = asyncio.run(asyncio.wait_for(follow(start, 0), 3))
    assert everything == [item["id"] for item in stored]
