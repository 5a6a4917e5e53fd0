"""Flows: what a realm is created with, copies, and what may be changed of them. Keycloak: 7.4."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.administration import Administration
from tests.support.own_realm import OwnRealm, own_realm

FLOWS = "authentication/flows"
TOP = [
    "browser",
    "direct grant",
    "registration",
    "reset credentials",
    "clients",
    "first broker login",
    "docker auth",
]


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    return own_realm(administration, tmp_path_factory.mktemp("flows"), "flowing")


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and take away the flows that a test has made."""
    yield shared
    for flow in shared.get(FLOWS):
        if not flow["builtIn"]:
            shared.done("DELETE", f"{FLOWS}/{flow['id']}")


def named(realm: OwnRealm, alias: str) -> dict[str, Any]:
    (found,) = (flow for flow in realm.get(FLOWS) if flow["alias"] == alias)
    assert isinstance(found, dict)
    return found


def of(alias: str, *rest: str) -> str:
    return "/".join((FLOWS, quote(alias, safe=""), *rest))


def steps(realm: OwnRealm, alias: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = realm.get(of(alias, "executions"))
    return found


def outline(realm: OwnRealm, alias: str) -> list[str]:
    return [f"{'-' * step['level']}{step['displayName']}" for step in steps(realm, alias)]


def copied(realm: OwnRealm, alias: str, name: str) -> str:
    return realm.created(of(alias, "copy"), {"newName": name})


def test_a_realm_has_the_flows_that_it_is_created_with(realm: OwnRealm) -> None:
    found = realm.get(FLOWS)
    assert [flow["alias"] for flow in found] == TOP
    assert all(flow["builtIn"] and flow["topLevel"] for flow in found)
    grant = named(realm, "direct grant")
    assert grant["authenticationExecutions"][2] == {
        "authenticatorFlow": True,
        "requirement": "CONDITIONAL",
        "priority": 30,
        "autheticatorFlow": True,
        "flowAlias": "Direct Grant - Conditional OTP",
        "userSetupAllowed": False,
    }
    assert realm.get(f"{FLOWS}/{grant['id']}") == grant


def test_the_steps_of_a_flow_are_told_with_those_of_its_parts(realm: OwnRealm) -> None:
    found = steps(realm, "direct grant")
    assert [(step["displayName"], step["level"], step["index"]) for step in found] == [
        ("Username Validation", 0, 0),
        ("Password", 0, 1),
        ("Direct Grant - Conditional OTP", 0, 2),
        ("Condition - user configured", 1, 0),
        ("OTP", 1, 1),
    ]
    assert found[1] == {
        "id": found[1]["id"],
        "requirement": "REQUIRED",
        "displayName": "Password",
        "requirementChoices": ["REQUIRED", "ALTERNATIVE", "DISABLED"],
        "configurable": False,
        "providerId": "direct-grant-validate-password",
        "level": 0,
        "index": 1,
        "priority": 20,
    }
    part = {key: found[2][key] for key in ("authenticationFlow", "description", "configurable")}
    assert part == {
        "authenticationFlow": True,
        "description": "Flow to determine if the OTP is required for the authentication",
        "configurable": False,
    }
    assert len(steps(realm, "browser")) == 15
    assert len(steps(realm, "first broker login")) == 18


def test_ids_are_the_same_each_time_and_others_in_another_realm(
    realm: OwnRealm, administration: Administration
) -> None:
    ids = {flow["id"] for flow in realm.get(FLOWS)}
    assert ids == {flow["id"] for flow in realm.get(FLOWS)}
    assert ids.isdisjoint(flow["id"] for flow in administration.get(FLOWS))
    for flow_id in ids:
        assert administration.ask("GET", f"acme/{FLOWS}/{flow_id}").status_code == 404


def test_a_flow_is_made_empty_and_found_where_it_is_told(realm: OwnRealm) -> None:
    sent = {"alias": "mine", "providerId": "basic-flow", "topLevel": True, "builtIn": False}
    flow_id = realm.created(FLOWS, sent)
    assert realm.get(f"{FLOWS}/{flow_id}") == {
        "id": flow_id,
        "alias": "mine",
        "description": "",
        "providerId": "basic-flow",
        "topLevel": True,
        "builtIn": False,
        "authenticationExecutions": [],
    }
    assert realm.told("POST", FLOWS, sent) == (409, "Flow mine already exists")


@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        ({"alias": ""}, 409, "Failed to create flow with empty alias name"),
        ({}, 409, "Failed to create flow with empty alias name"),
        ({"alias": "forms"}, 409, "Flow forms already exists"),
        ({"alias": "a/b"}, 400, "Character '/' not allowed."),
        ({"alias": "a\x07"}, 400, "Character '\\x07' not allowed."),
        ({"alias": "x", "providerId": "other-flow"}, 400, None),
        ({"alias": "x", "topLevel": "maybe"}, 400, None),
        ({"alias": "x" * 256}, 400, None),
        ({"alias": []}, 400, None),
        ({"alias": "x", "unknown": 1}, 400, None),
    ],
)
def test_what_makes_no_flow_is_refused_with_its_reason(
    realm: OwnRealm, document: dict[str, Any], status: int, text: str | None
) -> None:
    before = realm.get(FLOWS)
    told = realm.told("POST", FLOWS, document)
    assert told == (status, text if text is not None else told[1])
    assert realm.get(FLOWS) == before


