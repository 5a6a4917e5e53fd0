"""`realmgate user` and `realmgate session` beside a running gateway."""

import json
from pathlib import Path

from tests.support.spec_stack import Stack, refusal
from tests.support.wire import PASSWORD

CREDENTIALS = (400, "invalid_grant", "Invalid user credentials")
CREATED = ("--email", "carol@example.test", "--first-name", "Carol", "--last-name", "Baker")


def test_a_user_made_on_the_command_line_signs_in_through_nginx(
    spec: Stack, tmp_path: Path
) -> None:
    (gateway,) = spec.gateways
    word = tmp_path / "password"
    word.write_text("A password from a file 1\n")
    word.chmod(0o600)
    realm = ("--realm", "spec")
    spec.command(gateway, "user", "create", "carol", *realm, *CREATED)
    assert refusal(spec.sign_in("carol")) == CREDENTIALS
    spec.command(gateway, "user", "set-password", "carol", *realm, "--password-file", str(word))
    tokens = spec.sign_in("carol", "A password from a file 1", scope="openid").json()
    shown = json.loads(spec.command(gateway, "user", "show", "carol", *realm, "--output", "json"))
    assert (shown["username"], shown["email"]) == ("carol", "carol@example.test")
    listed = json.loads(
        spec.command(gateway, "session", "list", *realm, "--user", "carol", "--output", "json")
    )
    assert [one["id"] for one in listed] == [tokens["session_state"]]

    spec.command(gateway, "session", "end", tokens["session_state"], *realm)
    assert spec.userinfo(tokens["access_token"]).status_code == 401
    again = spec.sign_in("carol", "A password from a file 1").json()
    spec.command(gateway, "user", "logout", "carol", *realm)
    assert spec.refresh(again["refresh_token"]).status_code == 400

    spec.command(gateway, "user", "disable", "carol", *realm)
    disabled = spec.sign_in("carol", "A password from a file 1")
    assert refusal(disabled) == (400, "invalid_grant", "Account disabled")
    spec.command(gateway, "user", "enable", "carol", *realm)
    assert spec.sign_in("carol", "A password from a file 1").status_code == 200


def test_a_command_line_user_obeys_the_profile_and_is_recorded(
    spec: Stack,
) -> None:
    """`realmgate user create` runs the use case of the admin API. Keycloak: 7.2 (POST users)."""
    (gateway,) = spec.gateways
    realm = ("--realm", "rotating")
    enabled = {"adminEventsEnabled": True}
    assert spec.put("rotating/events/config", enabled).status_code == 204
    refused = spec.command(gateway, "user", "create", *realm, "ab", code=2)
    assert refused == ""
    assert spec.ask("rotating/users", username="ab", exact="true").json() == []
    spec.command(gateway, "user", "create", *realm, "dave")
    assert spec.id_of("dave", "rotating")
    events = spec.ask("rotating/admin-events", resourceTypes="USER").json()
    assert [event["operationType"] for event in events] == ["CREATE"]


def test_exit_codes_separate_bad_input_from_failure(spec: Stack) -> None:
    (gateway,) = spec.gateways
    for wrong in (
        ("show", "nobody", "--realm", "spec"),
        ("show", "alice", "--realm", "nowhere"),
        ("show", "alice", "--relm", "spec"),
    ):
        spec.command(gateway, "user", *wrong, code=2)
    spec.command(gateway, "user", "create", "alice", "--realm", "spec", code=1)
    assert spec.sign_in("alice").status_code == 200


def test_imported_users_sign_in_through_nginx(spec: Stack, tmp_path: Path) -> None:
    (gateway,) = spec.gateways
    lines = [
        {
            "username": f"imported-{number}",
            "enabled": True,
            "email": f"imported-{number}@example.test",
            "firstName": "Ida",
            "lastName": "Imported",
            "credentials": [{"type": "password", "value": PASSWORD}],
        }
        for number in range(3)
    ]
    people = tmp_path / "people.jsonl"
    people.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    spec.command(gateway, "user", "import", str(people), "--realm", "spec")
    for number in range(3):
        spec.signed_in(f"imported-{number}")
