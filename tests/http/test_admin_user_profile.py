"""The user profile of a realm over the admin API. Keycloak: 7.2 (users/profile), 26.7."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administration import Administration
from tests.support.own_realm import OwnRealm, own_realm
from tests.support.recorded_changes import recorded_changes

PROFILE = "users/profile"
NAMES = ["username", "email", "firstName", "lastName"]
EVERYBODY = {"view": ["admin", "user"], "edit": ["admin", "user"]}


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    return own_realm(
        administration,
        tmp_path_factory.mktemp("profiled"),
        "profiled",
        attributes={},
        adminEventsEnabled=True,
        adminEventsDetailsEnabled=True,
    )


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and bring its standard profile back."""
    yield shared
    assert shared.ask("PUT", PROFILE, content=b"null").status_code == 200


def with_attribute(realm: OwnRealm, **attribute: Any) -> dict[str, Any]:
    document: dict[str, Any] = realm.get(PROFILE)
    document["attributes"].append({"name": "badge", "permissions": EVERYBODY, **attribute})
    return document


def test_a_realm_has_keycloaks_standard_profile(realm: OwnRealm) -> None:
    document = realm.get(PROFILE)
    assert list(document) == ["attributes", "groups"]
    assert [attribute["name"] for attribute in document["attributes"]] == NAMES
    assert [attribute.get("required") for attribute in document["attributes"]] == [
        None,
        *[{"roles": ["user"]}] * 3,
    ]


def test_the_realm_of_administrators_demands_nothing(realm: OwnRealm) -> None:
    document = realm.get("/admin/realms/master/users/profile")
    assert not any("required" in attribute for attribute in document["attributes"])


def test_a_profile_is_stored_and_answered_as_it_is_kept(realm: OwnRealm) -> None:
    document = with_attribute(realm, validations={"length": {"max": 5}})
    document["unmanagedAttributePolicy"] = "ADMIN_VIEW"
    answer = realm.done("PUT", PROFILE, document)
    assert answer.status_code == 200
    assert answer.json() == realm.get(PROFILE)
    assert answer.json()["attributes"][-1]["multivalued"] is False
    assert answer.json()["unmanagedAttributePolicy"] == "ADMIN_VIEW"


def test_a_profile_put_back_as_it_was_changes_nothing(realm: OwnRealm) -> None:
    realm.done("PUT", PROFILE, with_attribute(realm, required={}))
    before = realm.get(PROFILE)
    realm.done("PUT", PROFILE, before)
    assert realm.get(PROFILE) == before


def test_null_brings_the_standard_profile_back(realm: OwnRealm) -> None:
    standard = realm.get(PROFILE)
    realm.done("PUT", PROFILE, with_attribute(realm))
    assert realm.ask("PUT", PROFILE, content=b"null").json() == standard
    assert realm.get(PROFILE) == standard


def test_metadata_is_what_forms_are_made_of(realm: OwnRealm) -> None:
    realm.done("PUT", PROFILE, with_attribute(realm, required={"roles": ["admin"]}))
    found = {one["name"]: one for one in realm.get(f"{PROFILE}/metadata")["attributes"]}
    assert list(found) == [*NAMES, "badge"]
    assert (found["badge"]["required"], found["email"]["required"]) == (True, False)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"{", {"error": "invalid_request", "error_description": "Cannot parse the JSON"}),
        (b"[]", {"error": "unknown_error", "error_description": "Cannot parse the JSON"}),
        (
            b'{"attributes":[]}',
            {
                "errorMessage": "[The attribute 'username' can not be removed, "
                "The attribute 'email' can not be removed]"
            },
        ),
        (
            b'{"zz":1}',
            {"error": 'Invalid json representation for UPConfig. Unrecognized field "zz" at zz.'},
        ),
    ],
)
def test_a_profile_that_cannot_be_used_changes_nothing(
    realm: OwnRealm, content: bytes, error: dict[str, str]
) -> None:
    before = realm.get(PROFILE)
    refused = realm.ask("PUT", PROFILE, content=content)
    assert (refused.status_code, refused.json()) == (400, error)
    assert realm.get(PROFILE) == before


def test_an_update_of_a_concurrently_changed_profile_is_refused(realm: OwnRealm) -> None:
    known = realm.ask("GET", PROFILE).headers["etag"]
    document = with_attribute(realm)
    assert realm.ask("PUT", PROFILE, document, headers={"If-Match": known}).status_code == 200
    assert realm.ask("PUT", PROFILE, document, headers={"If-Match": known}).status_code == 412


def test_a_change_of_the_profile_is_recorded(
    realm: OwnRealm, administration: Administration
) -> None:
    stored = realm.done("PUT", PROFILE, with_attribute(realm)).json()
    *head, representation = recorded_changes(administration, realm.name)[-1]
    assert head == ["UPDATE", "USER_PROFILE", PROFILE]
    named = [attribute["name"] for attribute in json.loads(representation or "")["attributes"]]
    assert named == [attribute["name"] for attribute in stored["attributes"]]


def test_the_profile_is_changed_with_every_right_alone(administration: Administration) -> None:
    """It says which attributes users may change: by some of them accounts are proven."""

    def answers(role: str) -> list[int]:
        token = administration.token(role, "acme")
        asked = (("GET", PROFILE), ("GET", f"{PROFILE}/metadata"), ("PUT", PROFILE))
        return [administration.ask(verb, f"acme/{path}", token).status_code for verb, path in asked]

    for role in ("manage-realm", "view-realm", "manage-users", "view-users", "query-users"):
        assert answers(role) == [200, 200, 403], role
    assert answers("view-clients") == [403, 403, 403]


@pytest.mark.parametrize("hidden", [None, {"view": ["user"], "edit": ["user"]}])
@pytest.mark.parametrize("policy", [None, "ENABLED"])
def test_a_name_hidden_by_the_profile_is_stored_and_found(
    realm: OwnRealm, hidden: dict[str, Any] | None, policy: str | None
) -> None:
    user = {"username": "named", "firstName": "Ada", "lastName": "Byron", "enabled": True}
    user_id = realm.created("users", user)
    document = realm.get(PROFILE)
    (first,) = (each for each in document["attributes"] if each["name"] == "firstName")
    if hidden:
        first["permissions"] = hidden
    else:
        document["attributes"].remove(first)
    realm.done("PUT", PROFILE, {**document, "unmanagedAttributePolicy": policy})
    found = [realm.get(f"users/{user_id}")]
    for brief in ("true", "false"):
        found += realm.get(f"users?firstName=Ada&briefRepresentation={brief}")
    assert [(each["username"], each["lastName"]) for each in found] == [("named", "Byron")] * 3
    assert not any("firstName" in each for each in found)
    assert realm.ask("PUT", PROFILE, content=b"null").status_code == 200
    assert realm.get(f"users/{user_id}")["firstName"] == "Ada"
    realm.done("DELETE", f"users/{user_id}")