def test_a_copy_has_steps_and_parts_and_settings_of_its_own(realm: OwnRealm) -> None:
    location = realm.done("POST", of("first broker login", "copy"), {"newName": "mine"})
    flow_id = named(realm, "mine")["id"]
    prefix = "https://gateway.test/admin/realms/flowing/authentication/flows"
    assert location.headers["location"] == f"{prefix}/{flow_id}"
    first, second = steps(realm, "first broker login"), steps(realm, "mine")
    for key in ("id", "flowId", "authenticationConfig"):
        old, new = ({step.get(key) for step in one} - {None} for one in (first, second))
        assert len(old) == len(new)
        assert old.isdisjoint(new)
    assert [step["requirement"] for step in first] == [step["requirement"] for step in second]
    assert [step["displayName"] for step in second][:4] == [
        "Review Profile",
        "mine User creation or linking",
        "Create User If Unique",
        "mine Handle Existing Account",
    ]
    config = realm.get(f"authentication/config/{second[0]['authenticationConfig']}")
    assert config["alias"] == "mine review profile config"
    assert config["config"] == {"update.profile.on.first.login": "missing"}
    taken = realm.told("POST", of("clients", "copy"), {"newName": "mine"})
    assert taken == (409, "New flow alias name already exists")


@pytest.mark.parametrize("document", [{}, {"newName": ""}, {"newName": "a?b"}, {"newName": 5}])
def test_a_copy_needs_a_name(realm: OwnRealm, document: dict[str, Any]) -> None:
    assert realm.ask("POST", of("clients", "copy"), document).status_code in {400, 409}
    assert [flow["alias"] for flow in realm.get(FLOWS)] == TOP


def test_of_a_flow_that_is_not_there_nothing_is_done(realm: OwnRealm) -> None:
    nothing = {
        ("GET", f"{FLOWS}/x"): "Could not find flow with id",
        ("PUT", f"{FLOWS}/x"): "Could not find flow with id",
        ("DELETE", f"{FLOWS}/x"): "Flow not found",
        ("POST", of("x", "copy")): "Flow not found",
        ("GET", of("x", "executions")): "Flow not found",
        ("PUT", of("x", "executions")): "flow not found",
        ("GET", "authentication/executions/x"): "Illegal execution",
        ("DELETE", "authentication/executions/x"): "Illegal execution",
        ("POST", "authentication/executions/x/raise-priority"): "Illegal execution",
        ("POST", "authentication/executions/x/config"): "Illegal execution",
        ("GET", "authentication/config/x"): "Could not find authenticator config",
        ("PUT", "authentication/config/x"): "Could not find authenticator config",
        ("DELETE", "authentication/config/x"): "Could not find authenticator config",
        ("GET", "authentication/config-description/x"): "Could not find authenticator provider",
    }
    for (method, path), text in nothing.items():
        document = {"newName": "new", "alias": "new"} if "copy" in path else {}
        sent = document if method in {"PUT", "POST"} else None
        assert realm.told(method, path, sent) == (404, text), path


