"""What a flow of the password grant asks for after the password. Keycloak: 7.4, measured."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import quote

import pyotp
import pytest

from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.deadline import eventually
from tests.support.logout_receiver import logout_receiver
from tests.support.own_realm import CLIENT, OwnRealm, own_realm
from tests.support.wire import DEVICE, DEVICE_KEY, claims_of

FLOWS = "authentication/flows"
USERNAME, PASSWORD_STEP = "direct-grant-validate-username", "direct-grant-validate-password"
CODE, ALLOW, DENY = (
    "direct-grant-validate-otp",
    "allow-access-authenticator",
    "deny-access-authenticator",
)
LIMITS = "user-session-limits"
CONFIGURED, ROLE = "conditional-user-configured", "conditional-user-role"
ATTRIBUTE, SCOPE = "conditional-user-attribute", "conditional-client-scope"
EXECUTED, USED = "conditional-sub-flow-executed", "conditional-credential"
RIGHT, WRONG = (200, ""), (400, "Invalid user credentials")
DENIED, NOT_SET_UP = (401, "Access denied"), (400, "Account is not fully set up")
NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Step:
    """A step to be made: an authenticator, or a sub-flow of `steps`."""

    provider: str = ""
    requirement: str = "REQUIRED"
    config: dict[str, str] | None = None
    steps: tuple["Step", ...] = ()
    alias: str = field(default_factory=lambda: f"part {next(NUMBERS)}")


def sub_flow(requirement: str, *steps: Step, alias: str = "") -> Step:
    """Return a step that is a sub-flow."""
    made = Step(requirement=requirement, steps=steps)
    return Step("", requirement, None, steps, alias or made.alias)


def denied_if(condition: str, **config: str) -> Step:
    """Return a sub-flow that denies access where the condition matches."""
    return sub_flow("CONDITIONAL", Step(condition, config=config), Step(DENY))


def _user(username: str, *more: dict[str, Any], **fields: Any) -> dict[str, Any]:
    credentials = [{"type": "password", "value": PASSWORD}, *more]
    return {"username": username, "enabled": True, "credentials": credentials, **fields}


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    return own_realm(
        administration,
        tmp_path_factory.mktemp("granting"),
        "granting",
        otpPolicyCodeReusable=True,
        roles={
            "realm": [
                {"name": "boss"},
                {"name": "chief", "composite": True, "composites": {"realm": ["boss"]}},
            ],
            "client": {CLIENT: [{"name": "a.b"}]},
        },
        groups=[{"name": "reds", "attributes": {"team": ["red"]}, "realmRoles": ["boss"]}],
        users=[
            _user("plain", email="plain@granting.test"),
            _user("coded", DEVICE),
            _user("boss", realmRoles=["boss"]),
            _user("chief", realmRoles=["chief"]),
            _user("grouped", groups=["/reds"]),
            _user("holder", clientRoles={CLIENT: ["a.b"]}),
            _user("red", attributes={"team": ["blue", "red"]}),
            _user("long", attributes={"team": ["r" * 1100]}),
        ],
    )


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and take away the flows that a test has made."""
    yield shared
    shared.done("PUT", "", {"directGrantFlow": "direct grant"})
    shared.done("POST", "logout-all")
    for flow in shared.get(FLOWS):
        if not flow["builtIn"]:
            shared.done("DELETE", f"{FLOWS}/{flow['id']}")


def made(realm: OwnRealm, *steps: Step) -> str:
    """Make a flow of user name, password and these steps; return its alias."""
    alias = f"flow {next(NUMBERS)}"
    realm.created(FLOWS, {"alias": alias, "providerId": "basic-flow", "topLevel": True})
    _fill(realm, alias, alias, (Step(USERNAME), Step(PASSWORD_STEP), *steps))
    return alias


def _fill(realm: OwnRealm, root: str, parent: str, steps: tuple[Step, ...]) -> None:
    executions = f"{FLOWS}/{quote(parent)}/executions"
    for step in steps:
        if step.provider:
            step_id = realm.created(f"{executions}/execution", {"provider": step.provider})
            key = "id"
        else:
            sent = {"alias": step.alias, "type": "basic-flow"}
            step_id, key = realm.created(f"{executions}/flow", sent), "flowId"
            _fill(realm, root, step.alias, step.steps)
        found = realm.get(f"{FLOWS}/{quote(root)}/executions")
        shown = next(each for each in found if each.get(key) == step_id)
        if step.config is not None:
            config = {"alias": f"of {shown['id']}", "config": step.config}
            realm.created(f"authentication/executions/{shown['id']}/config", config)
        changed = {**shown, "requirement": step.requirement}
        realm.done("PUT", f"{FLOWS}/{quote(root)}/executions", changed)


