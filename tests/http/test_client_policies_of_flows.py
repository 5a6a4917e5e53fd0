"""A client policy chooses the flow of a sign-in. Keycloak: auth-flow-enforcer, acr-condition."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from html import unescape
from typing import Any, Final

import pyotp
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.client_policies import ANY_CLIENT, POLICIES, PROFILES, policies_of, policy
from tests.support.leveled_flows import LEVEL_CONFIGS, client_with_flow, leveled_flows
from tests.support.one_time_devices import base32
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client
from tests.support.wire import DEVICE, DEVICE_KEY, claims_of

_ENFORCER: Final = "auth-flow-enforcer"
_GOLD: Final = {"acr-condition": {"acr-property": "gold"}}
_NAMED: Final = {"acr.loa.map": json.dumps({"silver": 1, "gold": 2})}
_CODE_PAGE: Final = "login-otp"
_SIGN_INS: Final = "AUTH_SESSION_ID"


@pytest.fixture(scope="module")
def flowing(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose users sign in by password, and which has flows that ask for a code."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "otpPolicyCodeReusable": True,
        "registrationAllowed": True,
        "authenticationFlows": leveled_flows("auth-otp-form"),
        "authenticatorConfig": LEVEL_CONFIGS,
        "browserFlow": "passwords-alone",
        "clients": [
            web_client("app", attributes=_NAMED, directAccessGrantsEnabled=True),
            web_client("plain"),
            client_with_flow("own", "passwords-alone", attributes=_NAMED),
            client_with_flow("leveled", "levels", attributes=_NAMED),
            web_client("golden", attributes={**_NAMED, "default.acr.values": "gold"}),
        ],
    }
    with administered_realm(administration, "policy-flows", {}, **settings) as realm:
        document = person("anna")
        document["credentials"] = [*document["credentials"], {**DEVICE, "id": None}]
        realm.change("POST", "users", document)
        yield SignInRealm(realm)


def _enforced(
    flowing: SignInRealm,
    alias: str = "both-factors",
    level: int | str | None = None,
    conditions: Mapping[str, Mapping[str, Any]] = ANY_CLIENT,
) -> AbstractContextManager[None]:
    configuration = {"auth-flow-alias": alias, "auth-flow-loa": level}
    return policies_of(flowing.realm, {_ENFORCER: configuration}, conditions)


def _with_code(browser: SignInBrowser, page: Page) -> Page:
    assert page.id == _CODE_PAGE, page.text
    return browser.submit(page, otp=pyotp.TOTP(base32(DEVICE_KEY)).now())


def _acr(browser: SignInBrowser, page: Page, client_id: str = "app") -> str:
    tokens = browser.redeem(page.answer["code"], client_id).json()
    return str(claims_of(tokens["id_token"])["acr"])


def test_a_policys_flow_replaces_those_of_realm_and_client(
    flowing: SignInRealm,
) -> None:
    for client_id in ("app", "own"):
        assert flowing.browser().sign_in("anna", client_id).answer["code"]
        with _enforced(flowing):
            browser = flowing.browser()
            assert _with_code(browser, browser.sign_in("anna", client_id)).answer["code"]


def test_a_flow_that_cannot_sign_in_signs_nobody_in(flowing: SignInRealm) -> None:
    """Keycloak's error 500 as a page; a flow of less strength is never taken in its place."""
    for alias in ("misspelled", "both-forms", "registration", "clients"):
        flowing.events()
        with _enforced(flowing, alias):
            page = flowing.browser().open()
            assert (page.status, page.id) == (400, "error"), alias
        event = flowing.events()[0]
        assert (event["type"], event["error"]) == ("LOGIN_ERROR", "not_allowed")


