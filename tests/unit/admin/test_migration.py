"""Realm files of earlier versions of Keycloak."""

from typing import Any

import pytest

from gateway.admin.realm_files.migration import migrated
from gateway.domain.flows import DEFAULT_ACTIONS

FLOWS = "authenticationFlows"
OLD_ACTIONS = [
    {"alias": "CONFIGURE_TOTP", "priority": 10},
    {"alias": "UPDATE_PASSWORD", "priority": 30},
    {"alias": "VERIFY_EMAIL", "priority": 50},
]
BROWSER = {
    "alias": "browser",
    "providerId": "basic-flow",
    "authenticationExecutions": [{"authenticator": "auth-cookie", "priority": 10}],
}


def taken(version: str | None, **file: Any) -> dict[str, Any]:
    return dict(migrated({"realm": "old", "keycloakVersion": version, **file}))


def priorities(file: dict[str, Any]) -> dict[str, int]:
    return {action["alias"]: action["priority"] for action in file["requiredActions"]}


@pytest.mark.parametrize("version", [None, "26.7.0", "26.7.3", "999.0.0-SNAPSHOT", "", "none"])
def test_a_file_of_this_version_or_of_none_is_taken_as_it_is(version: str | None) -> None:
    file = {"requiredActions": OLD_ACTIONS, "clientScopes": [], "authenticationFlows": [BROWSER]}
    found = taken(version, **file)
    assert {name: found[name] for name in file} == file


def test_a_password_is_changed_after_the_address_is_verified() -> None:
    found = priorities(taken("26.6.0", requiredActions=OLD_ACTIONS))
    assert found == {"CONFIGURE_TOTP": 54, "UPDATE_PASSWORD": 57, "VERIFY_EMAIL": 50}
    moved = [*OLD_ACTIONS[:2], {"alias": "VERIFY_EMAIL", "priority": 29}]
    found = priorities(taken("26.6.0", requiredActions=moved))
    assert found == {"CONFIGURE_TOTP": 31, "UPDATE_PASSWORD": 32, "VERIFY_EMAIL": 29}


def test_required_actions_that_came_later_are_added() -> None:
    before = {each.alias for each in DEFAULT_ACTIONS} - {"idp_link", "delete_credential"}
    listed = [{"alias": alias, "priority": 1} for alias in sorted(before)]
    added = {
        version: priorities(taken(version, requiredActions=listed)).keys() - before
        for version in ("24.0.2", "25.0.1", "26.3.0")
    }
    assert added == {"24.0.2": {"delete_credential", "idp_link"}, "25.0.1": {"idp_link"}} | {
        "26.3.0": set()
    }


def test_the_browser_flow_asks_for_the_organization() -> None:
    found = taken("26.6.0", authenticationFlows=[BROWSER])["authenticationFlows"]
    assert [flow["alias"] for flow in found] == [
        *("browser", "Organization", "Browser - Conditional Organization")
    ]
    step = found[0]["authenticationExecutions"][-1]
    assert (step["flowAlias"], step["priority"], step["requirement"]) == (
        *("Organization", 26, "ALTERNATIVE"),
    )
    assert taken("26.6.0", authenticationFlows=found)["authenticationFlows"] == found
    of_master = taken("26.6.0", realm="master", authenticationFlows=[BROWSER])
    assert of_master["authenticationFlows"] == [BROWSER]


def test_client_scopes_that_came_later_are_given_to_all_clients() -> None:
    client = {"clientId": "app", "defaultClientScopes": ["email"]}
    found = taken("24.0.5", clientScopes=[{"name": "email"}], clients=[client])
    names = [scope["name"] for scope in found["clientScopes"]]
    assert names == ["email", "basic", "service_account", "AuthnContextClassRef"]
    assert found["clients"][0]["defaultClientScopes"] == ["email", "basic"]
    assert taken("24.0.5", clients=[client])["clients"] == [client]


def test_users_keep_attributes_that_no_profile_names() -> None:
    profile = "org.keycloak.userprofile.UserProfileProvider"
    config = taken("23.0.7")["components"][profile][0]["config"]["kc.user.profile.config"][0]
    assert '"unmanagedAttributePolicy":"ENABLED"' in config
    enabled = taken("23.0.7", attributes={"userProfileEnabled": "true", "a": "b"})
    assert ("components" in enabled, enabled["attributes"]) == (False, {"a": "b"})
    assert "components" not in taken("24.0.0")