def test_only_name_and_description_of_a_flow_can_change(realm: OwnRealm) -> None:
    flow_id = copied(realm, "direct grant", "mine")
    before = realm.get(f"{FLOWS}/{flow_id}")
    renamed = {**before, "alias": "yours", "description": "another"}
    realm.done("PUT", f"{FLOWS}/{flow_id}", renamed)
    assert realm.get(f"{FLOWS}/{flow_id}") == renamed
    for refused in (
        {**renamed, "alias": ""},
        {**renamed, "alias": "browser"},
        {**renamed, "builtIn": True},
        {**renamed, "providerId": "client-flow"},
        {**renamed, "providerId": None},
        {**renamed, "unknown": 1},
    ):
        assert realm.ask("PUT", f"{FLOWS}/{flow_id}", refused).status_code in {400, 409}
    assert realm.get(f"{FLOWS}/{flow_id}") == renamed
    realm.done("PUT", f"{FLOWS}/{flow_id}", {"alias": "yours", "providerId": "basic-flow"})
    assert "description" not in realm.get(f"{FLOWS}/{flow_id}")
    assert "yours" not in [flow["alias"] for flow in realm.get(FLOWS)]
    realm.done("PUT", f"{FLOWS}/{flow_id}", renamed)


def test_a_flow_becomes_part_of_another_once(realm: OwnRealm) -> None:
    parent = copied(realm, "direct grant", "mine")
    flow = {"alias": "inner", "providerId": "basic-flow"}
    inner, whole = (
        realm.created(FLOWS, flow | other) for other in ({}, {"alias": "whole", "topLevel": True})
    )
    step = {"parentFlow": parent, "requirement": "REQUIRED", "authenticatorFlow": True}
    made = realm.created("authentication/executions", {**step, "flowId": inner, "id": "own-id"})
    assert (made, steps(realm, "mine")[-1]["flowId"]) == ("own-id", inner)
    again = realm.ask("POST", "authentication/executions", {**step, "flowId": inner, "id": made})
    assert again.status_code == 409
    unusable: tuple[dict[str, object], ...] = (
        {**step, "flowId": "nothing"},
        {**step, "flowId": whole},
        {**step, "flowId": inner, "parentFlow": inner},
        {**step, "flowId": inner, "authenticatorFlow": False, "authenticator": "auth-cookie"},
    )
    for each in unusable:
        assert realm.ask("POST", "authentication/executions", each).status_code == 400


def test_users_of_a_renamed_flow_keep_it(realm: OwnRealm) -> None:
    flow = named(realm, "browser")
    realm.done("PUT", f"{FLOWS}/{flow['id']}", {**flow, "alias": "renamed"})
    try:
        assert realm.get("")["browserFlow"] == "renamed"
    finally:
        realm.done("PUT", f"{FLOWS}/{flow['id']}", flow)
    assert realm.get("")["browserFlow"] == "browser"


def test_what_a_realm_is_created_with_keeps_its_steps(realm: OwnRealm) -> None:
    flow, (first, *_) = named(realm, "direct grant"), steps(realm, "direct grant")
    one, grant = f"authentication/executions/{first['id']}", "direct grant"
    illegal = "It is illegal to"
    of_built_in = "a built in flow"
    step = {"authenticator": "direct-grant-validate-otp", "parentFlow": flow["id"]}
    refused = {
        ("DELETE", f"{FLOWS}/{flow['id']}"): "Can't delete built in flow",
        ("DELETE", one): f"{illegal} remove execution from {of_built_in}",
        ("POST", f"{one}/lower-priority"): f"{illegal} modify execution in {of_built_in}",
        ("POST", of(grant, "executions/execution")): f"{illegal} add execution to {of_built_in}",
        ("POST", of(grant, "executions/flow")): f"{illegal} add sub-flow to {of_built_in}",
        ("POST", "authentication/executions"): f"{illegal} add execution to {of_built_in}",
    }
    for (method, path), text in refused.items():
        sent = {"executions": step}.get(path.rsplit("/", 1)[1], {"alias": "x", "provider": "y"})
        assert realm.told(method, path, sent if method == "POST" else None) == (400, text), path
    assert outline(realm, "direct grant")[0] == "Username Validation"


def test_steps_are_added_last_and_disabled(realm: OwnRealm) -> None:
    copied(realm, "direct grant", "mine")
    provider = {"provider": "direct-grant-validate-otp"}
    step = realm.created(of("mine", "executions/execution"), provider)
    part = realm.created(of("mine", "executions/flow"), {"alias": "part", "type": "basic-flow"})
    inner = realm.created(of("part", "executions/execution"), provider)
    found = steps(realm, "mine")
    assert [(each["displayName"], each["requirement"], each["level"]) for each in found[-3:]] == [
        ("OTP", "DISABLED", 0),
        ("part", "DISABLED", 0),
        ("OTP", "DISABLED", 1),
    ]
    assert (found[-3]["id"], found[-2]["flowId"], found[-1]["id"]) == (step, part, inner)
    assert found[-3]["priority"] > found[2]["priority"]
    first = realm.created(of("mine", "executions/execution"), {**provider, "priority": 1})
    assert steps(realm, "mine")[0]["id"] == first
    assert realm.get(f"authentication/executions/{first}") == {
        "authenticator": "direct-grant-validate-otp",
        "authenticatorFlow": False,
        "requirement": "DISABLED",
        "priority": 1,
        "autheticatorFlow": False,
        "id": first,
        "parentFlow": named(realm, "mine")["id"],
    }


