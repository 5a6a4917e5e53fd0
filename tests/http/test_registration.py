"""Users who register themselves. Keycloak: 12.12, RegistrationUserCreation; attacks: D10."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from gateway.domain.limits.rate_limits import REGISTRATIONS
from tests.support.administered_realm import administered_realm, person
from tests.support.administration import Administration
from tests.support.mailed_links import MailedRealm, follow, mailed_realm
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import (
    CALLBACK,
    Page,
    SignInBrowser,
    SignInRealm,
    query_of,
    web_client,
)

_CODES = r"(session_code|tab_id|execution|client_data)=[^&\"]*"
PASSWORD = "a long new word 4"
NAMES = {"firstName": "Ada", "lastName": "Lovelace"}


def _attribute(name: str, **permissions: list[str]) -> dict[str, Any]:
    return {"name": name, "permissions": {"view": [], "edit": [], **permissions}}


@pytest.fixture(scope="module")
def open_realm(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm in which everybody may register."""
    settings: dict[str, Any] = {
        **RECORDED,
        "attributes": {},
        "registrationAllowed": True,
        "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000) and length(10)",
        "clients": [web_client("app")],
        "groups": [{"name": "readers"}],
        "defaultGroups": ["/readers"],
        "users": [person("anna", email="anna@x.test", **NAMES)],
    }
    with administered_realm(administration, "open-to-all", {}, **settings) as realm:
        profile = realm.get("users/profile")
        own = [
            _attribute("nickname", view=["admin", "user"], edit=["user"]),
            _attribute("badge", view=["user"], edit=["admin"]),
            _attribute("salary", view=["admin"], edit=["admin"]),
        ]
        changed = {**profile, "attributes": [*profile["attributes"], *own]}
        realm.change("PUT", "users/profile", changed)
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(open_realm: SignInRealm) -> None:
    open_realm.events()


def _opened(realm: SignInRealm, **headers: str) -> tuple[SignInBrowser, Page]:
    """Follow the link of the page of the sign-in."""
    browser = realm.browser(**headers)
    return browser, browser.get(_link(browser.open()))


def _link(page: Page) -> str:
    found = re.search(r'id="kc-registration"[^>]*>.*?href="([^"]*)"', page.html)
    assert found is not None, page.html
    return unescape(found.group(1))


def _filled(username: str, **fields: str) -> dict[str, str]:
    passwords = {"password": PASSWORD, "password-confirm": PASSWORD}
    return {"username": username, "email": f"{username}@x.test", **NAMES, **passwords, **fields}


def _error(page: Page, field: str) -> str:
    shown = re.search(rf'id="input-error-{field}"[^>]*>(.*?)</(?:p|span)>', page.html, re.DOTALL)
    return "" if shown is None else unescape(re.sub(r"<[^>]*>", "", shown.group(1))).strip()


def _prompts(realm: SignInRealm) -> list[str]:
    http, name = realm.realm.administration.http, realm.realm.name
    document = http.get(f"/realms/{name}/.well-known/openid-configuration").json()
    return list(document["prompt_values_supported"])


def _found(realm: SignInRealm, username: str) -> dict[str, Any]:
    [user] = realm.realm.get(f"users?username={username}&exact=true")
    document: dict[str, Any] = realm.realm.get(f"users/{user['id']}")
    return document


