"""Required actions: which there are, in which order, and how they are told. Keycloak: 7.4."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administration import Administration
from tests.support.own_realm import OwnRealm, own_realm
from tests.support.recorded_changes import recorded_changes

ACTIONS = "authentication/required-actions"
UPDATE = f"{ACTIONS}/UPDATE_PROFILE"


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    folder = tmp_path_factory.mktemp("actions")
    return own_realm(administration, folder, "demanding", adminEventsEnabled=True)


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and put its actions back as they were."""
    before = {action["alias"]: action for action in shared.get(ACTIONS)}
    yield shared
    for missing in shared.get("authentication/unregistered-required-actions"):
        shared.done("POST", "authentication/register-required-action", missing)
    after = shared.get(ACTIONS)
    for alias, action in before.items():
        if action not in after:
            shared.done("PUT", f"{ACTIONS}/{alias}", action)


def aliases(realm: OwnRealm) -> list[str]:
    return [action["alias"] for action in realm.get(ACTIONS)]


def test_a_realm_has_the_actions_that_it_is_created_with(realm: OwnRealm) -> None:
    found = {action["alias"]: action for action in realm.get(ACTIONS)}
    assert list(found)[:3] == ["TERMS_AND_CONDITIONS", "UPDATE_PROFILE", "VERIFY_EMAIL"]
    assert len(found) == 14
    assert {alias for alias, action in found.items() if not action["enabled"]} == {
        *("TERMS_AND_CONDITIONS", "delete_account", "UPDATE_EMAIL")
    }
    assert realm.get(UPDATE) == {
        "alias": "UPDATE_PROFILE",
        "name": "Update Profile",
        "providerId": "UPDATE_PROFILE",
        "enabled": True,
        "defaultAction": False,
        "priority": 40,
        "config": {},
    }
    assert realm.get("authentication/unregistered-required-actions") == []


def test_an_empty_provider_of_terraform_leaves_the_provider(realm: OwnRealm) -> None:
    action = realm.get(UPDATE)
    realm.done("PUT", UPDATE, {**action, "providerId": ""})
    assert realm.get(UPDATE) == action


def test_what_is_not_sent_of_an_action_is_off(realm: OwnRealm) -> None:
    sent = {"alias": "UPDATE_PROFILE", "name": "Told", "priority": 7, "defaultAction": True}
    realm.done("PUT", UPDATE, sent)
    shown = realm.get(UPDATE)
    assert shown == {**sent, "providerId": "UPDATE_PROFILE", "enabled": False, "config": {}}
    assert aliases(realm)[0] == "UPDATE_PROFILE"


@pytest.mark.parametrize(
    "document",
    [
        {"enabled": "perhaps"},
        {"priority": -1},
        {"priority": "first"},
        {"config": []},
        {"config": {"max_auth_age": "long"}},
        {"name": "x" * 256},
        {"unknown": 1},
    ],
)
def test_what_makes_no_action_is_refused(realm: OwnRealm, document: dict[str, Any]) -> None:
    before = realm.get(ACTIONS)
    assert realm.ask("PUT", UPDATE, {**realm.get(UPDATE), **document}).status_code == 400
    assert realm.get(ACTIONS) == before


def test_an_action_has_a_new_alias_that_no_other_may_have(
    realm: OwnRealm,
) -> None:
    action = realm.get(UPDATE)
    taken = realm.ask("PUT", UPDATE, {**action, "alias": "VERIFY_EMAIL"})
    assert taken.status_code == 409
    realm.done("PUT", UPDATE, {**action, "alias": "OTHER", "config": {"unknown": "1"}})
    assert realm.get(f"{ACTIONS}/OTHER")["config"] == {"unknown": "1"}
    assert realm.ask("GET", UPDATE).status_code == 404
    realm.done("PUT", f"{ACTIONS}/OTHER", action)
    assert realm.get(UPDATE) == action


def test_actions_change_places(realm: OwnRealm) -> None:
    before = aliases(realm)
    realm.done("POST", f"{UPDATE}/raise-priority")
    assert aliases(realm) == [before[1], before[0], *before[2:]]
    realm.done("POST", f"{UPDATE}/lower-priority")
    assert aliases(realm) == before
    realm.done("POST", f"{ACTIONS}/{before[0]}/raise-priority")
    realm.done("POST", f"{ACTIONS}/{before[-1]}/lower-priority")
    assert aliases(realm) == before


