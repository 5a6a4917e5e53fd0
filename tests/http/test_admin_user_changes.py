"""Users made, changed and removed over the admin API. Keycloak: 7.2, 8.3 (26.7)."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from gateway.admin.access.rights import REALM_MANAGEMENT
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.own_realm import CHEAP_PASSWORDS, OwnRealm, own_realm
from tests.support.recorded_changes import recorded_changes

BOB = {"username": "bob", "email": "bob@people.test", "firstName": "Bob", "lastName": "Berg"}
SIGNED_UP = {**BOB, "enabled": True, "credentials": [{"type": "password", "value": PASSWORD}]}
UNREADABLE = {"error": "unknown_error", "error_description": "Cannot parse the JSON"}
NO_NAME = {"errorMessage": "User name is missing"}
GROUPS = [
    {"name": "everybody"},
    {"name": "staff", "subGroups": [{"name": "berlin"}]},
    {"name": "chiefs", "clientRoles": {REALM_MANAGEMENT: ["realm-admin"]}},
]
HELPER = {
    "clientId": "helper",
    "secret": SECRET,
    "serviceAccountsEnabled": True,
    "enabled": True,
}


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    return own_realm(
        administration,
        tmp_path_factory.mktemp("people"),
        "people",
        attributes={},
        adminEventsEnabled=True,
        adminEventsDetailsEnabled=True,
        groups=GROUPS,
        defaultGroups=["/everybody"],
        clients=[HELPER],
        users=[
            {
                "username": "service-account-helper",
                "serviceAccountClientId": "helper",
                "clientRoles": {REALM_MANAGEMENT: ["manage-users"]},
            },
            {
                "username": "chief",
                "email": "chief@people.test",
                "firstName": "C",
                "lastName": "H",
                "enabled": True,
                "clientRoles": {REALM_MANAGEMENT: ["realm-admin"]},
                "credentials": [{"type": "password", "value": PASSWORD}],
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


def refused(realm: OwnRealm, user: object, status: int = 400) -> Any:
    response = realm.ask("POST", "users", user)
    assert response.status_code == status, response.text
    return response.json()


def shown(realm: OwnRealm, user_id: str) -> dict[str, Any]:
    found: dict[str, Any] = realm.get(f"users/{user_id}")
    return found


def exported(realm: OwnRealm) -> dict[str, dict[str, Any]]:
    """Return all there is of the users, by name."""
    command = realm.administration.command("realm", "export", realm.name, "--include-secrets")
    return {user["username"]: user for user in json.loads(command.stdout)["users"]}


def manage_realm(realm: OwnRealm, **settings: Any) -> None:
    """Change settings of the realm for the rest of a test."""
    realm.done("PUT", "/admin/realms/people", settings)


def test_a_user_is_created_in_keycloaks_shape_at_its_location(realm: OwnRealm) -> None:
    made = realm.ask("POST", "users", {"username": "Anna"})
    assert (made.status_code, made.content) == (201, b"")
    location = made.headers["location"]
    user_id = location.rsplit("/", 1)[1]
    assert str(UUID(user_id)) == user_id
    assert location == f"https://gateway.test/admin/realms/people/users/{user_id}"
    anna = shown(realm, user_id)
    assert anna.pop("createdTimestamp") > 0
    assert anna.pop("access")
    assert list(anna.items()) == [
        ("id", user_id),
        ("username", "anna"),
        ("emailVerified", False),
        ("enabled", False),
        ("totp", False),
        ("disableableCredentialTypes", []),
        ("requiredActions", []),
        ("notBefore", 0),
    ]


def test_own_fields_of_a_user_are_stored_and_others_ignored(
    realm: OwnRealm,
) -> None:
    sent = {
        **BOB,
        "id": "own-id",
        "emailVerified": True,
        "enabled": True,
        "createdTimestamp": 7,
        "notBefore": 5,
        "totp": True,
        "requiredActions": ["UPDATE_PASSWORD", "NOBODY_KNOWS", "UPDATE_PASSWORD"],
        "realmRoles": ["offline_access"],
        "clientRoles": {REALM_MANAGEMENT: ["realm-admin"]},
        "disableableCredentialTypes": [],
        "federatedIdentities": [],
        "clientConsents": [],
        "attributes": {"unnamed": ["x"]},
        "serviceAccountClientId": "helper",
        "access": {"manage": False},
        "self": "x",
        "origin": "y",
    }
    user_id = realm.created("users", sent)
    bob = shown(realm, user_id)
    assert user_id != "own-id"
    taken = {**BOB, "emailVerified": True, "enabled": True, "createdTimestamp": 7, "notBefore": 0}
    assert {name: bob[name] for name in taken} == taken
    assert bob["requiredActions"] == ["UPDATE_PASSWORD"]
    assert (bob["totp"], "attributes" in bob) == (False, False)
    assert realm.get("users?q=unnamed:x") == []


def test_a_new_user_has_the_defaults_and_the_named_groups(
    realm: OwnRealm,
) -> None:
    realm.created("users", {"username": "bob", "groups": ["/staff/berlin", "staff"]})
    users = exported(realm)
    assert users["bob"]["realmRoles"] == ["default-roles-people"]
    assert sorted(users["bob"]["groups"]) == ["/everybody", "/staff", "/staff/berlin"]


def test_a_new_user_is_told_to_do_what_every_new_user_is(realm: OwnRealm) -> None:
    action = realm.get("authentication/required-actions/CONFIGURE_TOTP")
    told = {**action, "defaultAction": True}
    realm.done("PUT", "authentication/required-actions/CONFIGURE_TOTP", told)
    try:
        for number, sent in enumerate((None, [], ["UPDATE_PASSWORD", "CONFIGURE_TOTP"])):
            user = {"username": f"new-{number}", "requiredActions": sent}
            due = ["CONFIGURE_TOTP", *(sent or [])[:1]]
            assert shown(realm, realm.created("users", user))["requiredActions"] == due
        arguments = ("create", "shell", "--realm", realm.name)
        assert realm.administration.command("user", *arguments).exit_code == 0
        assert exported(realm)["shell"]["requiredActions"] == ["CONFIGURE_TOTP"]
    finally:
        realm.done("PUT", "authentication/required-actions/CONFIGURE_TOTP", action)


def test_a_user_is_not_made_without_a_name(realm: OwnRealm) -> None:
    for user in ({}, {"username": ""}, {"username": "  "}, {"username": None}):
        assert refused(realm, user) == NO_NAME


def test_a_name_or_an_address_is_taken_once(realm: OwnRealm) -> None:
    realm.created("users", BOB)
    same = {"errorMessage": "User exists with same username"}
    assert refused(realm, {"username": "BOB"}, 409) == same
    address = {"errorMessage": "User exists with same email"}
    assert refused(realm, {"username": "rob", "email": "Bob@People.test"}, 409) == address
    assert [user["username"] for user in realm.get("users")] == ["bob", "chief"]


@pytest.mark.parametrize("field", ["username", "email"])
def test_of_many_who_make_the_same_user_at_once_one_succeeds(realm: OwnRealm, field: str) -> None:
    same = {"username": "twin", "email": "twin@people.test"}
    users = [
        {"username": f"twin{count}", "email": f"twin{count}@people.test", field: same[field]}
        for count in range(8)
    ]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda user: realm.ask("POST", "users", user).status_code, users))
    assert sorted(answers) == [201, *[409] * 7]
    assert len(realm.get("users?username=twin")) == 1


def test_one_profile_violation_is_an_object_several_a_list(realm: OwnRealm) -> None:
    short = {"field": "username", "errorMessage": "error-invalid-length"}
    assert refused(realm, {"username": "ab"}) == {**short, "params": ["username", 3, 255]}
    several = refused(realm, {"username": "a b", "email": "nobody"})
    assert [error["field"] for error in several["errors"]] == ["username", "email"]


def test_a_temporary_password_must_be_changed_after_sign_in(realm: OwnRealm) -> None:
    realm.created("users", SIGNED_UP)
    assert realm.sign_in("bob").status_code == 200
    credentials = [{"type": "password", "value": PASSWORD, "temporary": True}]
    carl = {**SIGNED_UP, "username": "carl", "email": "carl@people.test"}
    user_id = realm.created("users", {**carl, "credentials": credentials})
    assert shown(realm, user_id)["requiredActions"] == ["UPDATE_PASSWORD"]
    assert realm.sign_in("carl").json()["error_description"] == "Account is not fully set up"


def test_a_password_that_breaks_a_rule_creates_nothing(realm: OwnRealm) -> None:
    manage_realm(realm, passwordPolicy=f"{CHEAP_PASSWORDS} and length(30)")
    try:
        assert refused(realm, SIGNED_UP) == {
            "error": "invalidPasswordMinLengthMessage",
            "error_description": "Invalid password: minimum length 30.",
        }
    finally:
        manage_realm(realm, passwordPolicy=CHEAP_PASSWORDS)
    assert realm.get("users/count") == 1


def test_a_credential_that_comes_hashed_is_taken_as_it_is(realm: OwnRealm) -> None:
    (hashed,) = exported(realm)["chief"]["credentials"]
    realm.created("users", {**SIGNED_UP, "credentials": [{**hashed, "id": "chiefs"}]})
    assert realm.sign_in("bob").status_code == 200
    assert realm.sign_in("chief").status_code == 200


BAD = {
    "no JSON": (b"{", {"error": "invalid_request", "error_description": "Cannot parse the JSON"}),
    "a list": (b"[]", UNREADABLE),
    "null": (b"null", UNREADABLE),
    "unknown": (
        b'{"username":"bob","zz":1}',
        {
            "error": "Invalid json representation for UserRepresentation. "
            'Unrecognized field "zz" at zz.'
        },
    ),
}


@pytest.mark.parametrize("content", [content for content, _ in BAD.values()], ids=list(BAD))
def test_a_body_that_is_no_user_is_refused(realm: OwnRealm, content: bytes) -> None:
    response = realm.ask("POST", "users", content=content)
    assert response.status_code == 400
    assert response.json() == dict(BAD.values())[content]


@pytest.mark.parametrize(
    "fields",
    [
        {"username": ["bob"]},
        {"username": "bob\ud800"},
        {"username": "b\x00b"},
        {"username": "x" * 10_001},
        {"enabled": "maybe"},
        {"emailVerified": []},
        {"createdTimestamp": -1},
        {"createdTimestamp": 2**70},
        {"attributes": "x"},
        {"attributes": {"a": {"b": "c"}}},
        {"attributes": {"a": [[5]]}},
        {"attributes": {"x" * 256: ["a"]}},
        {"requiredActions": "UPDATE_PASSWORD"},
        {"requiredActions": [[]]},
        {"credentials": {}},
        {"credentials": ["x"]},
        {"credentials": [{"type": "password", "value": ""}]},
        {"credentials": [{"type": "password", "value": "x" * 1025}]},
        {"credentials": [{"type": "otp", "value": "secret"}]},
        {"credentials": [{"type": "password", "secretData": "{", "credentialData": "{}"}]},
        {"groups": "staff"},
        {"groups": ["/nowhere"]},
        {"groups": [5]},
        {"realmRoles": "x"},
        {"federatedIdentities": {}},
        {"firstName": "x" * 256},
        {"email": f"{'x' * 300}@people.test"},
    ],
)
def test_a_wrong_value_is_refused_and_nothing_made(realm: OwnRealm, fields: dict[str, Any]) -> None:
    sent = json.dumps({"username": "bob", **fields}).encode()
    response = realm.ask("POST", "users", content=sent)
    assert response.status_code == 400, response.text
    assert realm.get("users/count") == 1


def test_what_is_not_sent_of_a_user_stays_as_it_is(realm: OwnRealm) -> None:
    user_id = realm.created("users", {**BOB, "enabled": True, "emailVerified": True})
    before = shown(realm, user_id)
    for unchanged in ({}, {"email": None, "enabled": None}, before):
        assert realm.ask("PUT", f"users/{user_id}", unchanged).status_code == 204
        assert shown(realm, user_id) == before
    realm.done("PUT", f"users/{user_id}", {"firstName": "Rob", "emailVerified": False})
    assert shown(realm, user_id) == {**before, "firstName": "Rob", "emailVerified": False}


def test_attributes_and_actions_are_replaced_as_a_whole(realm: OwnRealm) -> None:
    profile = realm.get("users/profile")
    realm.done("PUT", "users/profile", {**profile, "unmanagedAttributePolicy": "ENABLED"})
    try:
        user_id = realm.created("users", {**BOB, "attributes": {"a": ["1"], "b": ["2"]}})
        realm.done("PUT", f"users/{user_id}", {"firstName": "Rob"})
        assert shown(realm, user_id)["attributes"] == {"a": ["1"], "b": ["2"]}
        realm.done("PUT", f"users/{user_id}", {**BOB, "attributes": {"b": ["3", "4"]}})
        assert shown(realm, user_id)["attributes"] == {"b": ["3", "4"]}
        assert realm.get(f"users/{user_id}/unmanagedAttributes") == {"b": ["3", "4"]}
    finally:
        realm.done("PUT", "users/profile", profile)
    realm.done("PUT", f"users/{user_id}", {"requiredActions": ["UPDATE_PROFILE"]})
    realm.done("PUT", f"users/{user_id}", {"requiredActions": ["CONFIGURE_TOTP", "NO_ACTION"]})
    assert shown(realm, user_id)["requiredActions"] == ["CONFIGURE_TOTP"]


def test_a_name_is_changed_only_where_the_realm_allows_it(realm: OwnRealm) -> None:
    user_id = realm.created("users", BOB)
    realm.done("PUT", f"users/{user_id}", {"username": "BOB"})
    fixed = realm.ask("PUT", f"users/{user_id}", {"username": "rob"})
    assert fixed.status_code == 400
    assert fixed.json()["errorMessage"] == "error-user-attribute-read-only"
    manage_realm(realm, editUsernameAllowed=True)
    try:
        realm.done("PUT", f"users/{user_id}", {"username": "Rob"})
        assert shown(realm, user_id)["username"] == "rob"
        taken = realm.ask("PUT", f"users/{user_id}", {"username": "chief"})
        assert (taken.status_code, taken.json()["errorMessage"]) == (
            409,
            "User exists with same username",
        )
        assert realm.ask("PUT", f"users/{user_id}", {"username": ""}).json() == NO_NAME
    finally:
        manage_realm(realm, editUsernameAllowed=False)


def test_an_address_that_another_has_is_refused(realm: OwnRealm) -> None:
    user_id = realm.created("users", BOB)
    taken = realm.ask("PUT", f"users/{user_id}", {"email": "Chief@people.test"})
    assert (taken.status_code, taken.json()) == (
        409,
        {"errorMessage": "User exists with same email"},
    )
    manage_realm(realm, duplicateEmailsAllowed=True, loginWithEmailAllowed=False)
    try:
        realm.done("PUT", f"users/{user_id}", {"email": "chief@people.test"})
    finally:
        manage_realm(realm, duplicateEmailsAllowed=False, loginWithEmailAllowed=True)
    realm.done("PUT", f"users/{user_id}", {"email": "chief@people.test", "firstName": "Rob"})


def test_where_the_address_is_the_name_both_go_together(realm: OwnRealm) -> None:
    manage_realm(realm, registrationEmailAsUsername=True)
    try:
        user_id = realm.created("users", {"username": "ignored", "email": "Foo@people.test"})
        assert shown(realm, user_id)["username"] == "foo@people.test"
        realm.done("PUT", f"users/{user_id}", {"username": "zzz", "email": "bar@people.test"})
        changed = shown(realm, user_id)
        assert (changed["username"], changed["email"]) == ("bar@people.test", "bar@people.test")
        assert realm.ask("PUT", f"users/{user_id}", {"email": ""}).json() == NO_NAME
        assert refused(realm, {"username": "foo"}) == {
            "field": "email",
            "errorMessage": "error-user-attribute-required",
            "params": ["email"],
        }
        assert refused(realm, {}) == NO_NAME
        again = {"errorMessage": "User exists with same email"}
        assert refused(realm, {"email": "bar@people.test"}, 409) == again
        profile = realm.get("users/profile")
        profile["attributes"][1]["permissions"] = {"view": ["admin"], "edit": ["user"]}
        realm.done("PUT", "users/profile", profile)
        assert refused(realm, {"email": "new@people.test"}) == NO_NAME
    finally:
        assert realm.ask("PUT", "users/profile", content=b"null").status_code == 200
        manage_realm(realm, registrationEmailAsUsername=False)


def test_password_and_user_change_together_or_not_at_all(realm: OwnRealm) -> None:
    user_id = realm.created("users", {**SIGNED_UP, "credentials": []})
    new = {"type": "password", "value": PASSWORD}
    realm.done("PUT", f"users/{user_id}", {"credentials": [new], "firstName": "Rob"})
    assert realm.sign_in("bob").status_code == 200
    manage_realm(realm, passwordPolicy=f"{CHEAP_PASSWORDS} and length(30)")
    try:
        answer = realm.ask("PUT", f"users/{user_id}", {"credentials": [new], "firstName": "No"})
    finally:
        manage_realm(realm, passwordPolicy=CHEAP_PASSWORDS)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalidPasswordMinLengthMessage")
    assert shown(realm, user_id)["firstName"] == "Rob"
    realm.done("PUT", f"users/{user_id}", {"credentials": [{**new, "temporary": True}]})
    assert shown(realm, user_id)["requiredActions"] == ["UPDATE_PASSWORD"]


def test_a_hashed_password_takes_the_place_of_the_one_there_is(realm: OwnRealm) -> None:
    user_id = realm.created("users", SIGNED_UP)
    code = {"type": "otp", "secretData": "{}", "credentialData": "{}"}
    data = json.dumps({"algorithm": "pbkdf2-sha256", "hashIterations": 1})
    hashed = {"type": "password", "secretData": '{"value":"eA==","salt":"eA=="}'}
    sent = [code, {**hashed, "credentialData": data}]
    realm.done("PUT", f"users/{user_id}", {"credentials": sent})
    assert realm.sign_in("bob").json()["error_description"] == "Invalid user credentials"
    assert shown(realm, user_id)["totp"] is True


def test_a_disabled_user_is_out_at_once_and_in_when_enabled(realm: OwnRealm) -> None:
    user_id = realm.created("users", SIGNED_UP)
    tokens = realm.sign_in("bob").json()
    refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}

    def refreshes() -> bool:
        url = "/realms/people/protocol/openid-connect/token"
        sent = {**refresh, "client_id": "admin-cli"}
        return realm.administration.http.post(url, data=sent).status_code == 200

    assert refreshes()
    realm.done("PUT", f"users/{user_id}", {"enabled": False})
    assert not refreshes()
    assert realm.sign_in("bob").status_code != 200
    realm.done("PUT", f"users/{user_id}", {"enabled": True})
    assert realm.sign_in("bob").status_code == 200


def test_enabling_ends_a_lock_out_for_good(realm: OwnRealm) -> None:
    strict = {"bruteForceProtected": True, "permanentLockout": True, "failureFactor": 1}
    manage_realm(realm, **strict)
    try:
        user_id = realm.created("users", SIGNED_UP)
        assert realm.sign_in("bob", password="wrong").status_code != 200
        assert shown(realm, user_id)["enabled"] is False
        realm.done("PUT", f"users/{user_id}", {"enabled": True})
        assert shown(realm, user_id)["enabled"] is True
        assert realm.sign_in("bob").status_code == 200
    finally:
        manage_realm(realm, bruteForceProtected=False, permanentLockout=False)


def test_an_update_of_a_concurrently_changed_user_is_refused(realm: OwnRealm) -> None:
    user_id = realm.created("users", BOB)
    known = realm.ask("GET", f"users/{user_id}?userProfileMetadata=true").headers["etag"]
    assert known == realm.ask("GET", f"users/{user_id}").headers["etag"]
    match = {"If-Match": known}
    rob = {"firstName": "Rob"}
    assert realm.ask("PUT", f"users/{user_id}", rob, headers=match).status_code == 204
    assert realm.ask("PUT", f"users/{user_id}", BOB, headers=match).status_code == 412
    assert realm.ask("DELETE", f"users/{user_id}", headers=match).status_code == 412
    assert shown(realm, user_id)["firstName"] == "Rob"


def test_a_user_who_is_removed_is_gone_with_sessions_and_tokens(realm: OwnRealm) -> None:
    user_id = realm.created("users", SIGNED_UP)
    tokens = realm.sign_in("bob").json()
    removed = realm.ask("DELETE", f"users/{user_id}")
    assert (removed.status_code, removed.content) == (204, b"")
    for verb, body in (("GET", None), ("PUT", {}), ("DELETE", None)):
        answer = realm.ask(verb, f"users/{user_id}", body)
        assert (answer.status_code, answer.json()) == (404, {"error": "User not found"})
    refresh = {
        "grant_type": "refresh_token",
        "client_id": "admin-cli",
        "refresh_token": tokens["refresh_token"],
    }
    url = "/realms/people/protocol/openid-connect/token"
    assert realm.administration.http.post(url, data=refresh).status_code == 400
    assert realm.sign_in("bob").json()["error_description"] == "Invalid user credentials"
    realm.created("users", SIGNED_UP)
    assert realm.sign_in("bob").status_code == 200


def test_metadata_comes_with_a_user_where_it_is_asked_for(realm: OwnRealm) -> None:
    user_id = realm.created("users", BOB)
    found = realm.get(f"users/{user_id}?userProfileMetadata=True")
    assert list(found)[5:7] == ["emailVerified", "userProfileMetadata"]
    named = {one["name"]: one["readOnly"] for one in found["userProfileMetadata"]["attributes"]}
    assert named == {"username": True, "email": False, "firstName": False, "lastName": False}


def test_every_change_is_recorded_without_what_it_hides(
    realm: OwnRealm, administration: Administration
) -> None:
    user_id = realm.created("users", SIGNED_UP)
    realm.done("PUT", f"users/{user_id}", {"firstName": "Rob"})
    realm.done("DELETE", f"users/{user_id}")
    made, changed, removed = recorded_changes(administration, realm.name)[-3:]
    path = f"users/{user_id}"
    assert made[:3] == ("CREATE", "USER", path)
    told = json.loads(made[3] or "")
    assert told["username"] == "bob"
    assert told["credentials"] == [{"type": "password", "value": "**********"}]
    assert changed == ("UPDATE", "USER", path, '{"firstName":"Rob"}')
    assert removed == ("DELETE", "USER", path, f'{{"id":"{user_id}","username":"bob"}}')


def test_what_is_refused_is_not_recorded(realm: OwnRealm, administration: Administration) -> None:
    before = recorded_changes(administration, realm.name)
    refused(realm, {"username": "ab"})
    realm.ask("PUT", "users/nobody", {})
    assert recorded_changes(administration, realm.name) == before


TAKING_OVER = {
    "password": {"credentials": [{"type": "password", "value": "another word"}]},
    "address": {"email": "attacker@people.test"},
    "confirmed address": {"emailVerified": True},
    "attributes": {"attributes": {"subject": ["x"]}, "email": "chief@people.test"},
}


@pytest.mark.parametrize("kind", TAKING_OVER)
def test_nobody_takes_over_who_has_more_rights(realm: OwnRealm, kind: str) -> None:
    (chief,) = realm.get("users?username=chief")
    profile = realm.get("users/profile")
    realm.done("PUT", "users/profile", {**profile, "unmanagedAttributePolicy": "ENABLED"})
    helper = realm.administration.token("helper", "people")
    try:
        answer = realm.ask("PUT", f"users/{chief['id']}", TAKING_OVER[kind], token=helper)
    finally:
        realm.done("PUT", "users/profile", profile)
    assert answer.status_code == 403
    assert shown(realm, chief["id"])["email"] == "chief@people.test"
    assert realm.sign_in("chief").status_code == 200


def test_a_user_with_more_rights_is_not_changed_at_all(realm: OwnRealm) -> None:
    (chief,) = realm.get("users?username=chief")
    path, helper = f"users/{chief['id']}", realm.administration.token("helper", "people")
    before = realm.get(path)
    changes: tuple[dict[str, Any], ...] = (
        *({"enabled": False}, {"enabled": True}, {"firstName": "Chief"}, {"requiredActions": []}),
        *({"email": "x@y.test"}, {"emailVerified": True}, {"attributes": {"a": ["b"]}}, {}),
    )
    for change in changes:
        assert realm.ask("PUT", path, change, token=helper).status_code == 403
    assert realm.ask("DELETE", path, token=helper).status_code == 403
    assert realm.get(path) == before


def test_nobody_makes_a_user_that_has_more_rights_by_its_group(realm: OwnRealm) -> None:
    helper = realm.administration.token("helper", "people")
    chiefs = {"username": "bob", "groups": ["/chiefs"]}
    assert realm.ask("POST", "users", chiefs, token=helper).status_code == 403
    staff = {"username": "bob", "groups": ["/staff"]}
    assert realm.ask("POST", "users", staff, token=helper).status_code == 201
    assert realm.ask("POST", "users", {**chiefs, "username": "rob"}).status_code == 201


def test_a_user_of_another_realm_is_not_found(realm: OwnRealm) -> None:
    for verb, body in (("GET", None), ("PUT", {"firstName": "x"}), ("DELETE", None)):
        assert realm.ask(verb, "users/id-of-anna", body).status_code == 404
    assert realm.ask("GET", "/admin/realms/acme/users/id-of-anna").json()["firstName"] == "Anna"