def test_a_user_registers_and_is_signed_in(open_realm: SignInRealm) -> None:
    browser, page = _opened(open_realm)
    assert (page.status, page.id) == (200, "register")
    assert 'id="kc-register-form"' in page.html
    fields = {"username", "email", "firstName", "lastName", "password", "password-confirm"}
    assert page.form.names == {*fields, "nickname"}, "what users may set, and no more"
    path, _, _ = page.form.action.partition("?")
    assert path.endswith("/login-actions/registration")
    before = browser.cookies["AUTH_SESSION_ID"]
    done = browser.submit(page, **_filled("Bea", nickname="B", badge="1", salary="9"))
    assert done.answer["code"]
    tokens = browser.redeem(done.answer["code"]).json()
    assert tokens["access_token"]
    assert browser.cookies["AUTH_SESSION_ID"] != before
    user = _found(open_realm, "bea")
    assert (user["email"], user["emailVerified"], user["enabled"]) == ("bea@x.test", False, True)
    assert (user["firstName"], user["lastName"]) == ("Ada", "Lovelace")
    assert user["attributes"] == {"nickname": ["B"]}
    roles = open_realm.realm.get(f"users/{user['id']}/role-mappings/realm")
    assert [role["name"] for role in roles] == ["default-roles-open-to-all"]
    groups = open_realm.realm.get(f"users/{user['id']}/groups")
    assert [group["name"] for group in groups] == ["readers"]
    registered, login, _ = open_realm.events()
    assert (registered["type"], login["type"]) == ("REGISTER", "LOGIN")
    assert registered["userId"] == login["userId"] == user["id"]
    assert (
        registered["details"].items()
        >= {
            "register_method": "form",
            "username": "Bea",
            "email": "Bea@x.test",
            "first_name": "Ada",
            "last_name": "Lovelace",
            "redirect_uri": CALLBACK,
        }.items()
    )
    assert PASSWORD not in str((registered, login))
    again = open_realm.browser()
    assert again.submit(again.open(), username="bea", password=PASSWORD).answer["code"]


def test_clients_may_begin_with_the_registration(open_realm: SignInRealm) -> None:
    browser = open_realm.browser()
    asked = browser.open(prompt="create")
    assert asked.id == "register"
    assert "create" in _prompts(open_realm)
    url = browser.protocol("registrations")
    sent = f"response_type=code&client_id=app&redirect_uri={CALLBACK}&scope=openid&state=s"
    page = browser.get(f"{url}?{sent}")
    assert page.id == "register"
    assert browser.get(f"{url}?{sent}".replace("callback", "other")).status == 400
    assert browser.submit(page, **_filled("cleo")).answer["code"]


def test_a_realm_without_registration_has_no_page_and_no_link(
    open_realm: SignInRealm,
) -> None:
    browser, page = _opened(open_realm)
    link = page.form.action.partition("?")[0]
    with open_realm.changed(registrationAllowed=False):
        assert _prompts(open_realm) == ["none", "login", "consent"]
        shown = browser.open()
        assert "kc-registration" not in shown.html
        query = shown.form.action.partition("?")[2]
        refused = (
            browser.submit(page, **_filled("dan")),
            browser.get(f"{link}?{query}"),
            browser.open(prompt="create"),
        )
        for each in refused:
            assert (each.status, each.id) == (400, "error")
            assert "Registration not allowed" in each.text
    assert open_realm.realm.get("users?username=dan") == []
    kinds = [(event["type"], event["error"]) for event in open_realm.events()]
    assert kinds[:2] == [("REGISTER_ERROR", "registration_disabled")] * 2


def test_every_refusal_says_where_it_is_wrong_and_stores_nothing(open_realm: SignInRealm) -> None:
    browser, page = _opened(open_realm)
    page = browser.submit(page, **_filled("e", email="no address", firstName="<b>", lastName=""))
    assert (page.status, page.message) == (200, "Please correct the fields that are marked.")
    assert _error(page, "username") == "Length must be between 3 and 255."
    assert _error(page, "email") == "Invalid email address."
    assert _error(page, "firstName") == "Value contains invalid character."
    assert _error(page, "lastName") == "Please specify this field."
    assert "<b>" not in page.html
    assert PASSWORD not in page.html
    wrong = (
        ({"password": ""}, "password", "Please specify password."),
        ({"password-confirm": "x"}, "password-confirm", "Password confirmation doesn't match."),
        (
            {"password": "short", "password-confirm": "short"},
            "password",
            "Invalid password: minimum length 10.",
        ),
    )
    for fields, field, text in wrong:
        page = browser.submit(page, **_filled("emil", **fields))
        assert (page.message, _error(page, field)) == (text, text)
        assert page.form.fields["email"] == "emil@x.test"
    assert open_realm.realm.get("users?username=emil") == []
    errors = [(event["type"], event["error"]) for event in open_realm.events()]
    assert errors == [("REGISTER_ERROR", "invalid_registration")] * 4
    assert browser.submit(page, **_filled("emil")).answer["code"]


