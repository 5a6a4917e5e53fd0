"""Flows, their settings, required actions and texts of a realm file, and of an export."""

import copy
import json
from typing import Any

import pytest

from gateway.domain.flows import (
    CODE,
    DEFAULT_ACTIONS,
    PASSWORD,
    STANDARD_GRANT,
    USERNAME,
    FlowStep,
    default_configs,
    default_flows,
)
from gateway.domain.flows.flows import Flows
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.lookups import StoredRealm
from gateway.domain.ports.storage import DocumentKind
from gateway.representations.realms.sign_in import render_sign_in
from tests.support.password_logins import ALWAYS_CODE, NEVER_CODE
from tests.support.realm_imports import Imports
from tests.support.realm_texts import export_realm

ACME: dict[str, Any] = {"realm": "acme", "defaultSignatureAlgorithm": "ES256"}
STRICT_ID = "5b4c2d50-7c39-4d3a-9f5d-6a4b1d3f5e10"
STRICT: dict[str, Any] = {
    "id": STRICT_ID,
    "alias": "strict",
    "description": "A code of everybody",
    "providerId": "basic-flow",
    "topLevel": True,
    "builtIn": False,
    "authenticationExecutions": [
        {"authenticator": USERNAME, "requirement": "REQUIRED", "priority": 10},
        {"authenticator": PASSWORD, "requirement": "REQUIRED", "priority": 20},
        {"authenticator": CODE, "requirement": "REQUIRED", "priority": 30},
    ],
}
INNER: dict[str, Any] = {
    "alias": "inner",
    "topLevel": False,
    "authenticationExecutions": [
        {"authenticator": "conditional-user-configured", "requirement": "REQUIRED"},
        {"authenticator": CODE, "requirement": "DISABLED", "priority": 1},
    ],
}
KINDS = (
    DocumentKind.AUTHENTICATION_FLOW,
    DocumentKind.AUTHENTICATOR_CONFIG,
    DocumentKind.REQUIRED_ACTION,
)
ACTION = {"alias": "UPDATE_PASSWORD", "name": "New one", "enabled": False, "priority": 3}


