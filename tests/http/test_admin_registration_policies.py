"""What clients that register themselves may not have, as components. Keycloak: 7.3."""

from typing import Any

import pytest

from tests.support.administration import Administration

TYPE = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"


def policies(administration: Administration) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = administration.get("components", type=TYPE)
    return found


def test_a_realm_has_the_policies_that_it_is_created_with(administration: Administration) -> None:
    found = {(each["name"], each["subType"]) for each in policies(administration)}
    assert found == {
        ("Trusted Hosts", "anonymous"),
        ("Consent Required", "anonymous"),
        ("Full Scope Disabled", "anonymous"),
        ("Max Clients Limit", "anonymous"),
        *(("Allowed Protocol Mapper Types", who) for who in ("anonymous", "authenticated")),
        *(("Allowed Client Scopes", who) for who in ("anonymous", "authenticated")),
        *(("Allowed Registration Web Origins", who) for who in ("anonymous", "authenticated")),
    }
    assert {each["parentId"] for each in policies(administration)} == {"acme"}


def ask(
    administration: Administration, method: str, path: str, document: Any = None
) -> tuple[int, str]:
    response = administration.http.request(
        method,
        f"/admin/realms/acme/components{path}",
        json=document,
        headers={"Authorization": f"Bearer {administration.token()}"},
    )
    return response.status_code, response.text


def test_a_policy_put_back_as_it_was_fetched_is_taken(administration: Administration) -> None:
    for policy in policies(administration):
        assert ask(administration, "PUT", f"/{policy['id']}", policy) == (204, "")


@pytest.mark.parametrize(
    "change",
    [
        {"config": {"max-clients": ["5"]}},
        {"config": {"max-clients": [""]}},
        {"config": {"other": ["1"]}},
        {"name": "other"},
        {"providerId": "scope"},
        {"subType": "authenticated"},
    ],
)
def test_what_could_not_act_of_a_policy_is_refused_with_its_reason(
    administration: Administration, change: dict[str, Any]
) -> None:
    (policy,) = (one for one in policies(administration) if one["name"] == "Max Clients Limit")
    status, text = ask(administration, "PUT", f"/{policy['id']}", {**policy, **change})
    assert (status, "cannot be changed" in text) == (400, True)
    assert policy in policies(administration)


def test_policies_are_neither_added_nor_taken_away(administration: Administration) -> None:
    before = policies(administration)
    new = {"name": "new", "providerId": "max-clients", "providerType": TYPE, "config": {}}
    assert ask(administration, "POST", "", new)[0] == 400
    assert ask(administration, "DELETE", f"/{before[0]['id']}")[0] == 400
    assert policies(administration) == before