def test_names_of_others_are_taken(open_realm: SignInRealm) -> None:
    """attacks: D5. Failures at a name of one's own must not lock another user out."""
    browser, page = _opened(open_realm)
    page = browser.submit(page, **_filled("ANNA", email="frida@x.test"))
    assert _error(page, "username") == "Username already exists."
    page = browser.submit(page, **_filled("frida", email="Anna@X.test"))
    assert _error(page, "email") == "Email already exists."
    errors = [(event["error"], event.get("userId")) for event in open_realm.events()]
    assert errors == [("username_in_use", None), ("email_in_use", None)]
    assert open_realm.realm.get("users?search=frida") == []


def test_the_address_of_another_person_is_no_name(open_realm: SignInRealm) -> None:
    """Whether an account has it or not: its owner signs in by it, now or later."""
    browser, page = _opened(open_realm)
    for name in ("anna@x.test", "nobody@x.test"):
        page = browser.submit(page, **_filled(name, email="frida@x.test"))
        assert _error(page, "username") == "Value contains invalid character."
    with open_realm.changed(loginWithEmailAllowed=False):
        assert browser.submit(page, **_filled("frida@home", email="frida@x.test")).answer["code"]
    browser, page = _opened(open_realm)
    assert browser.submit(page, **_filled("paula@x.test", email="paula@x.test")).answer["code"]


def test_an_address_is_one_however_its_domain_is_written(open_realm: SignInRealm) -> None:
    browser, page = _opened(open_realm)
    signed_in = browser.submit(page, **_filled("hugo", email="Hugo@BÜCHER.test"))
    assert signed_in.answer["code"]
    assert _found(open_realm, "hugo")["email"] == "hugo@bücher.test"
    other, page = _opened(open_realm)
    page = other.submit(page, **_filled("hugo2", email="hugo@xn--bcher-kva.test"))
    assert _error(page, "email") == "Email already exists."
    fields = {"username": "hugo@XN--bcher-kva.test", "password": PASSWORD}
    login = open_realm.browser()
    assert login.submit(login.open(), **fields).answer["code"]
    second = person("hugo3", email="hugo@xn--bcher-kva.test")
    assert open_realm.realm.ask("POST", "users", second).status_code == 409
    [found] = open_realm.realm.get("users?email=hugo@xn--bcher-kva.test&exact=true")
    assert found["username"] == "hugo"


def test_the_address_may_be_the_name(open_realm: SignInRealm) -> None:
    with open_realm.changed(registrationEmailAsUsername=True):
        browser, page = _opened(open_realm)
        assert "username" not in page.form.names
        taken = browser.submit(page, **_filled("x", email="anna@x.test"))
        assert _error(taken, "email") == "Email already exists."
        missing = browser.submit(taken, **_filled("x", email=""))
        assert _error(missing, "email") == "Please specify this field."
        assert browser.submit(missing, **_filled("x", email="Gina@X.test")).answer["code"]
    assert _found(open_realm, "gina@x.test")["email"] == "gina@x.test"


def test_a_form_that_was_sent_before_registers_no_second_user(open_realm: SignInRealm) -> None:
    browser, page = _opened(open_realm)
    other = browser.get(_link(browser.open()))
    assert browser.submit(page, **_filled("hans")).answer["code"]
    replayed = browser.submit(page, **_filled("hans-2"))
    assert replayed.id in {"already-signed-in", "error"} or replayed.status == 302
    assert open_realm.realm.get("users?username=hans-2") == []
    answer = browser.submit(other, **_filled("hans-3"))
    assert answer.text.count("already authenticated as different user 'hans'") == 1
    assert open_realm.realm.get("users?username=hans-3") == []


