"""The user profile as a component, as keycloak_userprofile of Ansible changes it. Keycloak: 7.3."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administration import Administration
from tests.support.own_realm import OwnRealm, own_realm
from tests.support.recorded_changes import recorded_changes

TYPE = "org.keycloak.userprofile.UserProfileProvider"
CONFIG = "kc.user.profile.config"
LISTED = f"components?type={TYPE}"
# Written as nobody here would write it: it comes back as it was sent.
TEXT = (
    '{ "attributes":[{"name":"username"}, {"name":"email"}],"unmanagedAttributePolicy":"ENABLED"}'
)
OTHER = '{"attributes": [{"name": "username"}, {"name": "email"}, {"name": "badge"}]}'


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    return own_realm(
        administration,
        tmp_path_factory.mktemp("declared"),
        "declared",
        attributes={},
        adminEventsEnabled=True,
        adminEventsDetailsEnabled=True,
    )


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and bring its standard profile back."""
    yield shared
    assert shared.ask("PUT", "users/profile", content=b"null").status_code == 200


def component(text: str | None = TEXT, **fields: Any) -> dict[str, Any]:
    config = {} if text is None else {CONFIG: [text]}
    return {
        "providerId": "declarative-user-profile",
        "providerType": TYPE,
        "config": config,
        **fields,
    }


def named(realm: OwnRealm) -> list[str]:
    return [attribute["name"] for attribute in realm.get("users/profile")["attributes"]]


def test_a_realm_with_the_standard_profile_has_no_component(realm: OwnRealm) -> None:
    assert realm.get(LISTED) == []
    realm.done("PUT", "users/profile", realm.get("users/profile"))
    assert realm.get(LISTED) == []


def test_a_profile_is_declared_and_its_text_given_back(realm: OwnRealm) -> None:
    made = realm.created("components", component(name="mine"))
    assert realm.get(LISTED) == [
        {
            "id": made,
            "name": "mine",
            "providerId": "declarative-user-profile",
            "providerType": TYPE,
            "parentId": realm.name,
            "config": {CONFIG: [TEXT]},
        }
    ]
    assert realm.get(f"components/{made}")["config"] == {CONFIG: [TEXT]}
    assert named(realm) == ["username", "email"]
    assert realm.get("users/profile")["unmanagedAttributePolicy"] == "ENABLED"


def test_a_declared_profile_holds_at_once(realm: OwnRealm) -> None:
    realm.created("components", component())
    user = realm.created("users", {"username": "ab", "attributes": {"free": ["1"]}})
    assert realm.get(f"users/{user}")["attributes"] == {"free": ["1"]}
    realm.done("DELETE", f"users/{user}")


def test_a_profile_is_declared_once(realm: OwnRealm) -> None:
    realm.created("components", component())
    again = realm.ask("POST", "components", component(OTHER))
    assert again.status_code == 409
    assert named(realm) == ["username", "email"]


def test_a_profile_changes_and_omitted_fields_stay(realm: OwnRealm) -> None:
    made = realm.created("components", component(name="mine"))
    realm.done("PUT", f"components/{made}", component(OTHER))
    assert named(realm) == ["username", "email", "badge"]
    realm.done("PUT", f"components/{made}", component(None, name="other"))
    (shown,) = realm.get(LISTED)
    assert (shown["id"], shown["name"], shown["config"]) == (made, "other", {CONFIG: [OTHER]})


def test_what_is_put_as_a_profile_is_shown_by_the_component(realm: OwnRealm) -> None:
    made = realm.created("components", component())
    profile = realm.get("users/profile")
    profile["attributes"].append({"name": "desk"})
    realm.done("PUT", "users/profile", profile)
    (shown,) = realm.get(LISTED)
    assert shown["id"] == made
    assert json.loads(shown["config"][CONFIG][0]) == realm.get("users/profile")


def test_a_profile_that_is_taken_away_leaves_the_standard_one(realm: OwnRealm) -> None:
    made = realm.created("components", component())
    assert realm.ask("DELETE", f"components/{made}").status_code == 204
    assert realm.get(LISTED) == []
    assert named(realm) == ["username", "email", "firstName", "lastName"]
    for verb, document in (("GET", None), ("PUT", component()), ("DELETE", None)):
        assert realm.ask(verb, f"components/{made}", document).status_code == 404


def test_the_standard_profile_takes_the_component_away(realm: OwnRealm) -> None:
    realm.created("components", component())
    assert realm.ask("PUT", "users/profile", content=b"null").status_code == 200
    assert realm.get(LISTED) == []


WRONG: dict[str, dict[str, Any]] = {
    "no text": component(None),
    "two texts": component(config={CONFIG: [TEXT, TEXT]}),
    "no JSON": component("{bad"),
    "no object": component("[]"),
    "no user name": component('{"attributes":[]}'),
    "unknown field": component('{"zz":1}'),
    "unknown scope": component(
        '{"attributes":[{"name":"username"},{"name":"email","selector":{"scopes":["zz"]}}]}'
    ),
    "another provider": component(providerId="nope"),
    "another parent": component(parentId="nobody"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_component_that_cannot_be_used_changes_nothing(realm: OwnRealm, kind: str) -> None:
    assert realm.ask("POST", "components", WRONG[kind]).status_code == 400
    assert realm.get(LISTED) == []
    made = realm.created("components", component())
    if kind != "no text":
        assert realm.ask("PUT", f"components/{made}", WRONG[kind]).status_code == 400
    assert realm.get(f"components/{made}")["config"] == {CONFIG: [TEXT]}


def test_a_profile_that_was_changed_meanwhile_is_not_overwritten(realm: OwnRealm) -> None:
    made = realm.created("components", component())
    path = f"components/{made}"
    known = {"If-Match": realm.ask("GET", path).headers["etag"]}
    realm.done("PUT", path, component(OTHER))
    assert realm.ask("PUT", path, component(), headers=known).status_code == 412
    assert realm.ask("DELETE", path, headers=known).status_code == 412
    assert named(realm) == ["username", "email", "badge"]


def test_declaring_changing_and_taking_away_is_recorded(
    realm: OwnRealm, administration: Administration
) -> None:
    made = realm.created("components", component())
    realm.done("PUT", f"components/{made}", component(OTHER))
    realm.done("DELETE", f"components/{made}")
    recorded = [event[:3] for event in recorded_changes(administration, realm.name)[-3:]]
    path = f"components/{made}"
    assert recorded == [(kind, "COMPONENT", path) for kind in ("CREATE", "UPDATE", "DELETE")]
