"""The client profiles of every realm, listed for who asks. Keycloak: client-policies/profiles."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration

PATH = "client-policies/profiles"
LISTED = f"{PATH}?include-global-profiles=true"
OWN = {"name": "own", "executors": []}


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    with administered_realm(administration, "of-profiles", {}) as made:
        yield made


def names(profiles: list[dict[str, Any]]) -> set[str]:
    return {profile["name"] for profile in profiles}


def test_global_profiles_are_listed_where_they_are_asked_for(realm: AdministeredRealm) -> None:
    assert "globalProfiles" not in realm.get(PATH)
    listed = realm.get(LISTED)
    assert listed["profiles"] == []
    assert names(listed["globalProfiles"]) >= {
        *("fapi-1-baseline", "fapi-1-advanced", "fapi-ciba", "fapi-2-security-profile"),
        *("fapi-2-message-signing", "oauth-2-1-for-confidential-client"),
        *("oauth-2-1-for-public-client", "saml-security-profile"),
    }
    for profile in listed["globalProfiles"]:
        assert set(profile) == {"name", "description", "executors"}
        for executor in profile["executors"]:
            assert set(executor) == {"executor", "configuration"}


def test_global_profiles_sent_back_are_not_stored_nor_changed(
    realm: AdministeredRealm,
) -> None:
    before = realm.get(LISTED)
    realm.change("PUT", PATH, {**before, "profiles": [OWN]})
    after = realm.get(LISTED)
    assert names(after["profiles"]) == {"own"}
    assert after["globalProfiles"] == before["globalProfiles"]
    realm.change("PUT", PATH, {"profiles": []})


def test_no_profile_takes_the_name_of_a_global_one(realm: AdministeredRealm) -> None:
    named = {"profiles": [{**OWN, "name": "fapi-1-baseline"}]}
    text = "Proposed profile name 'fapi-1-baseline' is duplicated as a global profile"
    assert realm.refused("PUT", PATH, named) == (400, {"errorMessage": text})
    assert realm.get(PATH)["profiles"] == []


def test_a_global_profile_may_return_with_another_description(
    realm: AdministeredRealm,
) -> None:
    """Files of Keycloak have its descriptions."""
    changed = realm.get(LISTED)
    changed["globalProfiles"][0]["description"] = "another"
    realm.change("PUT", PATH, changed)
    assert realm.get(LISTED)["globalProfiles"][0]["description"] != "another"
    changed["globalProfiles"][0]["executors"] = []
    refusal = {"errorMessage": "Global profiles cannot be updated"}
    assert realm.refused("PUT", PATH, changed) == (400, refusal)
    assert realm.get(PATH)["profiles"] == []
