"""`realmgate keys` on a real state folder: what it prints, what it changes, how it ends."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main

Realmgate = Callable[..., Result]


@pytest.fixture
def realmgate(tmp_path: Path) -> Realmgate:
    """Run the command on a state folder with one realm that signs with ES256."""
    file = tmp_path / "demo.json"
    file.write_text('{"realm": "demo", "enabled": true, "defaultSignatureAlgorithm": "ES256"}')

    def run(*arguments: str) -> Result:
        environment = {"REALMGATE_STATE_DIR": str(tmp_path / "state")}
        return CliRunner(env=environment).invoke(main, arguments)

    assert run("realm", "import", str(file)).exit_code == 0
    return run


_OTHERS = frozenset({"HS512", "AES", "RSA-OAEP"})


def listed(realmgate: Realmgate) -> list[dict[str, Any]]:
    """Return the keys that sign tokens for others; other keys of the realm stand beside them."""
    found: list[dict[str, Any]] = json.loads(
        realmgate("keys", "list", "--realm", "demo", "--output", "json").stdout
    )
    return [key for key in found if key["algorithm"] not in _OTHERS]


def test_a_rotation_is_announced_for_two_minutes_and_lists_both(
    realmgate: Realmgate,
) -> None:
    (old,) = listed(realmgate)
    answer = realmgate("keys", "rotate", "--realm", "demo")
    new, after = listed(realmgate)
    assert answer.exit_code == 0
    assert (new["status"], after["status"]) == ("PASSIVE", "ACTIVE")
    assert after["kid"] == old["kid"]
    begins = datetime.fromisoformat(new["signsFrom"])
    assert begins - datetime.fromisoformat(new["createdAt"]) == timedelta(seconds=120)
    assert f"key {old['kid']} verifies until {after['retiresAt']}" in answer.stdout
    assert f"key {new['kid']} is published, signs from {new['signsFrom']}" in answer.stdout
    # No gateway runs here, so nobody was told, and the operator reads it.
    assert "running gateways read the change from the database" in answer.stderr
    lines = [
        line
        for line in realmgate("keys", "list").stdout.splitlines()
        if not _OTHERS & set(line.split())
    ]
    assert [line.split()[-1] for line in lines] == [new["kid"], old["kid"]]


@pytest.mark.parametrize(
    ("options", "pause"), [(["--now"], 0), (["--publish-for", "5m"], 300)], ids=["now", "5m"]
)
def test_the_pause_before_the_new_key_signs_can_be_set(
    realmgate: Realmgate, options: list[str], pause: int
) -> None:
    assert realmgate("keys", "rotate", "--realm", "demo", *options).exit_code == 0
    new = next(key for key in listed(realmgate) if key["retiresAt"] is None)
    begins = datetime.fromisoformat(new["signsFrom"])
    assert (begins - datetime.fromisoformat(new["createdAt"])).total_seconds() == pause


@pytest.mark.parametrize(
    "kid", ["-hYBY8cpU4qgVndLrXYwC24eZpFtWoS_U5h5KgVD8mE", "--help-and-more-in-base64"]
)
def test_a_kid_that_looks_like_options_is_a_kid(realmgate: Realmgate, kid: str) -> None:
    for arguments in ([kid], [kid, "--realm", "demo"], ["--realm", "demo", "--", kid]):
        answer = realmgate("keys", "disable", *arguments)
        assert (answer.exit_code, kid in answer.stderr) == (2, True), answer.output


def test_a_disabled_key_is_replaced_at_once(realmgate: Realmgate) -> None:
    (old,) = listed(realmgate)
    answer = realmgate("keys", "disable", old["kid"])
    assert answer.exit_code == 0
    assert f"key {old['kid']} is disabled; its tokens are rejected" in answer.stdout
    statuses = {key["kid"]: key["status"] for key in listed(realmgate)}
    assert statuses.pop(old["kid"]) == "DISABLED"
    assert list(statuses.values()) == ["ACTIVE"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["rotate"], 2, "--realm"),
        (["rotate", "--realm", "nope"], 2, "there is no realm 'nope'"),
        (["list", "--realm", "nope"], 2, "there is no realm 'nope'"),
        (["rotate", "--realm", "demo", "--algorithm", "HS256"], 2, "'HS256' is not one of"),
        (["rotate", "--realm", "demo", "--publish-for", "-1s"], 2, "not a duration"),
        (["rotate", "--realm", "demo", "--publish-for", "9999d"], 2, "not a duration"),
        (["disable", "nope"], 2, "kid: there is no key with the kid 'nope'"),
        # base64url may begin with a hyphen: a kid, not an option.
        (["disable", "-xAbc"], 2, "kid: there is no key with the kid '-xAbc'"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(
    realmgate: Realmgate, arguments: list[str], code: int, told: str
) -> None:
    before = listed(realmgate)
    answer = realmgate("keys", *arguments)
    assert (answer.exit_code, told in answer.stderr) == (code, True)
    assert listed(realmgate) == before