def file(*flows: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Return a realm file with flows."""
    return copy.deepcopy({**ACME, "authenticationFlows": list(flows), **settings})


def with_steps(*steps: dict[str, Any], **of_flow: Any) -> dict[str, Any]:
    """Return the strict flow with other steps."""
    return {**STRICT, "authenticationExecutions": list(steps), **of_flow}


async def stored(imports: Imports) -> StoredRealm:
    found = await imports.database.lookups.realm("acme")
    assert found is not None
    return found.value


async def bound(imports: Imports) -> tuple[FlowStep, ...] | None:
    """Return the steps of the password grant; None where its flow is unusable."""
    flow = (await stored(imports)).sign_in.direct_grant
    return None if flow is None else flow.steps


async def documents(imports: Imports, kind: DocumentKind) -> dict[str, Any]:
    async with imports.database.read() as stores:
        return dict(await stores.documents.list_documents("acme", kind))


async def exported(imports: Imports) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(await export_realm(imports.database, "acme"))
    return document


async def refused(imports: Imports, document: dict[str, Any]) -> list[str]:
    return [path.removeprefix("0.json: ") for path in await imports.refused(document)]


async def flow_of(imports: Imports, alias: str) -> dict[str, Any]:
    flows = (await exported(imports))["authenticationFlows"]
    (found,) = [flow for flow in flows if flow["alias"] == alias]
    return dict(found)


async def test_an_imported_and_bound_flow_is_in_force(
    imports_everywhere: Imports,
) -> None:
    imports = imports_everywhere
    await imports.run(file(STRICT, directGrantFlow="strict"))
    assert await bound(imports) == ALWAYS_CODE.steps
    weaker = with_steps(*STRICT["authenticationExecutions"][:2])
    imports.messages.topics.clear()
    await imports.run(file(weaker))
    assert await bound(imports) == NEVER_CODE.steps
    assert imports.messages.topics == [realm_topic("acme")]
    await imports.run(file(weaker))
    assert imports.messages.topics == [realm_topic("acme")]


async def test_clients_of_a_new_realm_name_flows_by_ids_of_the_file(
    imports: Imports,
) -> None:
    own = {"authenticationFlowBindingOverrides": {"direct_grant": STRICT_ID}}
    await imports.run(file(STRICT, clients=[{"clientId": "vault", **own}]))
    client = await imports.client("vault")
    flow = (await stored(imports)).sign_in.direct_grant_flow(client.flow_overrides)
    assert flow is not None
    assert flow.steps == ALWAYS_CODE.steps


async def test_a_known_flow_keeps_its_id_and_those_of_its_steps(
    imports: Imports,
) -> None:
    await imports.run(ACME)
    await imports.run(file({**STRICT, "id": None}))
    (first,) = (await documents(imports, DocumentKind.AUTHENTICATION_FLOW)).items()
    await imports.run(file({**STRICT, "description": "Another"}))
    (second,) = (await documents(imports, DocumentKind.AUTHENTICATION_FLOW)).items()
    assert second == (first[0], {**first[1], "description": "Another"})


async def test_a_standard_flow_of_a_file_takes_the_place_of_the_realms(imports: Imports) -> None:
    grant = {**with_steps(*STRICT["authenticationExecutions"]), "alias": "direct grant"}
    await imports.run(file({**grant, "builtIn": True}))
    flows = (await exported(imports))["authenticationFlows"]
    assert [flow["id"] for flow in flows if flow["alias"] == "direct grant"] == [STRICT_ID]
    assert await bound(imports) == ALWAYS_CODE.steps
    # Its sub-flow is gone: no flow contains it any more.
    assert [flow["alias"] for flow in flows] == [
        flow.alias
        for flow in default_flows("acme").values()
        if flow.alias != "Direct Grant - Conditional OTP"
    ]


async def test_a_sub_flow_with_the_files_id_stays_in_its_flow(
    imports: Imports,
) -> None:
    part = {**INNER, "id": "inner-id", "alias": "Direct Grant - Conditional OTP", "builtIn": True}
    await imports.run(file(part))
    assert await bound(imports) == NEVER_CODE.steps


async def test_flows_of_a_file_name_each_other_and_their_settings(imports: Imports) -> None:
    outer = with_steps(
        *STRICT["authenticationExecutions"][:2],
        {"flowAlias": "inner", "requirement": "CONDITIONAL", "priority": 30},
    )
    inner = copy.deepcopy(INNER)
    inner["authenticationExecutions"][1]["authenticatorConfig"] = "reference"
    config = {"id": "c-1", "alias": "reference", "config": {"credentials": "otp"}}
    await imports.run(file(outer, inner, authenticatorConfig=[config], directGrantFlow="strict"))
    assert await bound(imports) == NEVER_CODE.steps
    assert (await flow_of(imports, "strict"))["authenticationExecutions"][2] == {
        "flowAlias": "inner",
        "requirement": "CONDITIONAL",
        "priority": 30,
        "autheticatorFlow": True,
        "authenticatorFlow": True,
        "userSetupAllowed": False,
    }
    step = (await flow_of(imports, "inner"))["authenticationExecutions"][1]
    assert step["authenticatorConfig"] == "reference"
    # It is no property of that step, so it may be a secret.
    masked = {**config, "config": {"credentials": "**********"}}
    assert masked in (await exported(imports))["authenticatorConfig"]


async def test_the_defaults_of_a_realm_put_into_another_change_nothing(imports: Imports) -> None:
    written = render_sign_in(
        Flows(tuple(default_flows("other").values())), default_configs("other"), DEFAULT_ACTIONS
    )
    await imports.run({**ACME, **written})
    found = await exported(imports)
    assert [without_ids(each) for each in found["authenticationFlows"]] == [
        without_ids(each) for each in written["authenticationFlows"]
    ]
    assert {each["alias"]: each["config"] for each in found["authenticatorConfig"]} == {
        each["alias"]: each["config"] for each in written["authenticatorConfig"]
    }
    assert await bound(imports) == STANDARD_GRANT.steps


def without_ids(flow: dict[str, Any]) -> dict[str, Any]:
    return {**flow, "id": None}


async def test_a_reimported_export_changes_nothing_or_recreates_all(
    imports_everywhere: Imports,
) -> None:
    imports = imports_everywhere
    await imports.run(ACME)
    assert not {"authenticationFlows", "localizationTexts"} & set(await exported(imports))
    texts = {"localizationTexts": {"de": {"hello": "Hallo"}}}
    await imports.run(file(STRICT, INNER, requiredActions=[ACTION], **texts))
    before = await exported(imports)
    assert before["localizationTexts"] == texts["localizationTexts"]
    rows = [await documents(imports, kind) for kind in KINDS]
    await imports.run(before)
    assert [await documents(imports, kind) for kind in KINDS] == rows
    assert await exported(imports) == before
    async with imports.database.write() as stores:
        await stores.realms.remove_realm("acme")
    await imports.run(before)
    again = await exported(imports)
    for name in ("authenticationFlows", "authenticatorConfig", "requiredActions", *texts):
        assert again[name] == before[name], name


async def test_actions_of_a_file_are_changed_and_the_others_left(
    imports_everywhere: Imports,
) -> None:
    imports = imports_everywhere
    maximum = {"max_auth_age": "60", "other": "x"}
    again = {**ACTION, "defaultAction": True, "config": maximum}
    await imports.run(ACME)
    await imports.run({**ACME, "requiredActions": [again]})
    (action,) = (await documents(imports, DocumentKind.REQUIRED_ACTION)).values()
    assert (action["name"], action["priority"]) == ("New one", 3)
    assert action["config"] == maximum
    assert "UPDATE_PASSWORD" in (await stored(imports)).sign_in.off
    imports.messages.topics.clear()
    await imports.run({**ACME, "requiredActions": [again]})
    assert imports.messages.topics == []
    assert len((await exported(imports))["requiredActions"]) == len(DEFAULT_ACTIONS)


async def test_actions_of_the_file_of_a_new_realm_replace_the_defaults(imports: Imports) -> None:
    await imports.run({**ACME, "requiredActions": [ACTION]})
    actions = (await exported(imports))["requiredActions"]
    assert [action["alias"] for action in actions] == ["UPDATE_PASSWORD", "delete_account"]
    assert {"VERIFY_EMAIL", "VERIFY_PROFILE"} <= (await stored(imports)).sign_in.off


async def test_a_file_without_actions_leaves_the_defaults(imports: Imports) -> None:
    await imports.run(file(STRICT))
    assert len((await exported(imports))["requiredActions"]) == len(DEFAULT_ACTIONS)


async def test_secrets_and_unknown_actions_are_reported_and_not_kept(imports: Imports) -> None:
    await imports.run(ACME)
    (done,) = await imports.run(
        file(
            STRICT,
            authenticatorConfig=[
                {"alias": "captcha", "config": {"secret.key": "canary", "site.key": "s"}}
            ],
            requiredActions=[{"alias": "sing", "providerId": "sing"}],
        )
    )
    assert done.not_imported == (
        "authenticatorConfig.config.secret.key",
        "requiredActions.sing",
    )
    assert "canary" not in json.dumps(await documents(imports, DocumentKind.AUTHENTICATOR_CONFIG))
    assert await documents(imports, DocumentKind.REQUIRED_ACTION) == {}


async def test_texts_of_a_file_are_added_to_those_of_the_realm(imports: Imports) -> None:
    await imports.run({**ACME, "localizationTexts": {"de": {"a": "1", "b": "2"}, "fr": {"a": "3"}}})
    await imports.run({**ACME, "localizationTexts": {"de": {"b": "4"}}})
    assert await documents(imports, DocumentKind.LOCALIZATION) == {
        "de": {"a": "1", "b": "4"},
        "fr": {"a": "3"},
    }


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"authenticationFlows": {}}, "authenticationFlows"),
    ({"authenticationFlows": [3]}, "authenticationFlows[0]"),
    ({"authenticationFlows": [{"topLevel": True}]}, "authenticationFlows[0].alias"),
    ({"authenticationFlows": [{**STRICT, "providerId": "x"}]}, "authenticationFlows[0].providerId"),
    ({"authenticationFlows": [{**STRICT, "id": "a/b"}]}, "authenticationFlows[0].id"),
    (
        {"authenticationFlows": [with_steps({"requirement": "REQUIRED"})]},
        "authenticationFlows[0].authenticationExecutions[0]",
    ),
    (
        {"authenticationFlows": [with_steps({"authenticator": "a", "requirement": "PERHAPS"})]},
        "authenticationFlows[0].authenticationExecutions[0].requirement",
    ),
    ({"authenticationFlows": [with_steps({"flowAlias": "nowhere"})]}, "authenticationFlows[0]"),
    ({"authenticationFlows": [with_steps({"flowAlias": "strict"})]}, "authenticationFlows"),
    ({"authenticatorConfig": [{"config": {}}]}, "authenticatorConfig[0].alias"),
    (
        {"authenticatorConfig": [{"alias": "a", "config": {"b": [1]}}]},
        "authenticatorConfig[0].config.b",
    ),
    ({"requiredActions": [{"enabled": True}]}, "requiredActions[0].alias"),
    (
        {"requiredActions": [{"alias": "UPDATE_EMAIL", "enabled": "perhaps"}]},
        "requiredActions[0].enabled",
    ),
    ({"localizationTexts": {"no language": {}}}, "localizationTexts.no language"),
    ({"localizationTexts": {"de": {"a": []}}}, "localizationTexts.de.a"),
    ({"directGrantFlow": "nowhere"}, "directGrantFlow"),
    ({"browserFlow": "nowhere"}, "browserFlow"),
    ({"clientAuthenticationFlow": "nowhere"}, "clientAuthenticationFlow"),
]


@pytest.mark.parametrize(("given", "path"), WRONG, ids=[path for _, path in WRONG])
async def test_what_is_wrong_refuses_the_file(
    imports: Imports, given: dict[str, Any], path: str
) -> None:
    assert await refused(imports, file() | copy.deepcopy(given)) == [path]
    await imports.run(ACME)
    before = await exported(imports)
    assert await refused(imports, {**ACME, **copy.deepcopy(given)}) == [path]
    assert await exported(imports) == before


async def test_a_flow_that_a_file_names_twice_has_the_steps_of_both(imports: Imports) -> None:
    first = with_steps(*STRICT["authenticationExecutions"][:2])
    second = with_steps(STRICT["authenticationExecutions"][2], id=None)
    await imports.run(file(first, second, directGrantFlow="strict"))
    assert await bound(imports) == ALWAYS_CODE.steps
    before = await documents(imports, DocumentKind.AUTHENTICATION_FLOW)
    await imports.run(file(first, second))
    assert await documents(imports, DocumentKind.AUTHENTICATION_FLOW) == before


async def test_two_flows_may_contain_the_same_sub_flow(imports: Imports) -> None:
    both = [
        with_steps(
            *STRICT["authenticationExecutions"][:2],
            {"flowAlias": "inner", "requirement": "CONDITIONAL", "priority": 30},
            alias=alias,
            id=None,
        )
        for alias in ("strict", "second")
    ]
    await imports.run(file(INNER, *both, directGrantFlow="second"))
    assert await bound(imports) == NEVER_CODE.steps
    inner = copy.deepcopy(INNER)
    inner["authenticationExecutions"][1]["requirement"] = "REQUIRED"
    await imports.run(file(inner))
    found = await bound(imports)
    assert found is not None
    inner_flow = found[-1].flow
    assert inner_flow is not None
    assert [step.authenticator for step in inner_flow.steps] == [CODE]


@pytest.mark.parametrize("alias", ["browser", "clients"])
async def test_an_imported_flow_of_pages_is_no_password_grant(imports: Imports, alias: str) -> None:
    await imports.run({**ACME, "directGrantFlow": alias})
    assert (await exported(imports))["directGrantFlow"] == alias
    assert await bound(imports) is None


async def test_an_imported_flow_for_users_authenticates_no_client(
    imports: Imports,
) -> None:
    await imports.run({**ACME, "clientAuthenticationFlow": "browser"})
    assert (await stored(imports)).sign_in.client_methods == frozenset()


async def test_a_bound_flow_without_effect_signs_in_no_user(
    imports: Imports,
) -> None:
    await imports.run(file(STRICT, directGrantFlow="strict"))
    for step in (
        {"authenticator": PASSWORD, "requirement": "REQUIRED"},
        {"authenticator": USERNAME},
    ):
        await imports.run(file(with_steps(step)))
        assert await bound(imports) is None
    await imports.run(file(STRICT))
    assert await bound(imports) == ALWAYS_CODE.steps


@pytest.mark.parametrize("binding", ["direct_grant", "browser"])
async def test_a_client_has_no_flow_of_its_own_that_does_not_exist(
    imports: Imports, binding: str
) -> None:
    client = {"clientId": "vault", "authenticationFlowBindingOverrides": {binding: "nowhere"}}
    path = f"clients.vault.authenticationFlowBindingOverrides.{binding}"
    assert await refused(imports, {**ACME, "clients": [client]}) == [path]


async def test_a_clients_own_flow_without_effect_signs_in_no_user(
    imports: Imports,
) -> None:
    browser = next(flow for flow in default_flows("acme").values() if flow.alias == "browser")
    own = {"authenticationFlowBindingOverrides": {"direct_grant": browser.id}}
    await imports.run({**ACME, "clients": [{"clientId": "vault", **own}]})
    client = await imports.client("vault")
    assert (await stored(imports)).sign_in.direct_grant_flow(client.flow_overrides) is None


async def test_a_flow_of_too_many_executions_is_refused(imports: Imports) -> None:
    """Each of four sub-flows is contained ten times in the one before it."""
    names = [f"level {level}" for level in range(4)]
    steps: list[dict[str, Any]] = [{"authenticator": "deny-access-authenticator"}]
    parts = []
    for name in reversed(names):
        parts.append({"alias": name, "topLevel": False, "authenticationExecutions": steps})
        steps = [{"flowAlias": name, "requirement": "REQUIRED"} for _ in range(10)]
    outer = with_steps(*STRICT["authenticationExecutions"], *steps)
    assert await refused(imports, file(outer, *parts)) == ["authenticationFlows"]
    few = with_steps(*STRICT["authenticationExecutions"], steps[0], steps[0])
    parts[-1]["authenticationExecutions"] = []
    await imports.run(file(few, parts[-1]))