def bound(realm: OwnRealm, *steps: Step) -> None:
    """Make a flow of these steps that of the realm's password grant."""
    realm.done("PUT", "", {"directGrantFlow": made(realm, *steps)})


def signed_in(
    realm: OwnRealm, username: str = "plain", client: str = "admin-cli", **form: str
) -> tuple[int, str]:
    secret = {"client_secret": SECRET} if client == CLIENT else {}
    response = realm.sign_in(username, client, **secret, **form)
    return response.status_code, response.json().get("error_description", "")


def admitted(realm: OwnRealm, *usernames: str, **form: str) -> list[str]:
    """Return which of the users sign in; the others are denied access."""
    answers = {name: signed_in(realm, name, **form) for name in usernames}
    assert set(answers.values()) <= {RIGHT, DENIED}
    return [name for name, answer in answers.items() if answer == RIGHT]


def code() -> dict[str, str]:
    key = base64.b32encode(DEVICE_KEY.encode()).decode()
    return {"totp": pyotp.TOTP(key).now()}


def test_deny_access_denies_a_user_with_the_right_password(realm: OwnRealm) -> None:
    bound(realm, Step(DENY))
    answer = realm.sign_in("plain")
    assert answer.status_code == 401
    assert answer.json() == {"error": "access_denied", "error_description": "Access denied"}
    assert signed_in(realm, password="wrong") == WRONG
    assert signed_in(realm, "nobody") == WRONG


def test_deny_access_says_what_is_set(realm: OwnRealm) -> None:
    bound(realm, Step(DENY, config={"denyErrorMessage": "Ask at the desk"}))
    assert signed_in(realm) == (401, "Ask at the desk")


def test_allow_access_allows_it_after_the_password_alone(realm: OwnRealm) -> None:
    bound(realm, Step(ALLOW))
    assert signed_in(realm) == RIGHT
    assert signed_in(realm, password="wrong") == WRONG


def test_the_first_successful_alternative_completes_a_sub_flow(
    realm: OwnRealm,
) -> None:
    code_or_none = sub_flow("REQUIRED", Step(CODE, "ALTERNATIVE"), Step(ALLOW, "ALTERNATIVE"))
    bound(realm, code_or_none)
    assert signed_in(realm) == RIGHT
    assert signed_in(realm, "coded") == WRONG
    assert signed_in(realm, "coded", **code()) == RIGHT


def test_where_no_alternative_succeeds_the_sign_in_fails(realm: OwnRealm) -> None:
    bound(realm, sub_flow("REQUIRED", Step(CODE, "ALTERNATIVE")))
    assert signed_in(realm) == WRONG
    assert signed_in(realm, "coded", **code()) == RIGHT


def test_a_required_code_is_asked_of_all_users(realm: OwnRealm) -> None:
    bound(realm, sub_flow("REQUIRED", Step(CONFIGURED), Step(CODE)))
    assert signed_in(realm) == NOT_SET_UP
    assert signed_in(realm, "coded") == WRONG
    assert signed_in(realm, "coded", **code()) == RIGHT


def test_a_sub_flow_of_skipped_sub_flows_fails(realm: OwnRealm) -> None:
    inner = sub_flow("CONDITIONAL", Step(CONFIGURED), Step(CODE))
    bound(realm, sub_flow("REQUIRED", inner))
    assert signed_in(realm) == WRONG
    assert signed_in(realm, "coded", **code()) == RIGHT


def test_a_conditional_sub_flow_without_conditions_is_skipped(realm: OwnRealm) -> None:
    bound(realm, sub_flow("CONDITIONAL", Step(CONFIGURED, "DISABLED"), Step(DENY)))
    assert signed_in(realm) == RIGHT


def test_all_conditions_must_match(realm: OwnRealm) -> None:
    red = {"attribute_name": "team", "attribute_expected_value": "red"}
    conditions = (Step(ROLE, config={"condUserRole": "boss"}), Step(ATTRIBUTE, config=red))
    bound(realm, sub_flow("CONDITIONAL", *conditions, Step(DENY)))
    assert admitted(realm, "boss", "red", "plain") == ["boss", "red", "plain"]


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"condUserRole": "boss"}, ["plain", "holder"]),
        ({"condUserRole": "boss", "negate": "true"}, ["boss", "chief", "grouped"]),
        ({"condUserRole": f"{CLIENT}.a.b"}, ["plain", "boss", "chief", "grouped"]),
        ({"condUserRole": "a.b"}, ["plain", "boss", "chief", "grouped", "holder"]),
        ({"negate": "true"}, ["plain", "boss", "chief", "grouped", "holder"]),
    ],
)
def test_a_condition_asks_for_a_role_that_the_user_has(
    realm: OwnRealm, config: dict[str, str], names: list[str]
) -> None:
    bound(realm, denied_if(ROLE, **config))
    assert admitted(realm, "plain", "boss", "chief", "grouped", "holder") == names


