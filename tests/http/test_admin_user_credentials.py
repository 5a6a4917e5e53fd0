"""Credentials of users over the admin API. Keycloak: 7.2 (credentials, reset-password, 26.7)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.admin.access.rights import REALM_MANAGEMENT
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.own_realm import CHEAP_PASSWORDS, OwnRealm, own_realm
from tests.support.recorded_changes import recorded_changes

OTHER = "another word for bob"
SECOND_FACTOR = {
    "type": "otp",
    "userLabel": "phone",
    "createdDate": 5,
    "secretData": '{"value":"secret-canary"}',
    "credentialData": '{"subType":"totp","digits":6,"period":30,"algorithm":"HmacSHA1"}',
}
BOB = {
    "username": "bob",
    "email": "bob@keys.test",
    "firstName": "Bob",
    "lastName": "Berg",
    "enabled": True,
}
PASSWORD_OF_BOB = {"type": "password", "value": PASSWORD}
WRONG_JSON = "Invalid json representation for CredentialRepresentation."
HELPER = {"clientId": "helper", "secret": SECRET, "serviceAccountsEnabled": True, "enabled": True}


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    chief = {**BOB, "username": "chief", "email": "chief@keys.test"}
    return own_realm(
        administration,
        tmp_path_factory.mktemp("credentials"),
        "credentials",
        adminEventsEnabled=True,
        adminEventsDetailsEnabled=True,
        clients=[HELPER],
        users=[
            {
                "username": "service-account-helper",
                "serviceAccountClientId": "helper",
                "clientRoles": {REALM_MANAGEMENT: ["manage-users"]},
            },
            {
                **chief,
                "id": "chief",
                "credentials": [PASSWORD_OF_BOB, SECOND_FACTOR],
                "clientRoles": {REALM_MANAGEMENT: ["realm-admin"]},
            },
        ],
    )


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and take away whom a test has added to it."""
    yield shared
    for user in shared.get("users"):
        if user["username"] != "chief":
            shared.done("DELETE", f"users/{user['id']}")


@pytest.fixture
def bob(realm: OwnRealm) -> str:
    """Return the path of a user with a password and a one-time password."""
    return (
        f"users/{realm.created('users', {**BOB, 'credentials': [PASSWORD_OF_BOB, SECOND_FACTOR]})}"
    )


@pytest.fixture
def simple(realm: OwnRealm) -> str:
    """Return the path of a user with a password alone."""
    return f"users/{realm.created('users', {**BOB, 'credentials': [PASSWORD_OF_BOB]})}"


def held(realm: OwnRealm, user: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = realm.get(f"{user}/credentials")
    return found


def kinds(realm: OwnRealm, user: str) -> list[str]:
    return [credential["type"] for credential in held(realm, user)]


def given(value: object, **fields: object) -> dict[str, object]:
    return {"type": "password", "value": value, **fields}


def test_credentials_are_listed_without_what_they_hide(realm: OwnRealm, bob: str) -> None:
    password, code = held(realm, bob)
    assert list(password) == ["id", "type", "createdDate", "credentialData"]
    assert json.loads(password["credentialData"])["algorithm"] == "pbkdf2-sha256"
    assert list(code) == ["id", "type", "userLabel", "createdDate", "credentialData"]
    assert (code["userLabel"], code["createdDate"]) == ("phone", 5)
    assert "canary" not in json.dumps([password, code])


def test_a_reset_password_must_be_changed_if_temporary(realm: OwnRealm, simple: str) -> None:
    assert realm.ask("PUT", f"{simple}/reset-password", given(OTHER)).status_code == 204
    assert realm.sign_in("bob").status_code != 200
    assert realm.sign_in("bob", password=OTHER).status_code == 200
    realm.done("PUT", f"{simple}/reset-password", given(PASSWORD, temporary=True))
    assert realm.get(simple)["requiredActions"] == ["UPDATE_PASSWORD"]
    assert realm.sign_in("bob").status_code != 200
    realm.done("PUT", f"{simple}/reset-password", {"value": PASSWORD})
    assert realm.get(simple)["requiredActions"] == []
    assert realm.sign_in("bob").status_code == 200


def test_a_new_password_keeps_the_credentials_id_and_the_others(realm: OwnRealm, bob: str) -> None:
    before = held(realm, bob)
    realm.done("PUT", f"{bob}/reset-password", given(OTHER, userLabel="x", id="y", priority=9))
    after = held(realm, bob)
    assert [one["id"] for one in after] == [one["id"] for one in before]
    assert after[0]["createdDate"] >= before[0]["createdDate"]
    assert after[1] == before[1]


def test_a_user_without_a_password_gets_one(realm: OwnRealm) -> None:
    user = f"users/{realm.created('users', BOB)}"
    assert held(realm, user) == []
    realm.done("PUT", f"{user}/reset-password", given(PASSWORD))
    assert realm.sign_in("bob").status_code == 200


def test_a_new_password_obeys_the_rules_and_the_history(realm: OwnRealm, simple: str) -> None:
    realm.done(
        *("PUT", f"/admin/realms/{realm.name}"),
        {"passwordPolicy": f"{CHEAP_PASSWORDS} and length(8) and passwordHistory(3)"},
    )
    try:
        short = realm.ask("PUT", f"{simple}/reset-password", given("short"))
        realm.done("PUT", f"{simple}/reset-password", given(OTHER))
        again = realm.ask("PUT", f"{simple}/reset-password", given(PASSWORD))
    finally:
        realm.done("PUT", f"/admin/realms/{realm.name}", {"passwordPolicy": CHEAP_PASSWORDS})
    assert (short.status_code, short.json()) == (
        400,
        {
            "error": "invalidPasswordMinLengthMessage",
            "error_description": "Invalid password: minimum length 8.",
        },
    )
    assert again.json()["error"] == "invalidPasswordHistoryMessage"
    assert sorted(kinds(realm, simple)) == ["password", "password-history"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "No password provided"),
        (b"null", "No password provided"),
        (b"{}", "No password provided"),
        (b'{"value":null}', "No password provided"),
        (b'{"value":""}', "Empty password not allowed"),
        (b'{"value":"  "}', "Empty password not allowed"),
        (b"[]", "unknown_error"),
        (b'"x"', "unknown_error"),
        (b"{", "invalid_request"),
        (
            b'{"value":"x","zz":1}',
            f'{WRONG_JSON} Unrecognized field "zz" at zz.',
        ),
    ],
)
def test_what_is_no_password_is_refused_and_changes_nothing(
    realm: OwnRealm, simple: str, content: bytes, told: str
) -> None:
    refused = realm.ask("PUT", f"{simple}/reset-password", content=content)
    assert (refused.status_code, refused.json()["error"]) == (400, told)
    assert realm.sign_in("bob").status_code == 200