def test_every_change_of_an_action_is_recorded(realm: OwnRealm) -> None:
    before = len(recorded_changes(realm.administration, realm.name))
    realm.done("PUT", UPDATE, {**realm.get(UPDATE), "defaultAction": True})
    realm.done("POST", f"{UPDATE}/raise-priority")
    realm.done("POST", f"{UPDATE}/lower-priority")
    realm.done("DELETE", UPDATE)
    recorded = recorded_changes(realm.administration, realm.name)[before:]
    assert [(operation, path) for operation, _, path, _ in recorded] == [
        ("UPDATE", UPDATE),
        ("UPDATE", f"{UPDATE}/raise-priority"),
        ("UPDATE", f"{UPDATE}/lower-priority"),
        ("DELETE", UPDATE),
    ]
    assert {resource for _, resource, _, _ in recorded} == {"REQUIRED_ACTION"}


def test_an_action_that_is_taken_away_can_be_taken_again(realm: OwnRealm) -> None:
    realm.done("DELETE", UPDATE)
    assert "UPDATE_PROFILE" not in aliases(realm)
    assert realm.told("GET", UPDATE) == (404, "Failed to find required action")
    missing = {"providerId": "UPDATE_PROFILE", "name": "Update Profile"}
    assert realm.get("authentication/unregistered-required-actions") == [missing]
    register = "authentication/register-required-action"
    response = realm.done("POST", register, {**missing, "name": "Again"})
    assert response.status_code == 204
    shown = realm.get(UPDATE)
    assert (shown["name"], shown["enabled"], shown["priority"]) == ("Again", True, 1001)
    taken = realm.ask("POST", register, missing)
    assert (taken.status_code, taken.json()["error"]) == (409, "conflict")
    unknown = realm.told("POST", register, {"providerId": "x", "name": "x"})
    assert unknown == (400, "Required Action Provider with given providerId not found")


def test_something_is_set_of_an_action_and_taken_back(realm: OwnRealm) -> None:
    config = f"{UPDATE}/config"
    realm.done("PUT", config, {"config": {"max_auth_age": "10"}})
    assert realm.get(config) == {"config": {"max_auth_age": "10"}}
    assert realm.get(UPDATE)["config"] == {"max_auth_age": "10"}
    unknown = {"config": {"max_auth_age": "10", "of": "another product"}}
    realm.done("PUT", config, unknown)
    assert realm.get(config) == unknown
    realm.done("PUT", config, {"config": {"max_auth_age": "10"}})
    for refused in ({"config": {"max_auth_age": "x"}}, {"x": 1}):
        assert realm.ask("PUT", config, refused).status_code == 400
    realm.done("DELETE", config)
    assert realm.get(config) == {"config": {}}
    described = realm.get(f"{config}-description")
    assert [each["name"] for each in described["properties"]] == ["max_auth_age"]
    fixed = realm.told("GET", f"{ACTIONS}/delete_account/config")
    assert fixed == (400, "RequiredAction is not configurable")


def test_of_an_action_that_is_not_there_nothing_is_done(realm: OwnRealm) -> None:
    one, text = f"{ACTIONS}/x", "Failed to find required action"
    assert realm.told("GET", one) == (404, text)
    assert realm.told("PUT", one, {"alias": "x"}) == (404, text)
    assert realm.told("DELETE", one) == (404, f"{text}.")
    assert realm.told("POST", f"{one}/raise-priority") == (404, f"{text}.")
    assert realm.told("GET", f"{one}/config")[0] == 400
    assert realm.told("GET", f"{one}/config-description")[0] == 404


def test_an_action_of_one_realm_is_not_that_of_another(
    realm: OwnRealm, administration: Administration
) -> None:
    realm.done("PUT", UPDATE, {"alias": "UPDATE_PROFILE", "enabled": False})
    assert administration.get(UPDATE)["enabled"] is True


def test_who_knew_another_state_of_an_action_changes_nothing(realm: OwnRealm) -> None:
    known = realm.ask("GET", UPDATE).headers["etag"]
    sent = {"alias": "UPDATE_PROFILE", "enabled": False}
    for method, document in (("PUT", sent), ("DELETE", None)):
        stale = realm.ask(method, UPDATE, document, headers={"If-Match": '"other"'})
        assert stale.status_code == 412
    assert realm.ask("PUT", UPDATE, sent, headers={"If-Match": known}).status_code == 204
