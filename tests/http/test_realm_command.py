"""Realms from a shell, beside a running gateway, which notices at once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.cli import main
from tests.support.administration import Administration
from tests.support.made_realms import OK

NAME = "shelled"
ELLIPTIC = ("--set", "defaultSignatureAlgorithm=ES256")
DONE, DIFFERS, BAD, UNREACHABLE = 0, 1, 2, 3


@pytest.fixture
def shelled(administration: Administration) -> Iterator[str]:
    """Make a realm by the command."""
    made = administration.command("realm", "create", NAME, "--enabled", *ELLIPTIC)
    assert made.exit_code == DONE, made.output
    yield NAME
    administration.ask("DELETE", NAME)


def run(administration: Administration, *arguments: str, code: int = DONE) -> str:
    done = administration.command(*arguments)
    assert done.exit_code == code, done.output
    return done.output


def shown(administration: Administration, name: str = NAME) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(administration, "realm", "show", name))
    return found


def written(folder: Path, document: object) -> str:
    file = folder / "realm.json"
    file.write_text(json.dumps(document))
    return str(file)


def test_a_realm_is_made_and_serves_at_once(administration: Administration, shelled: str) -> None:
    assert administration.http.get(f"/realms/{shelled}").status_code == OK
    assert shown(administration) == administration.ask("GET", shelled).json()
    lines = run(administration, "realm", "list").splitlines()
    assert [line.split() for line in lines if line.startswith(shelled)] == [[shelled, "enabled"]]
    listed = json.loads(run(administration, "realm", "list", "--output", "json"))
    assert {"realm": shelled, "enabled": True}.items() <= {
        name: value for item in listed if item["realm"] == shelled for name, value in item.items()
    }.items()


def test_a_name_that_is_taken_fails(administration: Administration, shelled: str) -> None:
    said = run(administration, "realm", "create", shelled, code=1)
    assert said == f"Error: Realm {shelled} already exists\n"


def test_settings_are_changed_at_once(administration: Administration, shelled: str) -> None:
    assignments = ("--set", "accessTokenLifespan=77", "--set", "displayName=A = b")
    run(administration, "realm", "update", shelled, *assignments)
    found = administration.ask("GET", shelled).json()
    assert (found["accessTokenLifespan"], found["displayName"]) == (77, "A = b")


def test_attributes_that_are_not_named_stay(administration: Administration, shelled: str) -> None:
    """Losing one could weaken the realm: an overlap of certificates, the policy of lists."""

    def attributes() -> dict[str, str]:
        found: dict[str, str] = administration.ask("GET", shelled).json()["attributes"]
        return found

    before = attributes()
    for written in ('{"one": "1", "two": "2"}', '{"two": "3"}'):
        run(administration, "realm", "update", shelled, "--set", f"attributes={written}")
    assert attributes() == before | {"one": "1", "two": "3"}
    run(administration, "realm", "update", shelled, "--set", 'attributes={"one": null}')
    assert attributes() == before | {"two": "3"}


@pytest.mark.parametrize(
    ("assignments", "text"),
    [
        ((), "--set"),
        (("--set", "novalue"), "expected FIELD=VALUE"),
        (("--set", "=1"), "expected FIELD=VALUE"),
        (("--set", "a=1", "--set", "a=2"), "twice"),
        (("--set", "colour=red"), "colour"),
        (("--set", "enabled=perhaps"), "enabled"),
        (("--set", "realm="), "Realm name cannot be empty"),
    ],
)
def test_an_update_that_makes_no_sense_is_refused(
    administration: Administration, shelled: str, assignments: tuple[str, ...], text: str
) -> None:
    before = shown(administration)
    assert text in run(administration, "realm", "update", shelled, *assignments, code=BAD)
    assert shown(administration) == before


def test_a_realm_gets_another_name(administration: Administration, shelled: str) -> None:
    run(administration, "realm", "update", shelled, "--set", "realm=renamed")
    assert administration.http.get(f"/realms/{shelled}").status_code == 404
    assert administration.http.get("/realms/renamed").status_code == OK
    run(administration, "realm", "delete", "renamed", "--yes")
    assert administration.http.get("/realms/renamed").status_code == 404


def test_nothing_is_removed_unasked(administration: Administration, shelled: str) -> None:
    refused = administration.command("realm", "delete", shelled, text="n\n")
    assert refused.exit_code == 1
    assert administration.http.get(f"/realms/{shelled}").status_code == OK
    agreed = administration.command("realm", "delete", shelled, text="y\n")
    assert agreed.exit_code == DONE, agreed.output
    assert administration.http.get(f"/realms/{shelled}").status_code == 404
    assert "master" in run(administration, "realm", "delete", "master", "--yes", code=BAD)
    run(administration, "realm", "delete", "nobody", "--yes", code=1)


def test_a_plan_shows_differences_and_applying_removes_them(
    administration: Administration, shelled: str, tmp_path: Path
) -> None:
    document = {
        "realm": shelled,
        "accessTokenLifespan": 77,
        "clients": [{"clientId": "till", "secret": "client-canary"}],
        "users": [{"username": "eve", "credentials": [{"value": "user-canary"}]}],
    }
    file = written(tmp_path, document)
    before = shown(administration)
    said = run(administration, "realm", "plan", file, code=DIFFERS)
    assert said.splitlines() == [
        f"realm {shelled}: differs",
        "  ~ accessTokenLifespan: 300 -> 77",
        "  + client till",
        "  + user eve",
    ]
    assert shown(administration) == before
    applied = run(administration, "realm", "apply", file)
    assert applied == f"{said}realm {shelled}: updated, 1 client and 1 user added\n"
    assert "canary" not in said + applied
    assert shown(administration)["accessTokenLifespan"] == 77
    assert run(administration, "realm", "plan", file) == f"realm {shelled}: in sync\n"
    assert run(administration, "realm", "apply", file) == f"realm {shelled}: in sync\n"
    document["clients"] = [{"clientId": "till", "secret": "other-canary", "name": "a\x1b[1mb"}]
    changed = written(tmp_path, document)
    said = run(administration, "realm", "plan", changed, code=DIFFERS)
    assert "client till: secret: a secret, which is not shown" in said
    assert "canary" not in said
    assert "\x1b" not in said
    as_json = json.loads(
        run(administration, "realm", "plan", changed, "--output", "json", code=DIFFERS)
    )
    (realm,) = as_json
    assert (realm["realm"], realm["created"], realm["inSync"]) == (shelled, False, False)
    assert {change["field"] for change in realm["changes"]} == {"secret", "name"}
    assert "canary" not in json.dumps(as_json)


def test_an_export_is_in_sync(administration: Administration, shelled: str, tmp_path: Path) -> None:
    file = str(tmp_path / "export.json")
    run(administration, "realm", "export", shelled, "--output", file)
    assert run(administration, "realm", "plan", file) == f"realm {shelled}: in sync\n"


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"realm": "a/b"}', '{"realm": "x", "enabled": []}']
)
def test_a_file_that_is_wrong_is_no_plan(
    administration: Administration, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(content)
    for command in ("plan", "apply"):
        run(administration, "realm", command, str(file), code=BAD)
    run(administration, "realm", "plan", str(tmp_path / "nothing.json"), code=BAD)


def test_a_database_that_is_away_is_told(administration: Administration, tmp_path: Path) -> None:
    environment = {
        "REALMGATE_STATE_DIR": str(administration.gateway.state_dir),
        "REALMGATE_DATABASE_URL": "postgresql://nobody:nothing@127.0.0.1:1/none",
    }
    file = written(tmp_path, {"realm": "x"})
    done = CliRunner(env=environment).invoke(main, ["realm", "plan", file])
    assert done.exit_code == UNREACHABLE, done.output


def test_of_two_long_lists_a_plan_shows_what_differs(
    administration: Administration, shelled: str, tmp_path: Path
) -> None:
    addresses = [f"https://{number}.a.test" for number in range(30)]
    shop = ("client", "create", "shop", "--realm", shelled)
    run(administration, *shop, "--set", f"redirectUris={json.dumps(addresses)}")
    wanted = {"clientId": "shop", "redirectUris": [*addresses[:-1], "https://new.a.test"]}
    file = written(tmp_path, {"realm": shelled, "clients": [wanted]})
    changed = 'redirectUris: of many, ["https://29.a.test"] -> ["https://new.a.test"]'
    assert run(administration, "realm", "plan", file, code=DIFFERS).splitlines() == [
        f"realm {shelled}: differs",
        f"  ~ client shop: {changed}",
    ]


def test_what_is_left_out_of_a_file_is_told_once(
    administration: Administration, shelled: str, tmp_path: Path
) -> None:
    file = written(tmp_path, {"realm": shelled, "components": {"some.Provider": [{"name": "x"}]}})
    part = "components.some.Provider (1: `x`): components of this type are not imported"
    for command in ("plan", "apply"):
        assert run(administration, "realm", command, file).splitlines() == [
            f"realm {shelled}: in sync",
            f"realm {shelled}: lost: {part}",
        ]


@pytest.mark.parametrize(
    ("command", "assignment"),
    [
        (("realm", "create", "other"), "realm=another"),
        (("realm", "update", NAME), "users=[]"),
        (("realm", "update", NAME), "id=another"),
        (("client", "create", "other", "--realm", NAME), "clientId=another"),
        (("client", "update", "account", "--realm", NAME), 'defaultClientScopes=["basic"]'),
        (("role", "create", "other", "--realm", NAME), "name=another"),
        (("role", "update", "offline_access", "--realm", NAME), 'composites={"realm":["x"]}'),
        (("group", "create", "/other", "--realm", NAME), 'realmRoles=["offline_access"]'),
        (("group", "update", "/other", "--realm", NAME), 'realmRoles=["offline_access"]'),
    ],
)
def test_a_field_that_would_be_passed_over_in_silence_is_refused(
    administration: Administration, shelled: str, command: tuple[str, ...], assignment: str
) -> None:
    assert shelled == NAME
    said = run(administration, *command, "--set", assignment, code=BAD)
    assert f"{assignment.partition('=')[0]!r}: not set by this command" in said


@pytest.mark.parametrize(
    "command",
    [
        ("client", "delete", "realm-management", "--realm", NAME, "--yes"),
        ("client", "update", "realm-management", "--realm", NAME, "--set", "enabled=false"),
        ("client", "delete", f"{NAME}-realm", "--realm", "master", "--yes"),
        ("role", "delete", "realm-management/manage-users", "--realm", NAME, "--yes"),
        ("role", "delete", "admin", "--realm", "master", "--yes"),
    ],
)
def test_no_command_changes_the_source_of_administrators_rights(
    administration: Administration, shelled: str, command: tuple[str, ...]
) -> None:
    assert "cannot be changed" in run(administration, *command, code=1)
    assert administration.ask("GET", f"{shelled}/users").status_code == OK


def test_clients_are_handled_from_a_shell(administration: Administration, shelled: str) -> None:
    realm = ("--realm", shelled)
    run(
        administration,
        "client",
        "create",
        "shop",
        *realm,
        "--set",
        'redirectUris=["https://a.test"]',
    )
    client = json.loads(run(administration, "client", "show", "shop", *realm))
    assert (client["redirectUris"], client["secret"]) == (["https://a.test"], "**********")
    secret = json.loads(run(administration, "client", "show", "shop", *realm, "--include-secrets"))
    assert len(secret["secret"]) > 20
    run(administration, "client", "update", "shop", *realm, "--set", "enabled=false")
    rows = run(administration, "client", "list", *realm, "--search", "sho").splitlines()
    assert [row.split()[:3] for row in rows] == [["shop", "disabled", "confidential"]]
    taken = run(administration, "client", "create", "shop", *realm, code=1)
    assert "already exists" in taken
    run(administration, "client", "update", "shop", *realm, "--set", "colour=red", code=BAD)
    run(administration, "client", "delete", "shop", *realm, "--yes")
    for command in ("show", "delete"):
        flag = ("--yes",) if command == "delete" else ()
        run(administration, "client", command, "shop", *realm, *flag, code=1)
    assert json.loads(run(administration, "client", "list", *realm, "--output", "json"))


def test_roles_are_handled_from_a_shell(administration: Administration, shelled: str) -> None:
    realm = ("--realm", shelled)
    run(administration, "client", "create", "shop", *realm)
    run(administration, "role", "create", "boss", *realm, "--set", "description=the boss")
    run(administration, "role", "create", "shop/seller", *realm)
    parts = 'composites={"realm":["boss"],"client":{"shop":["seller"]}}'
    run(administration, "role", "create", "all", *realm, "--set", parts)
    assert json.loads(run(administration, "role", "show", "all", *realm))["composite"] is True
    run(administration, "role", "update", "boss", *realm, "--set", 'attributes={"a":["b"]}')
    boss = json.loads(run(administration, "role", "show", "boss", *realm))
    assert (boss["description"], boss["attributes"]) == ("the boss", {"a": ["b"]})
    assert "boss" in run(administration, "role", "list", *realm)
    listed = run(administration, "role", "list", *realm, "--client", "shop", "--output", "json")
    assert [role["name"] for role in json.loads(listed)] == ["seller"]
    run(administration, "role", "create", "boss", *realm, code=1)
    run(administration, "role", "create", "nobody/seller", *realm, code=1)
    for name in ("boss", "shop/seller"):
        run(administration, "role", "delete", name, *realm, "--yes")
        run(administration, "role", "show", name, *realm, code=1)


def test_groups_are_handled_from_a_shell(administration: Administration, shelled: str) -> None:
    realm = ("--realm", shelled)
    run(administration, "group", "create", "/staff", *realm, "--set", 'attributes={"a":["b"]}')
    run(administration, "group", "create", "/staff/berlin", *realm)
    run(administration, "group", "create", "/nobody/berlin", *realm, code=1)
    run(administration, "group", "update", "/staff/berlin", *realm, "--set", "description=d")
    berlin = json.loads(run(administration, "group", "show", "/staff/berlin", *realm))
    assert (berlin["name"], berlin["description"]) == ("berlin", "d")
    rows = run(administration, "group", "list", *realm).splitlines()
    assert [row.split()[0] for row in rows] == ["/staff", "/staff/berlin"]
    run(administration, "group", "delete", "/staff", *realm, "--yes")
    assert run(administration, "group", "list", *realm, "--output", "json") == "[]\n"
    run(administration, "group", "show", "/staff", *realm, code=1)


def test_a_client_secret_is_read_from_a_file_and_never_shown(
    administration: Administration, shelled: str, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a-canary-of-the-operator\n")
    at = ("till-7", "--realm", shelled)
    made = administration.command("client", "create", *at, "--secret-file", str(secret))
    assert made.exit_code == 0, made.output
    shown = administration.command("client", "show", *at, "--include-secrets").stdout
    assert json.loads(shown)["secret"] == "a-canary-of-the-operator"
    changed = administration.command("client", "update", *at, "--secret-file", "-", text="other\n")
    assert changed.exit_code == 0, changed.output
    shown = administration.command("client", "show", *at, "--include-secrets").stdout
    assert json.loads(shown)["secret"] == "other"
    assert "canary" not in made.output + changed.output
    asked = administration.command("client", "update", *at, "--set-secret", text="third\nthird\n")
    assert asked.exit_code == 0, asked.output
    shown = administration.command("client", "show", *at, "--include-secrets").stdout
    assert json.loads(shown)["secret"] == "third"
    assert "third" not in asked.output
    nothing = administration.command("client", "update", *at)
    assert nothing.exit_code == 2
    assert "--secret-file" in nothing.stderr