def test_a_step_that_cannot_be_disabled_is_required_at_first(realm: OwnRealm) -> None:
    copied(realm, "direct grant", "mine")
    for provider in ("direct-grant-validate-username", "direct-grant-validate-password"):
        realm.created(of("mine", "executions/execution"), {"provider": provider})
    found = [(step["requirementChoices"], step["requirement"]) for step in steps(realm, "mine")]
    assert found[-2:] == [
        (["REQUIRED"], "REQUIRED"),
        (["REQUIRED", "ALTERNATIVE", "DISABLED"], "DISABLED"),
    ]


def test_a_step_is_added_as_it_is_to_be(realm: OwnRealm) -> None:
    flow_id = copied(realm, "direct grant", "mine")
    sent = {"authenticator": "auth-cookie", "requirement": "REQUIRED", "priority": 15}
    step = realm.created("authentication/executions", {**sent, "parentFlow": flow_id})
    found = steps(realm, "mine")[1]
    assert (found["id"], found["requirement"], found["priority"]) == (step, "REQUIRED", 15)


@pytest.mark.parametrize(
    ("path", "document", "status", "text"),
    [
        ("execution", {"provider": "x"}, 400, "No authentication provider found for id: x"),
        ("execution", {}, 400, "No authentication provider found for id: null"),
        ("execution", {"provider": "client-secret"}, 400, None),
        ("execution", {"provider": "registration-page-form"}, 400, None),
        (
            "flow",
            {"alias": "forms", "type": "basic-flow"},
            409,
            "New flow alias name already exists",
        ),
        ("flow", {"type": "basic-flow"}, 409, None),
        ("flow", {"alias": "a?", "type": "basic-flow"}, 400, "Character '?' not allowed."),
    ],
)
def test_what_is_no_step_is_not_added(
    realm: OwnRealm, path: str, document: dict[str, Any], status: int, text: str | None
) -> None:
    copied(realm, "direct grant", "mine")
    before = steps(realm, "mine")
    told = realm.told("POST", of("mine", "executions", path), document)
    assert told == (status, told[1] if text is None else text)
    assert steps(realm, "mine") == before
    missing = realm.told("POST", of("none", "executions", path), {"alias": "x", "provider": "x"})
    assert missing == (400, "Parent flow doesn't exist")


def test_requirement_and_priority_of_a_step_are_changed(realm: OwnRealm) -> None:
    copied(realm, "direct grant", "mine")
    first, second, *_ = steps(realm, "mine")
    path = of("mine", "executions")
    realm.done("PUT", path, {**second, "requirement": "DISABLED", "priority": 3})
    found = steps(realm, "mine")
    assert [(each["displayName"], each["requirement"]) for each in found[:2]] == [
        ("Password", "DISABLED"),
        ("Username Validation", "REQUIRED"),
    ]
    realm.done("PUT", path, {"id": second["id"], "requirement": "ALTERNATIVE"})
    assert [steps(realm, "mine")[0][key] for key in ("requirement", "priority")] == [
        "ALTERNATIVE",
        0,
    ]
    realm.done("PUT", path, {"id": first["id"], "requirement": "CONDITIONAL", "priority": -5})
    assert [steps(realm, "mine")[0][key] for key in ("requirement", "priority")] == [
        "CONDITIONAL",
        -5,
    ]
    for refused, status in (
        ({"id": first["id"], "requirement": "PERHAPS"}, 400),
        ({"id": first["id"], "priority": "first"}, 400),
        ({"id": first["id"], "unknown": 1}, 400),
        ({"requirement": "DISABLED"}, 404),
        ({"id": "x", "requirement": "DISABLED"}, 404),
    ):
        assert realm.ask("PUT", path, refused).status_code == status, refused


def test_a_part_gets_another_name_where_its_step_is_changed(realm: OwnRealm) -> None:
    copied(realm, "direct grant", "mine")
    part = steps(realm, "mine")[2]
    renamed = {**part, "displayName": "codes", "description": "told"}
    realm.done("PUT", of("mine", "executions"), renamed)
    assert steps(realm, "mine")[2] == renamed
    taken = {**part, "displayName": "browser"}
    assert realm.told("PUT", of("mine", "executions"), taken)[0] == 409