def test_an_acr_condition_holds_for_requests_of_that_class(flowing: SignInRealm) -> None:
    claims = json.dumps({"id_token": {"acr": {"values": ["gold"], "essential": True}}})
    with _enforced(flowing, "codes-alone", 2, _GOLD):
        for client_id, asked, is_enforced in (
            ("app", {}, False),
            ("app", {"acr_values": "silver"}, False),
            ("app", {"acr_values": "goldy"}, False),
            ("app", {"acr_values": "silver gold"}, True),
            ("app", {"claims": claims}, True),
            ("app", {"claims": claims, "acr_values": "silver"}, True),
            ("golden", {}, True),
            ("golden", {"acr_values": "silver"}, False),
        ):
            page = flowing.browser().open(client_id, **asked)
            assert ("password" not in page.form.names) is is_enforced, (client_id, asked)


def test_a_session_below_the_level_steps_up_and_at_it_continues(
    flowing: SignInRealm,
) -> None:
    browser = flowing.browser()
    assert browser.sign_in("anna", "plain").answer["code"]
    with _enforced(flowing, level=2):
        refused = browser.open(prompt="none").answer
        assert refused["error"] == "login_required"
        page = browser.open()
        assert page.message == "Strong authentication required to continue"
        done = _with_code(browser, browser.submit(page, password=PASSWORD))
        assert _acr(browser, done) == "gold"
        assert _acr(browser, browser.open(prompt="none")) == "gold"
    assert _acr(browser, browser.open(prompt="none")) != "gold"
    with _enforced(flowing, level=3):
        assert browser.open(prompt="none").answer["error"] == "login_required"
    with _enforced(flowing, "passwords-alone", 2):
        assert browser.open(prompt="none").answer["error"] == "login_required"
    with _enforced(flowing):  # the flow itself permits the cookie
        assert browser.open(prompt="none").answer["code"]


def test_the_level_of_a_flow_does_not_outlive_its_policy(flowing: SignInRealm) -> None:
    with _enforced(flowing, "passwords-alone", 2):
        browser = flowing.browser()
        assert _acr(browser, browser.sign_in("anna")) == "gold"
    assert _acr(browser, browser.open(prompt="none")) != "gold"


def test_the_level_does_not_survive_a_change_of_the_flow(flowing: SignInRealm) -> None:
    with _enforced(flowing, "passwords-alone", 2):
        browser = flowing.browser()
        assert _acr(browser, browser.sign_in("anna")) == "gold"
        assert _acr(browser, browser.open(prompt="none")) == "gold"
        path = "authentication/flows/passwords-alone/executions"
        forms = flowing.realm.get(path)[1]
        assert forms["providerId"] == "auth-username-password-form"
        body = {"provider": "auth-otp-form"}
        flowing.realm.change("POST", f"{path}/execution", body)
        added = flowing.realm.get(path)[-1]
        flowing.realm.change("PUT", path, {**added, "requirement": "ALTERNATIVE"})
        assert browser.open(prompt="none").answer["error"] == "login_required"
        flowing.realm.change("DELETE", f"authentication/executions/{added['id']}")


def test_of_several_flows_the_last_one_counts_with_its_own_level(flowing: SignInRealm) -> None:
    """Keycloak gives the last flow the level of the one before it, where it has none."""
    flows = {
        "first": {"auth-flow-alias": "both-factors", "auth-flow-loa": 2},
        "second": {"auth-flow-alias": "passwords-alone"},
    }
    profiles = [
        {"name": name, "executors": [{"executor": _ENFORCER, "configuration": flow}]}
        for name, flow in flows.items()
    ]
    realm = flowing.realm
    realm.change("PUT", PROFILES, {"profiles": profiles})
    realm.change("PUT", POLICIES, {"policies": [policy("first"), policy("second")]})
    try:
        browser = flowing.browser()
        assert _acr(browser, browser.sign_in("anna")) == "silver"
    finally:
        realm.change("PUT", POLICIES, {"policies": []})
        realm.change("PUT", PROFILES, {"profiles": []})