def test_the_way_back_leads_to_the_sign_in_of_the_same_tab(open_realm: SignInRealm) -> None:
    browser, page = _opened(open_realm)
    login = browser.get(page.link("kc-back-to-login"))
    assert login.id == "login"
    assert query_of(login.form.action)["tab_id"] == query_of(page.form.action)["tab_id"]
    stale = browser.submit(page, **_filled("ida"))
    assert stale.id == "page-expired", "the form of a flow that the tab has left"
    assert open_realm.realm.get("users?username=ida&exact=true") == []
    shown = browser.get(_link(login))
    assert browser.get(_link(login)).id == shown.id == "register", "a page may be loaded again"


def test_a_form_of_another_site_registers_no_one(open_realm: SignInRealm) -> None:
    browser, page = _opened(open_realm)
    browser.headers["Origin"] = "https://evil.test"
    refused = browser.submit(page, **_filled("jana"))
    assert (refused.status, refused.id) == (403, "error")
    del browser.headers["Origin"]
    stranger = open_realm.browser()
    assert "code" not in stranger.submit(page, **_filled("jana")).response.headers.get(
        "location", ""
    )
    assert open_realm.realm.get("users?username=jana") == []


def test_the_terms_are_accepted_with_the_form(open_realm: SignInRealm) -> None:
    flow = "authentication/flows/registration/executions"
    [terms] = [
        each
        for each in open_realm.realm.get(flow)
        if each.get("providerId") == "registration-terms-and-conditions"
    ]
    open_realm.realm.change("PUT", flow, {**terms, "requirement": "REQUIRED"})
    try:
        browser, page = _opened(open_realm)
        assert "termsAccepted" in page.form.names
        page = browser.submit(page, **_filled("karl"))
        assert _error(page, "termsAccepted") == "You must agree to our terms and conditions."
        assert browser.submit(page, **_filled("karl", termsAccepted="on")).answer["code"]
    finally:
        open_realm.realm.change("PUT", flow, {**terms, "requirement": "DISABLED"})
    user = _found(open_realm, "karl")
    assert user["attributes"]["terms_and_conditions"][0].isdecimal()
    assert open_realm.realm.get(f"users/{user['id']}/unmanagedAttributes") == {}
    changed = {**user, "attributes": {"terms_and_conditions": ["1"]}}
    open_realm.realm.change("PUT", f"users/{user['id']}", changed)
    assert _found(open_realm, "karl")["attributes"] == user["attributes"]


def test_a_flow_with_an_unusable_action_closes_registration(
    open_realm: SignInRealm,
) -> None:
    flow = "authentication/flows/registration/executions"
    [captcha] = [
        each
        for each in open_realm.realm.get(flow)
        if each.get("providerId") == "registration-recaptcha-action"
    ]
    open_realm.realm.change("PUT", flow, {**captcha, "requirement": "REQUIRED"})
    try:
        browser = open_realm.browser()
        assert "kc-registration" not in browser.open().html
        assert "Registration not allowed" in browser.open(prompt="create").text
    finally:
        open_realm.realm.change("PUT", flow, {**captcha, "requirement": "DISABLED"})
    assert open_realm.browser().open(prompt="create").id == "register"


def test_default_actions_follow_the_registration(open_realm: SignInRealm) -> None:
    path = "authentication/required-actions/TERMS_AND_CONDITIONS"
    terms = open_realm.realm.get(path)
    due = {**terms, "enabled": True, "defaultAction": True}
    open_realm.realm.change("PUT", path, due)
    try:
        browser, page = _opened(open_realm)
        asked = browser.submit(page, **_filled("lara"))
        assert asked.id == "terms"
        assert browser.submit(asked, accept="on").answer["code"]
    finally:
        open_realm.realm.change("PUT", path, terms)
    kinds = [event["type"] for event in open_realm.events()]
    assert kinds[:3] == ["REGISTER", "CUSTOM_REQUIRED_ACTION", "LOGIN"]