def test_what_no_longer_exists_is_taken_away() -> None:
    form = {"alias": "form", "providerId": "form-flow"}
    profile = {"authenticator": "registration-profile-action"}
    flows = [{"alias": "http challenge"}, {**form, "authenticationExecutions": [profile]}]
    found = taken("21.1.0", authenticationFlows=flows, accountTheme="keycloak")
    assert found["authenticationFlows"] == [{**form, "authenticationExecutions": []}]
    assert found["accountTheme"] == "keycloak.v2"
    bound = taken("21.1.0", authenticationFlows=flows, browserFlow="http challenge")
    assert bound["authenticationFlows"][0] == flows[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"requiredActions": "x", "clientScopes": 1, "clients": {}, "authenticationFlows": [1]},
        {"requiredActions": [1], "clientScopes": [None], "components": [], "attributes": "x"},
        {"authenticationFlows": [{"alias": 1}], "clients": ["x"], "defaultDefaultClientScopes": 1},
    ],
)
def test_what_has_a_wrong_type_is_left_to_the_readers(wrong: dict[str, Any]) -> None:
    found = taken("9.0.0", **wrong)
    assert {name: found[name] for name in wrong} == wrong


RULES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "frames of other sites are refused": (
        *("3.4.0.Final", "3.4.1"),
        {"browserSecurityHeaders": {"contentSecurityPolicy": "frame-src 'self'"}},
        {
            "browserSecurityHeaders": {
                "contentSecurityPolicy": (
                    "frame-src 'self'; frame-ancestors 'self'; object-src 'none';"
                )
            }
        },
    ),
    "names of scopes have no spaces": (
        *("3.4.3.Final", "4.0.0.Final"),
        {
            "defaultDefaultClientScopes": ["a b"],
            "clients": [{"clientId": "app", "optionalClientScopes": ["a b"]}],
            "scopeMappings": [{"clientScope": "a b", "roles": ["r"]}],
            "clientScopeMappings": {"app": [{"clientScope": "a b", "roles": ["r"]}]},
        },
        {
            "defaultDefaultClientScopes": ["a_b"],
            "scopeMappings": [{"clientScope": "a_b", "roles": ["r"]}],
            "clientScopeMappings": {"app": [{"clientScope": "a_b", "roles": ["r"]}]},
        },
    ),
    "actions are numbered by name": (
        *("4.1.0.Final", "4.2.0.Final"),
        {"requiredActions": [{"alias": "b", "name": "B"}, {"alias": "a", "name": "A"}]},
        {},
    ),
    "pages moved": (
        *("7.0.1", "8.0.0"),
        {"clients": [{"clientId": "account", "baseUrl": "/auth/realms/old/account"}]},
        {},
    ),
    "iterations of the former default are dropped": (
        *("24.0.5", "25.0.0"),
        {"passwordPolicy": "length(8) and hashIterations(27500)"},
        {"passwordPolicy": "length(8)"},
    ),
    "iterations of a named algorithm stay": (
        *("24.0.5", "25.0.0"),
        {"passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(27500)"},
        {"passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(27500)"},
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_step_is_taken_for_files_before_its_version(rule: str) -> None:
    last, version, file, changed = RULES[rule]
    found = taken(last, **file)
    assert {name: found[name] for name in changed} == changed
    later = taken(version, **file)
    kept = {name: value for name, value in file.items() if name in changed}
    assert {name: later[name] for name in kept} == kept


@pytest.mark.parametrize(
    ("product", "expected"),
    [("7.2.6.GA", {"a": 10, "b": 20}), ("7.3.0.GA", {"a": 5, "b": 7}), ("7.0.1", {"a": 5, "b": 7})],
)
def test_files_of_the_product_have_the_version_it_contains(
    product: str, expected: dict[str, int]
) -> None:
    actions = [
        {"alias": "b", "name": "B", "priority": 7},
        {"alias": "a", "name": "A", "priority": 5},
    ]
    found = priorities(taken(product, requiredActions=actions))
    assert {alias: found[alias] for alias in expected} == expected


@pytest.mark.parametrize("deciding", ["REQUIRED", "CONDITIONAL"])
def test_rows_of_alternatives_get_a_flow_each(deciding: str) -> None:
    steps = [
        {"requirement": requirement, "authenticator": f"step-{place}", "priority": place}
        for place, requirement in enumerate(
            ["ALTERNATIVE", "DISABLED", "ALTERNATIVE", deciding, "ALTERNATIVE"]
        )
    ]
    flow = {"alias": "f", "providerId": "basic-flow", "authenticationExecutions": steps[::-1]}
    found = {each["alias"]: each for each in taken("8.0.1", authenticationFlows=[flow])[FLOWS]}
    executions = {
        alias: [
            step.get("authenticator", step.get("flowAlias"))
            for step in each["authenticationExecutions"]
        ]
        for alias, each in found.items()
    }
    assert executions == {
        "f": ["step-1", "f - Alternatives - 0", "step-3", "f - Alternatives - 1"],
        "f - Alternatives - 0": ["step-0", "step-2"],
        "f - Alternatives - 1": ["step-4"],
    }


@pytest.mark.parametrize("wrong", ["x", 3, [3], [{"alias": 3}], {"a": 1}])
def test_what_has_another_type_is_left_to_the_readers(wrong: object) -> None:
    names = ("clients", "clientScopes", "requiredActions", "scopeMappings", "authenticationFlows")
    for name in (*names, "clientScopeMappings", "browserSecurityHeaders", "passwordPolicy"):
        assert taken("3.0.0", **{name: wrong}).keys()