@pytest.mark.parametrize("fields", [{"value": ["x"]}, {"value": "x" * 1025}, {"temporary": "x"}])
def test_a_wrong_value_is_refused_unseen(
    realm: OwnRealm, simple: str, fields: dict[str, Any]
) -> None:
    refused = realm.ask("PUT", f"{simple}/reset-password", {"value": "canary", **fields})
    assert refused.status_code == 400
    assert "canary" not in refused.text
    assert realm.sign_in("bob").status_code == 200


def test_a_service_account_gets_no_password(realm: OwnRealm) -> None:
    (account,) = realm.get("users?username=service-account-helper&exact=true")
    refused = realm.ask("PUT", f"users/{account['id']}/reset-password", given(PASSWORD))
    told = "You can not manage credentials for this user"
    assert (refused.status_code, refused.json()) == (
        400,
        {"error": told, "error_description": told},
    )


def test_a_credential_is_named(realm: OwnRealm, bob: str) -> None:
    password, _ = held(realm, bob)
    label = f"{bob}/credentials/{password['id']}/userLabel"
    plain = {"Content-Type": "text/plain"}
    named = realm.ask("PUT", label, content="My label ä".encode(), headers=plain)
    assert named.status_code == 204
    assert held(realm, bob)[0]["userLabel"] == "My label ä"
    for text in (b"", b"x" * 256, b"\xff", b"\0"):
        assert realm.ask("PUT", label, content=text, headers=plain).status_code == 400
    assert (
        realm.ask("PUT", label, content=b"x", headers={"Content-Type": "text/html"}).status_code
        == 415
    )
    assert realm.ask("PUT", label, content=b"", headers=plain).json() == {
        "error": "missingCredentialLabel",
        "error_description": "Credential label must not be empty",
    }
    assert held(realm, bob)[0]["userLabel"] == "My label ä"
    assert realm.sign_in("bob").status_code != 200  # a code is due


def test_credentials_are_put_in_another_order(realm: OwnRealm, bob: str) -> None:
    password, code = (credential["id"] for credential in held(realm, bob))
    assert kinds(realm, bob) == ["password", "otp"]
    for move, order in (
        (f"{code}/moveToFirst", ["otp", "password"]),
        (f"{code}/moveToFirst", ["otp", "password"]),
        (f"{code}/moveAfter/{password}", ["password", "otp"]),
        (f"{code}/moveAfter/{code}", ["password", "otp"]),
        (f"{password}/moveAfter/{code}", ["otp", "password"]),
    ):
        moved = realm.ask("POST", f"{bob}/credentials/{move}")
        assert (moved.status_code, moved.content) == (204, b"")
        assert kinds(realm, bob) == order


def test_a_credential_is_removed(realm: OwnRealm, bob: str) -> None:
    _, code = held(realm, bob)
    assert realm.get(bob)["totp"] is True
    assert realm.sign_in("bob").status_code != 200
    assert realm.ask("DELETE", f"{bob}/credentials/{code['id']}").status_code == 204
    assert realm.get(bob)["totp"] is False
    assert realm.sign_in("bob").status_code == 200


