"""Flows and required actions that are in use act on the next sign-in. Keycloak: 7.4, 1.2, 1.5."""

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pyotp
import pytest

from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.own_realm import CLIENT, OwnRealm, own_realm
from tests.support.wire import DEVICE, DEVICE_KEY

FLOWS = "authentication/flows"
ACTIONS = "authentication/required-actions"
KEY = base64.b32encode(DEVICE_KEY.encode()).decode()
BINDINGS = ("directGrantFlow", "clientAuthenticationFlow", "browserFlow")
RIGHT, WRONG = (200, ""), (400, "Invalid user credentials")
NOT_SET_UP = (400, "Account is not fully set up")
NO_METHOD = (401, "Invalid client or Invalid client credentials")


def _user(username: str, *more: dict[str, Any], **fields: Any) -> dict[str, Any]:
    password = {"type": "password", "value": PASSWORD}
    return {
        "username": username,
        "enabled": True,
        "email": f"{username}@flows.test",
        "firstName": "A",
        "lastName": "B",
        "credentials": [password, *more],
        **fields,
    }


def _users() -> list[dict[str, Any]]:
    return [
        _user("plain"),
        _user("coded", DEVICE),
        _user("nameless", lastName=""),
        _user("told", requiredActions=["UPDATE_PASSWORD"]),
    ]


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    return own_realm(
        administration,
        tmp_path_factory.mktemp("used"),
        "using",
        users=_users(),
        otpPolicyCodeReusable=True,
        attributes={},
    )


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and put its flows, actions and clients back as they were."""
    flows = {alias: shared.get(_of(alias)) for alias in ("direct grant", "clients")}
    actions, bindings = shared.get(ACTIONS), _bindings(shared)
    yield shared
    if bindings != (now := _bindings(shared)):
        shared.done("PUT", "", {name: bindings[name] for name in now})
    client = shared.get(f"clients?clientId={CLIENT}")[0]
    for name in client["authenticationFlowBindingOverrides"]:
        _override(shared, **{name: ""})
    for flow in shared.get(FLOWS):
        if not flow["builtIn"]:
            shared.done("DELETE", f"{FLOWS}/{flow['id']}")
    for alias, steps in flows.items():
        for step in (one for one in steps if one not in shared.get(_of(alias))):
            shared.done("PUT", _of(alias), step)
    for action in (one for one in actions if one not in shared.get(ACTIONS)):
        shared.done("PUT", f"{ACTIONS}/{action['alias']}", action)


def _bindings(realm: OwnRealm) -> dict[str, Any]:
    settings = realm.get("")
    return {name: settings[name] for name in (*BINDINGS, "verifyEmail")}


def _of(alias: str) -> str:
    return f"{FLOWS}/{quote(alias)}/executions"


def _override(realm: OwnRealm, **flows: str) -> tuple[int, str]:
    client = realm.get(f"clients?clientId={CLIENT}")[0]
    sent = {"clientId": CLIENT, "authenticationFlowBindingOverrides": flows}
    response = realm.ask("PUT", f"clients/{client['id']}", sent)
    return response.status_code, response.text


def requiring(realm: OwnRealm, alias: str, name: str, requirement: str) -> tuple[int, str]:
    """Change what is required of a step; return the answer."""
    step = next(one for one in realm.get(_of(alias)) if name in one["displayName"])
    response = realm.ask("PUT", _of(alias), {**step, "requirement": requirement})
    return response.status_code, response.text


def copied(realm: OwnRealm, alias: str, name: str) -> str:
    return realm.created(f"{FLOWS}/{quote(alias)}/copy", {"newName": name})


def signed_in(realm: OwnRealm, username: str, client: str = "admin-cli", **form: str) -> Any:
    secret = {"client_secret": SECRET} if client == CLIENT else {}
    response = realm.sign_in(username, client, **secret, **form)
    return response.status_code, response.json().get("error_description", "")


def code() -> dict[str, str]:
    return {"totp": pyotp.TOTP(KEY).now()}


CODES = "Conditional OTP"


def test_a_code_is_asked_for_of_who_has_a_device(realm: OwnRealm) -> None:
    assert signed_in(realm, "plain") == RIGHT
    assert signed_in(realm, "coded") == WRONG
    assert signed_in(realm, "coded", **code()) == RIGHT


@pytest.mark.parametrize("name", [CODES, "OTP", "Condition - user configured"])
def test_where_codes_are_disabled_nobody_is_asked_for_one(realm: OwnRealm, name: str) -> None:
    exact = [one for one in realm.get(_of("direct grant")) if one["displayName"].endswith(name)]
    step = exact[-1]
    realm.done("PUT", _of("direct grant"), {**step, "requirement": "DISABLED"})
    assert signed_in(realm, "coded") == RIGHT
    assert signed_in(realm, "plain") == RIGHT


def test_where_codes_are_required_who_has_no_device_stays_out(realm: OwnRealm) -> None:
    assert requiring(realm, "direct grant", CODES, "REQUIRED") == (204, "")
    assert signed_in(realm, "plain") == NOT_SET_UP
    assert signed_in(realm, "plain", password="wrong") == WRONG
    assert signed_in(realm, "coded") == WRONG
    assert signed_in(realm, "coded", **code()) == RIGHT


def test_a_copy_acts_once_it_is_in_use(realm: OwnRealm) -> None:
    copied(realm, "direct grant", "mine")
    assert requiring(realm, "mine", CODES, "DISABLED") == (204, "")
    assert signed_in(realm, "coded") == WRONG
    realm.done("PUT", "", {"directGrantFlow": "mine"})
    assert realm.get("")["directGrantFlow"] == "mine"
    assert signed_in(realm, "coded") == RIGHT
    assert requiring(realm, "mine", CODES, "CONDITIONAL") == (204, "")
    assert signed_in(realm, "coded") == WRONG


def test_a_step_for_codes_without_a_condition_asks_everybody(realm: OwnRealm) -> None:
    copied(realm, "direct grant", "mine")
    realm.done("PUT", "", {"directGrantFlow": "mine"})
    part = next(one for one in realm.get(_of("mine")) if CODES in one["displayName"])
    realm.done("DELETE", f"authentication/executions/{part['id']}")
    assert signed_in(realm, "coded") == RIGHT
    sent = {"provider": "direct-grant-validate-otp"}
    realm.created(f"{_of('mine')}/execution", sent)
    assert requiring(realm, "mine", "OTP", "REQUIRED") == (204, "")
    assert signed_in(realm, "plain") == NOT_SET_UP


@pytest.mark.parametrize("requirement", ["DISABLED", "ALTERNATIVE"])
def test_nobody_signs_in_by_a_flow_that_asks_for_no_password(
    realm: OwnRealm, requirement: str
) -> None:
    assert requiring(realm, "direct grant", "Password", requirement) == (204, "")
    assert signed_in(realm, "plain") == signed_in(realm, "plain", password="wrong") == WRONG
    assert requiring(realm, "direct grant", "Password", "REQUIRED") == (204, "")
    assert signed_in(realm, "plain") == RIGHT


@pytest.mark.parametrize("alias", ["browser", "clients", "forms"])
def test_nobody_signs_in_by_a_flow_that_begins_no_password_grant(
    realm: OwnRealm, alias: str
) -> None:
    realm.done("PUT", "", {"directGrantFlow": alias})
    assert realm.get("")["directGrantFlow"] == alias
    assert signed_in(realm, "plain") == WRONG


def test_no_client_authenticates_by_a_flow_of_something_else(realm: OwnRealm) -> None:
    realm.done("PUT", "", {"clientAuthenticationFlow": "direct grant"})
    assert proven(realm) == signed_in(realm, "plain") == NO_METHOD


def test_a_flow_is_bound_before_its_steps_are_made(realm: OwnRealm) -> None:
    empty = {"alias": "made", "providerId": "basic-flow", "topLevel": True, "builtIn": False}
    realm.created(FLOWS, empty)
    realm.done("PUT", "", {"directGrantFlow": "made"})
    for provider in ("direct-grant-validate-username", "direct-grant-validate-password"):
        assert signed_in(realm, "plain") == WRONG
        realm.created(f"{_of('made')}/execution", {"provider": provider})
        step = realm.get(_of("made"))[-1]
        realm.done("PUT", _of("made"), {**step, "requirement": "REQUIRED"})
    assert signed_in(realm, "plain") == RIGHT


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("alias", ["none", ""])
def test_a_flow_that_does_not_exist_is_not_bound(realm: OwnRealm, binding: str, alias: str) -> None:
    before = realm.get("")[binding]
    assert realm.told("PUT", "", {binding: alias})[0] == 400
    assert realm.get("")[binding] == before


@pytest.mark.parametrize("alias", ["mine", "direct grant"])
def test_any_flow_is_bound_for_pages_and_changed_while_it_is(realm: OwnRealm, alias: str) -> None:
    copied(realm, "browser", "mine")
    realm.done("PUT", "", {"browserFlow": alias})
    assert realm.get("")["browserFlow"] == alias
    assert requiring(realm, "mine", "Cookie", "DISABLED") == (204, "")
    assert realm.get(_of("mine"))[0]["requirement"] == "DISABLED"


def test_a_flow_in_use_is_not_taken_away(realm: OwnRealm) -> None:
    flow_id = copied(realm, "direct grant", "mine")
    realm.done("PUT", "", {"directGrantFlow": "mine"})
    status, text = realm.told("DELETE", f"{FLOWS}/{flow_id}")
    assert (status, text) == (400, "'mine' is in use: bind another flow first")
    assert signed_in(realm, "plain") == RIGHT


def test_a_flow_in_use_keeps_working_under_another_name(realm: OwnRealm) -> None:
    flow_id = copied(realm, "direct grant", "mine")
    assert requiring(realm, "mine", CODES, "DISABLED")[0] == 204
    realm.done("PUT", "", {"directGrantFlow": "mine"})
    realm.done(
        "PUT",
        f"{FLOWS}/{flow_id}",
        {"alias": "yours", "providerId": "basic-flow", "topLevel": True},
    )
    assert realm.get("")["directGrantFlow"] == "yours"
    assert signed_in(realm, "coded") == RIGHT


def test_a_client_may_have_a_flow_of_its_own(realm: OwnRealm) -> None:
    flow_id = copied(realm, "direct grant", "mine")
    assert requiring(realm, "mine", CODES, "DISABLED")[0] == 204
    assert _override(realm, direct_grant=flow_id)[0] == 204
    assert signed_in(realm, "coded", CLIENT) == RIGHT
    assert signed_in(realm, "coded") == WRONG
    assert realm.told("DELETE", f"{FLOWS}/{flow_id}")[0] == 400
    assert requiring(realm, "mine", "Password", "DISABLED") == (204, "")
    assert signed_in(realm, "coded", CLIENT) == WRONG
    assert _override(realm, direct_grant="")[0] == 204
    assert signed_in(realm, "coded", CLIENT) == WRONG


def test_a_client_has_no_flow_that_does_not_exist(realm: OwnRealm) -> None:
    for refused in ({"direct_grant": "none"}, {"browser": "none"}):
        assert _override(realm, **refused)[0] == 400, refused
    assert realm.get(f"clients?clientId={CLIENT}")[0]["authenticationFlowBindingOverrides"] == {}


def test_nobody_signs_in_by_a_flow_of_pages_without_pages(realm: OwnRealm) -> None:
    flows = {flow["alias"]: flow["id"] for flow in realm.get(FLOWS)}
    assert _override(realm, direct_grant=flows["browser"])[0] == 204
    assert signed_in(realm, "plain", CLIENT) == WRONG
    assert signed_in(realm, "plain") == RIGHT


@pytest.mark.parametrize("alias", ["browser", "direct grant"])
def test_a_client_may_have_any_flow_for_pages(realm: OwnRealm, alias: str) -> None:
    flows = {flow["alias"]: flow["id"] for flow in realm.get(FLOWS)}
    assert _override(realm, browser=flows[alias])[0] == 204
    client = realm.get(f"clients?clientId={CLIENT}")[0]
    assert client["authenticationFlowBindingOverrides"] == {"browser": flows[alias]}
    assert signed_in(realm, "plain", CLIENT) == RIGHT


def test_a_new_client_has_no_flow_that_does_not_exist(realm: OwnRealm) -> None:
    sent = {"clientId": "new", "authenticationFlowBindingOverrides": {"direct_grant": "none"}}
    assert realm.ask("POST", "clients", sent).status_code == 400
    assert realm.get("clients?clientId=new") == []


def proven(realm: OwnRealm) -> tuple[int, str]:
    response = realm.client_token()
    return response.status_code, response.json().get("error_description", "")


def test_a_client_method_disabled_in_the_flow_proves_nothing(realm: OwnRealm) -> None:
    assert proven(realm) == RIGHT
    assert requiring(realm, "clients", "Client Id and Secret", "DISABLED") == (204, "")
    assert proven(realm) == NO_METHOD
    # As in Keycloak, clients that prove nothing stand and fall with those that send a secret.
    assert signed_in(realm, "plain") == NO_METHOD
    assert requiring(realm, "clients", "Client Id and Secret", "ALTERNATIVE") == (204, "")
    assert (proven(realm), signed_in(realm, "plain")) == (RIGHT, RIGHT)


def test_where_one_method_is_required_no_other_proves_anything(realm: OwnRealm) -> None:
    assert requiring(realm, "clients", "X509 Certificate", "REQUIRED") == (204, "")
    assert proven(realm) == NO_METHOD
    assert requiring(realm, "clients", "Client Id and Secret", "REQUIRED") == (204, "")
    assert proven(realm) == RIGHT


def test_a_copy_of_the_flow_of_clients_acts_once_it_is_in_use(realm: OwnRealm) -> None:
    copied(realm, "clients", "mine")
    step = next(one for one in realm.get(_of("mine")) if one["providerId"] == "client-secret")
    realm.done("DELETE", f"authentication/executions/{step['id']}")
    assert proven(realm) == RIGHT
    realm.done("PUT", "", {"clientAuthenticationFlow": "mine"})
    assert proven(realm) == NO_METHOD
    realm.done("PUT", "", {"clientAuthenticationFlow": "clients"})
    assert proven(realm) == RIGHT


def off(realm: OwnRealm, alias: str) -> None:
    action = realm.get(f"{ACTIONS}/{alias}")
    realm.done("PUT", f"{ACTIONS}/{alias}", {**action, "enabled": False})


def test_an_unfinished_profile_keeps_out_while_that_action_is_on(realm: OwnRealm) -> None:
    assert signed_in(realm, "nameless") == NOT_SET_UP
    off(realm, "VERIFY_PROFILE")
    assert signed_in(realm, "nameless") == RIGHT


def test_an_unverified_address_refuses_while_the_action_is_on(realm: OwnRealm) -> None:
    realm.done("PUT", "", {"verifyEmail": True})
    assert signed_in(realm, "plain") == NOT_SET_UP
    off(realm, "VERIFY_EMAIL")
    assert signed_in(realm, "plain") == RIGHT


def test_what_an_administrator_has_told_a_user_stays_told(realm: OwnRealm) -> None:
    off(realm, "UPDATE_PASSWORD")
    assert signed_in(realm, "told") == NOT_SET_UP


def test_an_action_that_was_taken_away_is_asked_for_no_more(realm: OwnRealm) -> None:
    realm.done("DELETE", f"{ACTIONS}/VERIFY_PROFILE")
    try:
        assert signed_in(realm, "nameless") == RIGHT
    finally:
        sent = {"providerId": "VERIFY_PROFILE", "name": "Verify Profile"}
        realm.done("POST", "authentication/register-required-action", sent)