def test_steps_change_places(realm: OwnRealm) -> None:
    copied(realm, "clients", "mine")
    before = [step["id"] for step in steps(realm, "mine")]
    move = f"authentication/executions/{before[2]}"
    realm.done("POST", f"{move}/raise-priority")
    order = [before[0], before[2], before[1], *before[3:]]
    assert [step["id"] for step in steps(realm, "mine")] == order
    realm.done("POST", f"{move}/lower-priority")
    assert [step["id"] for step in steps(realm, "mine")] == before
    realm.done("POST", f"authentication/executions/{before[0]}/raise-priority")
    realm.done("POST", f"authentication/executions/{before[-1]}/lower-priority")
    assert [step["id"] for step in steps(realm, "mine")] == before


def test_steps_of_one_priority_change_places_too(realm: OwnRealm) -> None:
    copied(realm, "clients", "mine")
    for step in steps(realm, "mine"):
        realm.done("PUT", of("mine", "executions"), {"id": step["id"], "priority": 7})
    before = [step["id"] for step in steps(realm, "mine")]
    realm.done("POST", f"authentication/executions/{before[1]}/raise-priority")
    after = steps(realm, "mine")
    assert [step["id"] for step in after] == [before[1], before[0], *before[2:]]
    assert [step["priority"] for step in after] == list(range(7, 7 + len(before)))


def test_a_removed_step_takes_its_parts_and_settings(realm: OwnRealm) -> None:
    copied(realm, "first broker login", "mine")
    found = steps(realm, "mine")
    realm.done("DELETE", f"authentication/executions/{found[1]['id']}")
    assert outline(realm, "mine") == [
        "Review Profile",
        "mine First Broker Login - Conditional Organization",
        "-Condition - user configured",
        "-Organization Member Onboard",
    ]
    assert realm.told("GET", of("mine Handle Existing Account", "executions"))[0] == 404
    config = f"authentication/config/{found[2]['authenticationConfig']}"
    assert realm.told("GET", config)[0] == 404
    part = found[-3]["flowId"]
    assert realm.told("DELETE", f"{FLOWS}/{part}")[0] == 400


def test_a_step_is_configured_with_what_means_something_to_it(realm: OwnRealm) -> None:
    copied(realm, "first broker login", "mine")
    step = steps(realm, "mine")[2]
    path = f"authentication/executions/{step['id']}/config"
    setting = "require.password.update.after.registration"
    config = realm.created(path, {"alias": "set", "config": {setting: "true"}})
    shown = {"id": config, "alias": "set", "config": {setting: "true"}}
    assert realm.get(f"authentication/config/{config}") == shown
    assert realm.get(f"{path}/{config}") == shown
    assert [steps(realm, "mine")[2][key] for key in ("alias", "authenticationConfig")] == [
        "set",
        config,
    ]
    realm.done("PUT", f"authentication/config/{config}", {"alias": "other", "config": {}})
    assert realm.get(f"authentication/config/{config}") == {**shown, "alias": "other", "config": {}}
    for refused, status in (
        ({"alias": "x", "config": []}, 400),
        ({"alias": "x", "unknown": 1}, 400),
        ({"config": {setting: "true"}}, 409),
    ):
        assert realm.ask("POST", path, refused).status_code == status, refused
    realm.done("DELETE", f"authentication/config/{config}")
    assert "authenticationConfig" not in steps(realm, "mine")[2]
    assert realm.told("GET", f"authentication/config/{config}")[0] == 404


def test_a_shared_sub_flow_is_removed_with_the_last_flow(realm: OwnRealm) -> None:
    shared_part = _flow(
        "shared", _step("deny-access-authenticator", "REQUIRED", 1), top_level=False
    )
    flows = [_flow(name, _part("shared", "REQUIRED", 1)) for name in ("first", "second")]
    file = [{**flow, "builtIn": False} for flow in (shared_part, *flows)]
    made = realm.ask(
        "POST", "/admin/realms", {"realm": "sharing", "enabled": True, "authenticationFlows": file}
    )
    assert made.status_code == 201, made.text
    realm.administration.tokens.pop(("root", "master"), None)
    try:
        sharing = OwnRealm(realm.administration, "sharing")
        assert outline(sharing, "first") == outline(sharing, "second")
        step = steps(sharing, "first")[0]
        sharing.done("DELETE", f"authentication/executions/{step['id']}")
        assert outline(sharing, "second") == ["shared", "-Deny access"]
        sharing.done("DELETE", f"{FLOWS}/{named(sharing, 'second')['id']}")
        assert sharing.told("GET", of("shared", "executions"))[0] == 404
    finally:
        realm.done("DELETE", "/admin/realms/sharing")