TEAM = {"attribute_name": "team", "attribute_expected_value": "red"}


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (TEAM, ["plain", "grouped"]),
        ({**TEAM, "not": "true"}, ["red"]),
        ({**TEAM, "include_group_attributes": "true"}, ["plain"]),
        ({**TEAM, "attribute_expected_value": "r.*", "regex": "true"}, ["plain", "grouped"]),
        ({**TEAM, "attribute_expected_value": "e", "regex": "true"}, ["plain", "red", "grouped"]),
        (
            {"attribute_name": "email", "attribute_expected_value": "plain@granting.test"},
            ["red", "grouped"],
        ),
        ({"not": "true"}, []),
    ],
)
def test_a_condition_asks_for_the_value_of_an_attribute(
    realm: OwnRealm, config: dict[str, str], names: list[str]
) -> None:
    bound(realm, denied_if(ATTRIBUTE, **config))
    assert admitted(realm, "plain", "red", "grouped") == names


def test_a_value_too_long_for_a_pattern_refuses_the_sign_in(realm: OwnRealm) -> None:
    red = {**TEAM, "attribute_expected_value": "r.*", "regex": "true"}
    for config in (red, {**red, "not": "true"}):
        bound(realm, denied_if(ATTRIBUTE, **config))
        assert signed_in(realm, "long") == WRONG
    bound(realm, denied_if(ATTRIBUTE, **TEAM))
    assert signed_in(realm, "long") == RIGHT


@pytest.mark.parametrize(
    ("config", "alone", "with_phone"),
    [
        ({"client_scope": "phone"}, RIGHT, DENIED),
        ({"client_scope": "phone", "negate": "true"}, DENIED, RIGHT),
        ({"client_scope": "email"}, DENIED, DENIED),
        ({"client_scope": "none"}, RIGHT, RIGHT),
        ({}, RIGHT, RIGHT),
    ],
)
def test_a_condition_asks_for_a_client_scope_of_the_request(
    realm: OwnRealm, config: dict[str, str], alone: Any, with_phone: Any
) -> None:
    bound(realm, denied_if(SCOPE, **config))
    assert signed_in(realm) == alone
    assert signed_in(realm, scope="phone") == with_phone


@pytest.mark.parametrize(
    ("result", "names"),
    [
        ({"check_result": "executed"}, ["plain"]),
        ({"check_result": "not-executed"}, ["boss"]),
        ({}, ["plain"]),
    ],
)
def test_a_condition_asks_whether_another_sub_flow_succeeded(
    realm: OwnRealm, result: dict[str, str], names: list[str]
) -> None:
    first = sub_flow("CONDITIONAL", Step(ROLE, config={"condUserRole": "boss"}), Step(ALLOW))
    bound(realm, first, denied_if(EXECUTED, flow_to_check=first.alias, **result))
    assert admitted(realm, "plain", "boss") == names


def test_a_sub_flow_that_does_not_exist_was_not_executed(realm: OwnRealm) -> None:
    nowhere = {"flow_to_check": "nowhere", "check_result": "not-executed"}
    bound(realm, denied_if(EXECUTED, **nowhere))
    assert signed_in(realm) == DENIED
    bound(realm, denied_if(EXECUTED, **{**nowhere, "check_result": "executed"}))
    assert signed_in(realm) == RIGHT


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"credentials": "otp", "included": "true"}, ["plain"]),
        ({"credentials": "otp"}, ["coded"]),
        ({"credentials": "webauthn##password", "included": "true"}, []),
        ({"credentials": "webauthn##password"}, ["plain", "coded"]),
        ({"included": "true"}, ["plain", "coded"]),
    ],
)
def test_a_condition_asks_for_the_credentials_that_were_used(
    realm: OwnRealm, config: dict[str, str], names: list[str]
) -> None:
    bound(realm, sub_flow("CONDITIONAL", Step(CONFIGURED), Step(CODE)), denied_if(USED, **config))
    assert admitted(realm, "plain", "coded", **code()) == names


def test_session_limits_refuse_one_session_too_many(realm: OwnRealm) -> None:
    config = {"behavior": "Deny new session", "userRealmLimit": "2", "userClientLimit": "0"}
    bound(realm, Step(LIMITS, config=config))
    assert [signed_in(realm)[0] for _ in range(3)] == [200, 200, 403]
    assert realm.sign_in("plain").json() == {
        "error": "generic_authentication_error",
        "error_description": "There are too many sessions",
    }
    assert signed_in(realm, "boss") == RIGHT


def test_session_limits_of_the_client_count_its_sessions(realm: OwnRealm) -> None:
    config = {"userClientLimit": "1", "userRealmLimit": "3", "errorMessage": "Enough"}
    bound(realm, Step(LIMITS, config=config))
    assert signed_in(realm) == RIGHT
    assert signed_in(realm) == (403, "Enough")
    assert signed_in(realm, client=CLIENT) == RIGHT


