"""Client registration policies as components. Keycloak: 7.3."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration

TYPE = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"
BOTH = ("anonymous", "authenticated")
PROVIDERS = {
    *("allowed-client-templates", "allowed-protocol-mappers", "client-disabled"),
    *("consent-required", "max-clients", "registration-web-origins", "scope", "trusted-hosts"),
}


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    roles = {"viewer": ["view-realm"], "nobody": []}
    with administered_realm(administration, "of-policies", roles) as made:
        yield made


def policies(realm: AdministeredRealm) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = realm.get(f"components?type={TYPE}")
    return found


def policy(provider: str, **fields: Any) -> dict[str, Any]:
    return {"name": "made", "providerId": provider, "providerType": TYPE, **fields}


def test_a_realm_has_the_policies_that_it_is_created_with(realm: AdministeredRealm) -> None:
    found = {(each["name"], each["subType"]) for each in policies(realm)}
    assert found == {
        ("Trusted Hosts", "anonymous"),
        ("Consent Required", "anonymous"),
        ("Full Scope Disabled", "anonymous"),
        ("Max Clients Limit", "anonymous"),
        *(("Allowed Protocol Mapper Types", who) for who in BOTH),
        *(("Allowed Client Scopes", who) for who in BOTH),
        *(("Allowed Registration Web Origins", who) for who in BOTH),
    }
    assert len({each["parentId"] for each in policies(realm)}) == 1


def test_a_policy_put_back_as_it_was_fetched_is_taken(realm: AdministeredRealm) -> None:
    before = policies(realm)
    for each in before:
        realm.change("PUT", f"components/{each['id']}", each)
    assert policies(realm) == before


def test_a_policy_is_added_changed_and_removed(realm: AdministeredRealm) -> None:
    before = policies(realm)
    config = {"max-clients": ["1000"]}
    policy_id = realm.change("POST", "components", policy("max-clients", config=config))
    made = realm.get(f"components/{policy_id}")
    assert "subType" not in made
    assert (made["name"], made["config"]) == ("made", config)
    changed = {**made, "name": "other", "subType": "anonymous", "config": {"max-clients": ["7"]}}
    realm.change("PUT", f"components/{policy_id}", changed)
    assert realm.get(f"components/{policy_id}") == changed
    realm.change("DELETE", f"components/{policy_id}")
    assert realm.refused("GET", f"components/{policy_id}")[0] == 404
    assert policies(realm) == before


def test_a_policy_of_a_new_realm_can_be_changed_and_removed_too(
    administration: Administration,
) -> None:
    with administered_realm(administration, "without-policies", {}) as own:
        for each in policies(own):
            if each["providerId"] == "max-clients":
                changed = {**each, "config": {"max-clients": ["5"]}}
                own.change("PUT", f"components/{each['id']}", changed)
                assert own.get(f"components/{each['id']}") == changed
            else:
                own.change("DELETE", f"components/{each['id']}")
        assert [each["name"] for each in policies(own)] == ["Max Clients Limit"]


@pytest.mark.parametrize(
    ("provider", "config", "text"),
    [
        ("max-clients", {"max-clients": ["many"]}, "'Max Clients Per Realm' should be a number"),
        (
            "trusted-hosts",
            {
                "client-uris-must-match": ["false"],
                "host-sending-registration-request-must-match": ["false"],
            },
            "At least one of hosts verification or client URIs validation must be enabled",
        ),
        ("max-clients", {}, "'Max Clients Per Realm' is required"),
        ("trusted-hosts", {}, "'Host Sending Client Registration Request Must Match' is required"),
        (
            "allowed-client-templates",
            {"allowed-client-scopes": ["missing"]},
            "Client scopes not allowed: [missing]",
        ),
        ("registration-web-origins", {"web-origins": ["https://a.test"]}, None),
        ("unknown", {}, None),
    ],
)
def test_what_could_not_act_is_refused(
    realm: AdministeredRealm, provider: str, config: dict[str, list[str]], text: str | None
) -> None:
    before = policies(realm)
    status, answer = realm.refused("POST", "components", policy(provider, config=config))
    assert status == 400
    assert text is None or text in str(answer)
    assert policies(realm) == before


def test_what_a_policy_is_cannot_be_changed(realm: AdministeredRealm) -> None:
    first = policies(realm)[0]
    for changed in ({"providerId": "client-disabled"}, {"providerType": "other"}):
        status, _ = realm.refused("PUT", f"components/{first['id']}", {**first, **changed})
        assert status == 400
    assert policies(realm)[0] == first


def test_the_providers_are_described_with_what_may_be_chosen(realm: AdministeredRealm) -> None:
    path = "client-registration-policy/providers"
    described = {each["id"]: each for each in realm.get(path, by="viewer")}
    assert set(described) == PROVIDERS
    properties = {
        each["name"]: each for provider in described.values() for each in provider["properties"]
    }
    scopes = {scope["name"] for scope in realm.get("client-scopes")}
    assert set(properties["allowed-client-scopes"]["options"]) == {*scopes, "openid"}
    types = properties["allowed-protocol-mapper-types"]["options"]
    assert {"oidc-usermodel-attribute-mapper", "saml-role-list-mapper"} <= set(types)
    assert properties["max-clients"]["defaultValue"] == "200"
    assert realm.refused("GET", path, by="nobody")[0] == 403