def test_the_flow_of_saml_clients_is_there_and_not_listed(realm: OwnRealm) -> None:
    assert "saml ecp" not in {flow["alias"] for flow in realm.get(FLOWS)}
    assert outline(realm, "saml ecp") == ["HTTP Basic Authentication"]


OLD_LINKING = "first broker login - Alternatives - 0"
OLD_CODES = "direct grant - direct-grant-validate-otp - Conditional"


def _step(authenticator: str, requirement: str, priority: int) -> dict[str, Any]:
    return {"authenticator": authenticator, "requirement": requirement, "priority": priority}


def _part(alias: str, requirement: str, priority: int) -> dict[str, Any]:
    return {"flowAlias": alias, "requirement": requirement, "priority": priority}


def _flow(alias: str, *steps: dict[str, Any], top_level: bool = True) -> dict[str, Any]:
    return {
        "alias": alias,
        "providerId": "basic-flow",
        "topLevel": top_level,
        "builtIn": True,
        "authenticationExecutions": list(steps),
    }


OLD_FILE = [
    _flow("Handle Existing Account", _step("idp-confirm-link", "REQUIRED", 10), top_level=False),
    _flow(
        OLD_LINKING,
        _step("idp-create-user-if-unique", "ALTERNATIVE", 10),
        _part("Handle Existing Account", "ALTERNATIVE", 20),
        top_level=False,
    ),
    _flow("first broker login", _part(OLD_LINKING, "REQUIRED", 20)),
    _flow(
        OLD_CODES,
        _step("conditional-user-configured", "REQUIRED", 10),
        _step("direct-grant-validate-otp", "REQUIRED", 20),
        top_level=False,
    ),
    _flow(
        "direct grant",
        _step("direct-grant-validate-username", "REQUIRED", 10),
        _step("direct-grant-validate-password", "REQUIRED", 20),
        _part(OLD_CODES, "CONDITIONAL", 30),
    ),
]
"""Flows with the names of Keycloak before version 24."""


def test_a_file_with_old_flow_names_creates_a_realm(realm: OwnRealm) -> None:
    actions = [{"alias": "VERIFY_EMAIL", "providerId": "VERIFY_EMAIL", "enabled": True}]
    sent = {"authenticationFlows": OLD_FILE, "requiredActions": actions}
    made = realm.ask("POST", "/admin/realms", {"realm": "old-names", "enabled": True, **sent})
    assert made.status_code == 201, made.text
    realm.administration.tokens.pop(("root", "master"), None)
    try:
        old = OwnRealm(realm.administration, "old-names")
        assert outline(old, "first broker login") == [
            *(OLD_LINKING, "-Create User If Unique", "-Handle Existing Account"),
            "--Confirm link existing account",
        ]
        assert outline(old, "direct grant")[2] == OLD_CODES
        missing = (404, "Flow not found")
        assert old.told("GET", of("User creation or linking", "executions")) == missing
        found = old.get("authentication/required-actions")
        assert [action["alias"] for action in found] == ["VERIFY_EMAIL", "delete_account"]
    finally:
        realm.done("DELETE", "/admin/realms/old-names")


def test_unknown_authenticator_properties_are_kept_and_masked(realm: OwnRealm) -> None:
    copied(realm, "first broker login", "mine")
    step = steps(realm, "mine")[2]
    setting = "require.password.update.after.registration"
    sent = {"alias": "set", "config": {setting: "true", "my.own": "word", "empty": ""}}
    config = realm.created(f"authentication/executions/{step['id']}/config", sent)
    path = f"authentication/config/{config}"
    shown = {"id": config, "alias": "set", "config": {setting: "true", "my.own": "**********"}}
    assert realm.get(path) == shown
    realm.done("PUT", path, shown)
    exported = realm.done("POST", "partial-export").json()["authenticatorConfig"]
    assert [each for each in exported if each["id"] == config] == [shown]
    realm.done("PUT", path, {"config": {"my.own": "**********"}})
    assert realm.get(path) == {"id": config, "config": {"my.own": "**********"}}
    realm.done("DELETE", path)