def test_session_limits_end_the_session_refreshed_longest_ago(
    realm: OwnRealm,
) -> None:
    config = {"behavior": "Terminate oldest session", "userRealmLimit": "2"}
    bound(realm, Step(LIMITS, config=config))
    first, second = _begun(realm), _begun(realm)
    assert _refreshed(realm, first) == 200
    third = _begun(realm)
    assert [_refreshed(realm, token) for token in (first, second, third)] == [200, 400, 200]


async def test_clients_learn_that_a_limit_has_ended_a_session(realm: OwnRealm) -> None:
    """A client that is not told would keep its user signed in. Keycloak: backchannelLogout."""
    config = {"behavior": "Terminate oldest session", "userRealmLimit": "1"}
    bound(realm, Step(LIMITS, config=config))
    [client] = realm.get(f"clients?clientId={CLIENT}")
    path = f"clients/{client['id']}"
    with logout_receiver() as receiver:
        told = {"backchannel.logout.url": receiver.url}
        told |= {"backchannel.logout.session.required": "true"}
        realm.done("PUT", path, {**client, "attributes": client["attributes"] | told})
        token = realm.sign_in("plain", CLIENT, client_secret=SECRET).json()["access_token"]
        _begun(realm)
        await eventually(lambda: bool(receiver.tokens))
    realm.done("PUT", path, {"attributes": {"backchannel.logout.url": ""}})
    assert [claims_of(one)["sid"] for one in receiver.tokens] == [claims_of(token)["sid"]]


def _begun(realm: OwnRealm) -> str:
    return str(realm.sign_in("plain").json()["refresh_token"])


def _refreshed(realm: OwnRealm, token: str) -> int:
    form = {"grant_type": "refresh_token", "client_id": "admin-cli", "refresh_token": token}
    url = f"/realms/{realm.name}/protocol/openid-connect/token"
    return realm.administration.http.post(url, data=form).status_code


@pytest.mark.parametrize(
    "step",
    [
        Step(LIMITS),
        Step(LIMITS, config={"userRealmLimit": "many"}),
        sub_flow("CONDITIONAL", Step(ATTRIBUTE), Step(DENY)),
        denied_if(ATTRIBUTE, attribute_expected_value="(", regex="true"),
    ],
)
def test_a_flow_with_an_undecidable_step_signs_in_no_user(realm: OwnRealm, step: Step) -> None:
    realm.done("PUT", "", {"directGrantFlow": made(realm, step)})
    assert signed_in(realm) == WRONG


@pytest.mark.parametrize(
    "step",
    [
        Step("auth-otp-form"),
        Step("webauthn-authenticator-passwordless"),
        sub_flow("REQUIRED", Step("auth-conditional-otp-form", "ALTERNATIVE")),
        sub_flow("CONDITIONAL", Step("conditional-level-of-authentication"), Step(DENY)),
    ],
)
def test_nobody_signs_in_by_a_flow_with_what_cannot_act(realm: OwnRealm, step: Step) -> None:
    realm.done("PUT", "", {"directGrantFlow": made(realm, step)})
    assert signed_in(realm) == WRONG


def test_a_bound_flow_with_an_unusable_step_signs_in_no_user(realm: OwnRealm) -> None:
    alias = made(realm, Step("auth-otp-form", "DISABLED"))
    realm.done("PUT", "", {"directGrantFlow": alias})
    executions = f"{FLOWS}/{quote(alias)}/executions"
    page = realm.get(executions)[-1]
    assert signed_in(realm) == RIGHT
    realm.done("PUT", executions, {**page, "requirement": "REQUIRED"})
    assert signed_in(realm) == WRONG


def test_the_server_says_which_authenticators_cannot_act(realm: OwnRealm) -> None:
    found = realm.get("/admin/serverinfo")["providers"]["authenticator"]["providers"]
    silent = {name for name, one in found.items() if "operationalInfo" not in one}
    assert silent == {
        *(USERNAME, PASSWORD_STEP, CODE, ALLOW, DENY, LIMITS, "direct-grant-auth-x509-username"),
        *(CONFIGURED, ROLE, ATTRIBUTE, SCOPE, EXECUTED, USED),
        *("auth-cookie", "auth-username-password-form", "auth-username-form"),
        *("auth-password-form", "auth-otp-form", "conditional-level-of-authentication"),
        *("auth-recovery-authn-code-form", "auth-x509-client-username-form"),
        *("webauthn-authenticator", "webauthn-authenticator-passwordless"),
        *("reset-credentials-choose-user", "reset-credential-email"),
        *("reset-password", "reset-otp"),
    }
    assert "cannot act" in found["auth-spnego"]["operationalInfo"]["limitation"]