def test_an_address_registers_a_bounded_number_of_accounts(open_realm: SignInRealm) -> None:
    """attacks: D10. Each form counts that names a user: the answer tells of an account."""
    browser, page = _opened(open_realm, **{"X-Forwarded-For": "192.0.2.7"})
    for _ in range(REGISTRATIONS.of_network):
        page = browser.submit(page, **_filled("anna", email="mona@x.test"))
        assert _error(page, "username") == "Username already exists."
    page = browser.submit(page, **_filled("mona"))
    assert page.message is not None
    assert page.message.startswith("Too many accounts were registered from your network.")
    assert open_realm.events()[-1]["error"] == "slow_down"
    assert open_realm.realm.get("users?username=mona") == []
    other, shown = _opened(open_realm, **{"X-Forwarded-For": "192.0.2.8"})
    assert other.submit(shown, **_filled("mona")).answer["code"]


@pytest.fixture(scope="module")
def verifying(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm that verifies the addresses of new users."""
    settings: dict[str, Any] = {
        "attributes": {},
        "registrationAllowed": True,
        "verifyEmail": True,
        "users": [person("olga", email="olga@example.org", emailVerified=True, **NAMES)],
    }
    with mailed_realm(administration, "open-and-verifying", {}, **settings) as realm:
        yield realm


def test_with_verified_addresses_a_taken_address_looks_free(
    verifying: MailedRealm,
) -> None:
    """Compared byte by byte, but for the codes of the tab and what was typed. attacks: D10."""
    answers = []
    for name, address in (("paul", "olga@example.org"), ("rita", "rita@example.org")):
        browser, page = _opened(verifying)
        sent = browser.submit(page, **_filled(name, email=address))
        assert (sent.status, sent.id) == (200, "register-confirm")
        query = query_of(str(sent.response.request.url))
        path = page.form.action.partition("?")[0].removeprefix(browser.public_url)
        again = browser.get(f"{path}?client_id=app&tab_id={query['tab_id']}")
        assert again.id == "register-confirm"
        texts = (re.sub(_CODES, "", each.html).replace(address, "") for each in (sent, again))
        answers.append((*texts, sorted(sent.response.headers), sorted(browser.cookies)))
    assert answers[0] == answers[1]
    assert verifying.realm.get("users?username=paul") == []
    [told] = verifying.mails("olga@example.org")
    assert told["subject"] == "You already have an account"
    done = follow(browser, verifying.link("rita@example.org"))
    assert done.answer["code"], "the link goes on in the browser of the form"
    assert _found(verifying, "rita")["emailVerified"] is True


def test_with_verified_addresses_a_name_reveals_no_address(
    verifying: MailedRealm,
) -> None:
    browser, page = _opened(verifying)
    for address in ("olga@example.org", "sven@example.org"):
        page = browser.submit(page, **_filled("olga", email=address))
        assert _error(page, "username") == "Username already exists."
    for name in ("olga@example.org", "nobody@example.org"):
        page = browser.submit(page, **_filled(name, email="sven@example.org"))
        assert _error(page, "username") == "Value contains invalid character."


def test_the_sign_in_id_changes_before_the_address_is_verified(
    verifying: MailedRealm,
) -> None:
    """What someone has planted in the browser is worth nothing once the link is opened."""
    browser, page = _opened(verifying)
    planted = verifying.browser()
    planted.cookies = dict(browser.cookies)
    browser.submit(page, **_filled("tina", email="tina@example.org"))
    url = page.form.action.partition("?")[0].removeprefix(browser.public_url)
    query = query_of(page.form.action)
    follow(verifying.browser(), verifying.link("tina@example.org"))
    tab = f"{url}?client_id=app&tab_id={query['tab_id']}"
    assert "code" not in planted.get(tab).response.headers.get("location", "")
    assert browser.get(tab).answer["code"]