def test_a_configuration_may_be_made_before_an_execution_has_it(realm: OwnRealm) -> None:
    sent = {"alias": "alone", "config": {"defaultProvider": "one", "other": "two"}}
    path = f"authentication/config/{realm.created('authentication/config', sent)}"
    assert realm.get(path) == {"id": path.rsplit("/", 1)[1], **sent}
    realm.done("PUT", path, {"alias": "alone", "config": {"defaultProvider": "three"}})
    assert realm.get(path)["config"] == {"defaultProvider": "three"}
    taken = "Authentication execution configuration alone already exists"
    assert realm.told("POST", "authentication/config", sent) == (409, taken)
    for refused, status in (({}, 409), ({"alias": "a?"}, 400), ({"alias": "b", "x": 1}, 400)):
        assert realm.ask("POST", "authentication/config", refused).status_code == status
    realm.done("DELETE", path)
    assert realm.told("GET", path)[0] == 404


def test_the_configurations_of_a_realm_are_limited(realm: OwnRealm) -> None:
    sent = {"config": {f"property-{number}": "x" * 4000 for number in range(70)}}
    status, text = realm.told("POST", "authentication/config", {"alias": "large", **sent})
    assert (status, text.startswith("The configurations of a realm have at most")) == (400, True)


@pytest.mark.parametrize("name", ["attribute_expected_value", "x509-cert-auth.regular-expression"])
def test_patterns_of_a_realm_are_bounded_as_each_load_compiles(realm: OwnRealm, name: str) -> None:
    made = []
    for number in range(9):
        pattern = f"{number}" + "(a|b)" * 750
        sent = {"alias": f"pattern {number}", "config": {name: pattern}}
        answer = realm.ask("POST", "authentication/config", sent)
        if answer.status_code != 201:
            break
        made.append(answer.headers["location"].rsplit("/", 1)[1])
    for config_id in made:
        realm.done("DELETE", f"authentication/config/{config_id}")
    text = "The configurations of a realm have at most 32768 characters in patterns"
    assert (len(made), answer.status_code) == (8, 400)
    assert text in answer.text


def test_a_flow_posted_with_executions_is_made_without_them(realm: OwnRealm) -> None:
    sent = {
        "alias": "mine",
        "providerId": "basic-flow",
        "topLevel": True,
        "authenticationExecutions": [{"authenticator": "auth-cookie", "requirement": "REQUIRED"}],
    }
    flow_id = realm.created(FLOWS, sent)
    assert realm.get(f"{FLOWS}/{flow_id}")["authenticationExecutions"] == []
    assert steps(realm, "mine") == []


def test_a_flow_that_is_not_of_the_top_level_is_not_listed(realm: OwnRealm) -> None:
    flow_id = realm.created(FLOWS, {"alias": "low", "providerId": "basic-flow"})
    assert "low" not in {flow["alias"] for flow in realm.get(FLOWS)}
    assert realm.get(f"{FLOWS}/{flow_id}")["topLevel"] is False
    realm.done("DELETE", f"{FLOWS}/{flow_id}")


@pytest.mark.parametrize(
    ("sent", "choices"),
    [
        ({"type": "basic-flow"}, ["REQUIRED", "ALTERNATIVE", "DISABLED", "CONDITIONAL"]),
        ({"type": "something"}, ["REQUIRED", "ALTERNATIVE", "DISABLED", "CONDITIONAL"]),
        ({"type": "client-flow"}, ["REQUIRED", "ALTERNATIVE", "DISABLED"]),
        ({"type": "form-flow"}, ["REQUIRED", "DISABLED"]),
        ({"type": "form-flow", "provider": "registration-page-form"}, ["REQUIRED", "DISABLED"]),
    ],
)
def test_a_sub_flow_is_of_any_kind_and_may_be_disabled(
    realm: OwnRealm, sent: dict[str, str], choices: list[str]
) -> None:
    copied(realm, "registration", "mine")
    form = steps(realm, "mine")[0]
    realm.created(of(form["displayName"], "executions/flow"), {"alias": "inner", **sent})
    part = next(step for step in steps(realm, "mine") if step["displayName"] == "inner")
    assert (part["requirement"], part["requirementChoices"]) == ("DISABLED", choices)
    assert part["description"] == ""
    assert part.get("providerId") == sent.get("provider")
    for requirement in ("REQUIRED", "DISABLED"):
        realm.done("PUT", of("mine", "executions"), {**part, "requirement": requirement})
    realm.done("PUT", of("mine", "executions"), {**form, "requirement": "DISABLED"})
    assert steps(realm, "mine")[0]["requirement"] == "DISABLED"