def test_who_registers_signs_in_by_the_flow_afterwards(flowing: SignInRealm) -> None:
    """Keycloak lets a registration or a new password replace the flow."""
    fields = {
        "username": "newcomer",
        "email": "newcomer@example.test",
        "firstName": "New",
        "lastName": "Comer",
        "password": PASSWORD,
        "password-confirm": PASSWORD,
    }
    with _enforced(flowing, level=2):
        browser = flowing.browser()
        found = re.search(r'href="([^"]*/login-actions/registration[^"]*)"', browser.open().html)
        assert found is not None
        page = browser.submit(browser.get(unescape(found[1])), **fields)
        assert {"username", "password"} <= page.form.names, page.text
        assert page.message == "Your account has been updated."


def test_a_new_policy_counts_for_sign_ins_that_wait(flowing: SignInRealm) -> None:
    """A browser keeps a request for as long as it likes, in its tab and in a sealed cookie."""
    waiting, restarted = flowing.browser(), flowing.browser()
    page, link = waiting.open(), restarted.open().form.action
    del restarted.cookies[_SIGN_INS]
    with _enforced(flowing):
        again = waiting.submit(page, username="anna", password=PASSWORD)
        assert {"username", "password"} <= again.form.names, again.text
        for browser, form in ((waiting, again), (restarted, restarted.get(link))):
            codes = browser.submit(form, username="anna", password=PASSWORD)
            assert _with_code(browser, codes).answer["code"]


def test_a_new_policy_counts_for_the_class_that_is_asked_for(flowing: SignInRealm) -> None:
    for asked, is_enforced in ((None, False), ("silver", False), ("silver gold", True)):
        browser = flowing.browser()
        link = browser.open(acr_values=asked).form.action
        del browser.cookies[_SIGN_INS]
        with _enforced(flowing, "codes-alone", 2, _GOLD):
            assert ("password" not in browser.get(link).form.names) is is_enforced, asked


def test_a_higher_minimum_of_a_client_counts_while_a_page_waits(flowing: SignInRealm) -> None:
    [client] = flowing.realm.get("clients?clientId=leveled")
    browser = flowing.browser()
    page = browser.open("leveled")
    client["attributes"]["minimum.acr.value"] = "gold"
    flowing.realm.change("PUT", f"clients/{client['id']}", client)
    codes = browser.submit(page, username="anna", password=PASSWORD)
    assert _acr(browser, _with_code(browser, codes), "leveled") == "gold"


def test_the_password_grant_has_no_flow_of_a_browser(flowing: SignInRealm) -> None:
    """As in Keycloak: `reject-ropc-grant` closes it."""
    form = {"grant_type": "password", "username": "john", "password": PASSWORD}
    client = {"client_id": "app", "client_secret": SECRET}
    with _enforced(flowing, level=2):
        browser = flowing.browser()
        assert browser.http.post(browser.protocol("token"), data=form | client).is_success


def test_a_policy_that_names_no_flow_or_class_is_refused(flowing: SignInRealm) -> None:
    realm = flowing.realm
    for configuration in (
        {},
        {"auth-flow-alias": ""},
        {"auth-flow-alias": "x", "auth-flow-loa": "high"},
    ):
        profile = {
            "name": "own",
            "executors": [{"executor": _ENFORCER, "configuration": configuration}],
        }
        status, _ = realm.refused("PUT", PROFILES, {"profiles": [profile]})
        assert status == 400, configuration
    enforcer = {"executor": _ENFORCER, "configuration": {"auth-flow-alias": "browser"}}
    realm.change("PUT", PROFILES, {"profiles": [{"name": "own", "executors": [enforcer]}]})
    for condition in ("acr-condition", "identity-provider-alias"):
        refused = {"policies": [policy("own", conditions={condition: {}})]}
        status, body = realm.refused("PUT", POLICIES, refused)
        assert (status, f"its condition {condition}" in str(body)) == (400, True)
    realm.change("PUT", PROFILES, {"profiles": []})