def test_credentials_of_others_are_not_found(realm: OwnRealm, bob: str) -> None:
    (own, _), (others, _) = held(realm, bob), held(realm, "users/chief")
    for verb, path in (
        ("DELETE", "nobodys"),
        ("DELETE", others["id"]),
        ("POST", f"{others['id']}/moveToFirst"),
        ("POST", f"{own['id']}/moveAfter/{others['id']}"),
        ("POST", f"{own['id']}/moveAfter/nobodys"),
    ):
        answer = realm.ask(verb, f"{bob}/credentials/{path}")
        assert (answer.status_code, answer.json()) == (404, {"error": "Credential not found"})
    assert len(held(realm, "users/chief")) == 2


def test_a_user_who_does_not_exist_is_told_first(realm: OwnRealm) -> None:
    for verb, path, body in (
        ("GET", "credentials", None),
        ("GET", "configured-user-storage-credential-types", None),
        ("PUT", "reset-password", given(PASSWORD)),
        ("PUT", "disable-credential-types", ["otp"]),
        ("DELETE", "credentials/x", None),
        ("POST", "credentials/x/moveToFirst", None),
    ):
        answer = realm.ask(verb, f"users/nobody/{path}", body)
        assert (answer.status_code, answer.json()) == (404, {"error": "User not found"})


def test_no_credential_is_stored_elsewhere_and_none_disabled(realm: OwnRealm, bob: str) -> None:
    assert realm.get(f"{bob}/configured-user-storage-credential-types") == []
    path = f"{bob}/disable-credential-types"
    assert realm.ask("PUT", path, ["otp"]).status_code == 204
    assert realm.ask("PUT", path, content=b"null").status_code == 204
    assert realm.ask("PUT", path, {}).status_code == 400
    assert realm.ask("PUT", path, [5]).status_code == 400
    assert kinds(realm, bob) == ["password", "otp"]


def test_nobody_touches_a_credential_of_who_has_more_rights(realm: OwnRealm) -> None:
    helper = realm.administration.token("helper", realm.name)
    before = held(realm, "users/chief")
    password, code = (credential["id"] for credential in before)
    for verb, path, body in (
        ("PUT", "reset-password", given(OTHER)),
        ("DELETE", f"credentials/{code}", None),
        ("POST", f"credentials/{code}/moveToFirst", None),
        ("POST", f"credentials/{password}/moveAfter/{code}", None),
        ("PUT", f"credentials/{code}/userLabel", "mine"),
    ):
        answer = realm.ask(verb, f"users/chief/{path}", body, token=helper)
        assert (answer.status_code, answer.json()) == (403, {"error": "HTTP 403 Forbidden"})
    assert held(realm, "users/chief") == before


def test_who_has_as_many_rights_may(realm: OwnRealm, simple: str) -> None:
    helper = realm.administration.token("helper", realm.name)
    assert realm.ask("PUT", f"{simple}/reset-password", given(OTHER), token=helper).is_success
    (credential,) = held(realm, simple)
    path = f"{simple}/credentials/{credential['id']}"
    assert realm.ask("DELETE", path, token=helper).status_code == 204


def test_every_change_is_recorded_and_no_password(
    realm: OwnRealm, bob: str, administration: Administration
) -> None:
    _, code = held(realm, bob)
    one = f"{bob}/credentials/{code['id']}"
    realm.done("PUT", f"{bob}/reset-password", given("canary"))
    realm.ask("PUT", f"{one}/userLabel", content=b"label", headers={"Content-Type": "text/plain"})
    realm.done("POST", f"{one}/moveToFirst")
    realm.done("DELETE", one)
    recorded = recorded_changes(administration, realm.name)
    assert [event[:3] for event in recorded[-4:]] == [
        ("ACTION", "USER", path)
        for path in (f"{bob}/reset-password", f"{one}/userLabel", f"{one}/moveToFirst", one)
    ]
    assert "canary" not in json.dumps(recorded)


def test_a_viewer_sees_credentials_and_changes_none(administration: Administration) -> None:
    viewer = administration.token("view-users", "acme")
    path = "acme/users/id-of-bob"
    assert administration.ask("GET", f"{path}/credentials", viewer).json() == []
    for verb, rest in (
        ("PUT", "reset-password"),
        ("DELETE", "credentials/x"),
        ("PUT", "credentials/x/userLabel"),
        ("POST", "credentials/x/moveToFirst"),
        ("PUT", "disable-credential-types"),
    ):
        assert administration.ask(verb, f"{path}/{rest}", viewer).status_code == 403
    seeker = administration.token("query-users", "acme")
    assert administration.ask("GET", f"{path}/credentials", seeker).status_code == 403