def test_every_authenticator_is_added_and_described(realm: OwnRealm) -> None:
    realm.created(FLOWS, {"alias": "mine", "providerId": "basic-flow", "topLevel": True})
    listed = {each["id"]: each for each in realm.get("authentication/authenticator-providers")}
    assert set(ADDED_IN_ANY_FLOW) <= set(listed)
    for name in listed:
        realm.created(of("mine", "executions/execution"), {"provider": name})
        described = realm.get(f"authentication/config-description/{name}")
        assert described["name"] == listed[name]["displayName"]
    for step in steps(realm, "mine"):
        assert step["requirement"] == (
            "DISABLED" if "DISABLED" in step["requirementChoices"] else "REQUIRED"
        )
    configurable = {step["providerId"] for step in steps(realm, "mine") if step["configurable"]}
    assert {"user-session-limits", "conditional-user-role"} <= configurable
    assert "auth-cookie" not in configurable


ADDED_IN_ANY_FLOW = (
    *("conditional-client-scope", "idp-confirm-override-link"),
    *("direct-grant-auth-x509-username", "auth-password-form", "allow-access-authenticator"),
    *("idp-auto-link", "auth-x509-client-username-form", "conditional-sub-flow-executed"),
    *("conditional-user-role", "deny-access-authenticator"),
    *("webauthn-authenticator-passwordless", "auth-conditional-otp-form"),
    *("user-session-limits", "conditional-user-attribute", "auth-username-form"),
    *("idp-detect-existing-broker-user", "http-basic-authenticator"),
    *("conditional-level-of-authentication",),
)
"""Those that no flow of a new realm contains."""

PAGES = sorted(set(TOP) - {"direct grant", "clients"})


@pytest.mark.parametrize("alias", PAGES)
def test_flows_of_pages_are_changed_while_they_are_in_use(realm: OwnRealm, alias: str) -> None:
    step = steps(realm, alias)[0]
    realm.done("PUT", of(alias, "executions"), {**step, "priority": 99})
    assert next(one for one in steps(realm, alias) if one["id"] == step["id"])["priority"] == 99
    realm.done("PUT", of(alias, "executions"), step)
    assert steps(realm, alias)[0] == step


def test_a_copied_browser_flow_may_change_and_not_be_used(realm: OwnRealm) -> None:
    copied(realm, "browser", "mine")
    step = steps(realm, "mine")[1]
    realm.done("PUT", of("mine", "executions"), {**step, "requirement": "ALTERNATIVE"})
    assert steps(realm, "mine")[1]["requirement"] == "ALTERNATIVE"


def test_what_a_flow_may_consist_of_is_told(realm: OwnRealm) -> None:
    lists = {
        "authenticator-providers": "direct-grant-validate-password",
        "client-authenticator-providers": "client-x509",
        "form-providers": "registration-page-form",
        "form-action-providers": "registration-user-creation",
    }
    for name, known in lists.items():
        found = {each["id"]: each for each in realm.get(f"authentication/{name}")}
        assert found[known]["displayName"]
        assert found[known]["description"]
    secret = {
        each["id"]: each["supportsSecret"]
        for each in realm.get("authentication/client-authenticator-providers")
    }
    assert secret == {
        "client-secret": True,
        "client-secret-jwt": True,
        "client-jwt": False,
        "client-x509": False,
        "federated-jwt": False,
    }
    described = realm.get("authentication/config-description/idp-review-profile")
    assert described["name"] == "Review Profile"
    assert [each["name"] for each in described["properties"]] == ["update.profile.on.first.login"]
    assert set(realm.get("authentication/per-client-config-description")) == set(secret)


def test_who_knew_another_state_of_a_flow_changes_nothing(realm: OwnRealm) -> None:
    flow_id = copied(realm, "direct grant", "mine")
    known = realm.ask("GET", f"{FLOWS}/{flow_id}").headers["etag"]
    renamed = {"alias": "yours", "providerId": "basic-flow"}
    for method, document in (("PUT", renamed), ("DELETE", None)):
        stale = realm.ask(method, f"{FLOWS}/{flow_id}", document, headers={"If-Match": '"other"'})
        assert stale.status_code == 412
    response = realm.ask("PUT", f"{FLOWS}/{flow_id}", renamed, headers={"If-Match": known})
    assert response.status_code == 204
