"""Recovery codes: how users get them, sign in with them, and get new ones. Keycloak: 16.1."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pyotp
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.one_time_devices import base32
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client
from tests.support.wire import DEVICE, DEVICE_KEY

ACTION: Final = "CONFIGURE_RECOVERY_AUTHN_CODES"
FORM: Final = "auth-recovery-authn-code-form"
TYPE: Final = "recovery-authn-codes"
WRONG: Final = "Invalid recovery authentication code"
CODES: Final = tuple(f"CODE{number:X>2}ABCDEF" for number in range(1, 13))
OLDER: Final[dict[str, Any]] = {"hashIterations": 1, "algorithm": "RS512"}
"""What Keycloak before 26.2 stored; the hash is the same."""


@pytest.fixture(scope="module")
def saved(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose browser flow offers recovery codes beside one-time codes."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "clients": [web_client("app")],
    }
    with administered_realm(administration, "saved", {}, **settings) as realm:
        executions = realm.get("authentication/flows/browser/executions")
        for each in executions:
            if each.get("providerId") == FORM:
                assert each["requirement"] == "DISABLED", "as in Keycloak"
                changed = {**each, "requirement": "ALTERNATIVE"}
                realm.change("PUT", "authentication/flows/browser/executions", changed)
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(saved: SignInRealm) -> None:
    saved.events()


def _hashed(code: str) -> str:
    return base64.b64encode(hashlib.sha512(code.encode()).digest()).decode()


def _codes(*left: str, first: int = 1, **data: Any) -> dict[str, Any]:
    """Return a credential as a realm file of Keycloak has it; `first` is the number of the next."""
    stored = {"algorithm": "SHA-512", "totalCodes": 12, "remainingCodes": len(left), **data}
    numbered = enumerate(left, first)
    codes = [{"number": number, "encodedHashedValue": _hashed(code)} for number, code in numbered]
    return {
        "type": TYPE,
        "userLabel": "Recovery codes",
        "credentialData": json.dumps(stored),
        "secretData": json.dumps({"codes": codes}),
    }


def _add(saved: SignInRealm, username: str, *credentials: dict[str, Any], **fields: Any) -> str:
    """Add a user with credentials, and return the path of the user."""
    document = person(username, **fields)
    document["credentials"] = [*document["credentials"], *credentials]
    return f"users/{saved.realm.change('POST', 'users', document)}"


def _held(saved: SignInRealm, user: str) -> list[dict[str, Any]]:
    found = saved.realm.get(f"{user}/credentials")
    return [one for one in found if one["type"] == TYPE]


def _shown(page: Page) -> list[str]:
    listed = re.search(r'<ol id="kc-recovery-codes-list".*?</ol>', page.html, re.DOTALL)
    assert listed is not None, page.text
    return re.findall(r"<li>([^<]*)</li>", listed.group())


def _use(browser: SignInBrowser, page: Page, code: str) -> Page:
    return browser.submit(page, recoveryCodeInput=code)


def _types(saved: SignInRealm) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in saved.events()]


def test_the_start_page_says_which_codes_are_missing(saved: SignInRealm) -> None:
    """Where a second factor could be lost, and the realm's flow takes codes."""
    few, many = _codes("FEWCODESABCD"), _codes(*(f"MANYCODES{n:03}" for n in range(12)))
    for username, credentials, missing in (
        ("otto", [DEVICE], ["You have no recovery codes"]),
        ("petra", [DEVICE, few], ["Few recovery codes are left"]),
        ("quinn", [DEVICE, many], []),
        ("rita", [], ["No second step protects your account"]),
    ):
        _add(saved, username, *credentials, email=f"{username}@saved.example")
        browser = saved.browser()
        page = browser.submit(
            browser.get("/realms/saved/account/"), username=username, password=PASSWORD
        )
        if credentials:
            page = browser.submit(page, otp=pyotp.TOTP(base32(DEVICE_KEY)).now())
        html = browser.get(page.location).html
        assert re.findall(r'<h3 class="row-title">([^<]*)<', html) == missing, username
        assert ("kc_action=" in html) is bool(missing)
        assert ("Nothing is missing" in html) is (not missing)
    saved.events()


def test_codes_are_shown_once_and_stored_as_keycloak_stores_them(saved: SignInRealm) -> None:
    user = _add(saved, "anna", _codes("FORMERCODEAB", "FORMERCODEAC"), requiredActions=[ACTION])
    [former] = _held(saved, user)
    browser = saved.browser()
    asked = browser.sign_in("anna")
    page = _use(browser, asked, "FORMERCODEAB")
    codes = _shown(page)
    assert len(set(codes)) == 12
    assert all(re.fullmatch(r"([A-NP-Z1-9]{4}-){2}[A-NP-Z1-9]{4}", code) for code in codes)
    names = {"generatedRecoveryAuthnCodes", "generatedAt", "userLabel", "logout-sessions"}
    assert names <= page.form.names
    assert "execution=CONFIGURE_RECOVERY_AUTHN_CODES" in page.form.action
    assert "required" in re.findall(r'id="kcRecoveryCodesConfirmationCheck"[^>]*', page.html)[0]
    saved.events()
    assert browser.submit(page).answer["code"]
    [event, login] = saved.events()
    assert (event["type"], login["type"]) == ("UPDATE_CREDENTIAL", "LOGIN")
    assert event["details"]["credential_type"] == TYPE
    [held] = _held(saved, user)
    assert held["id"] != former["id"]
    assert held["userLabel"] == "Recovery codes"
    assert held["createdDate"] == int(page.form.fields["generatedAt"])
    assert "secretData" not in held
    assert json.loads(held["credentialData"]) == {
        "algorithm": "SHA-512",
        "totalCodes": 12,
        "remainingCodes": 12,
    }
    assert saved.realm.get(user)["requiredActions"] == []


def test_only_the_codes_that_were_shown_are_taken(saved: SignInRealm) -> None:
    user = _add(saved, "bert", requiredActions=[ACTION])
    browser = saved.browser()
    page = browser.sign_in("bert")
    shown = _shown(page)
    for change in ({"generatedRecoveryAuthnCodes": ",".join(CODES)}, {"generatedAt": "1"}):
        page = browser.submit(page, **change)
        assert page.status == 200
        assert not set(_shown(page)) & {*shown, *CODES}
    assert _held(saved, user) == []
    assert browser.submit(page).answer["code"]
    browser = saved.browser()
    asked = browser.sign_in("bert")
    assert _use(browser, asked, _shown(page)[0]).answer["code"]


def test_a_page_of_new_codes_has_no_message(saved: SignInRealm) -> None:
    """The sign-in begins again in a session of the browser, as after a timeout."""
    _add(saved, "bell")
    browser = saved.browser()
    assert browser.sign_in("bell").answer["code"]
    page = browser.open(kc_action=ACTION)
    del browser.cookies["AUTH_SESSION_ID"]
    again = browser.submit(page)
    assert (len(_shown(again)), again.message) == (12, None)


def test_codes_are_asked_for_by_number_and_used_once(saved: SignInRealm) -> None:
    """`auth-recovery-authn-code-form`, as the only second factor."""
    assert FORM
    user = _add(saved, "carl", _codes(*CODES, **OLDER))
    for number, code in enumerate(CODES[:2], 1):
        browser = saved.browser()
        page = browser.sign_in("carl")
        assert f"Recovery code #{number}" in page.text
        for wrong in ("", "NOTACODEATAL", CODES[0] if number == 2 else CODES[1], CODES[11]):
            page = _use(browser, page, wrong)
            assert (page.status, page.message) == (200, WRONG)
            assert f"Recovery code #{number}" in page.text
        grouped = f"{code[:4]}-{code[4:8]}-{code[8:]}".lower()
        assert _use(browser, page, grouped).answer["code"]
        refused = [("LOGIN_ERROR", "invalid_user_credentials")] * 4
        assert _types(saved) == [*refused, ("LOGIN", None)]
    [held] = _held(saved, user)
    assert json.loads(held["credentialData"]) == {**OLDER, "totalCodes": 12, "remainingCodes": 10}


def test_new_codes_are_demanded_where_few_are_left(saved: SignInRealm) -> None:
    """`recoveryCodesWarningThreshold`, 4 where it is not set; `warning_threshold` of the action."""
    settings = f"authentication/required-actions/{ACTION}/config"
    described = saved.realm.get(f"authentication/required-actions/{ACTION}/config-description")
    assert "warning_threshold" in [each["name"] for each in described["properties"]]
    given = iter(range(100))

    def is_demanded(left: int) -> bool:
        name = f"few-{next(given)}"
        user = _add(saved, name, _codes(*CODES[: left + 1]))
        browser = saved.browser()
        page = _use(browser, browser.sign_in(name), CODES[0])
        demanded = page.status == 200
        assert saved.realm.get(user)["requiredActions"] == ([ACTION] if demanded else [])
        assert bool(_held(saved, user)) is bool(left), "a list without codes is removed"
        return demanded

    assert [is_demanded(left) for left in (0, 3, 4)] == [True, True, False]
    with saved.changed(passwordPolicy="recoveryCodesWarningThreshold(2)"):
        assert [is_demanded(left) for left in (1, 2)] == [True, False]
        saved.realm.change("PUT", settings, {"config": {"warning_threshold": "0"}})
        assert [is_demanded(left) for left in (0, 1)] == [True, False]
    saved.realm.change("DELETE", settings)


def test_no_one_has_to_do_what_the_realm_has_switched_off(saved: SignInRealm) -> None:
    user = _add(saved, "dora", _codes(CODES[0]))
    path = f"authentication/required-actions/{ACTION}"
    action = saved.realm.get(path)
    saved.realm.change("PUT", path, {**action, "enabled": False})
    browser = saved.browser()
    assert _use(browser, browser.sign_in("dora"), CODES[0]).answer["code"]
    saved.realm.change("PUT", path, action)
    assert saved.realm.get(user)["requiredActions"] == []


def test_wrong_codes_lock_the_account_and_use_up_nothing(saved: SignInRealm) -> None:
    """attacks: D3, D8."""
    user = _add(saved, "emil", _codes(*CODES))
    guard = {"bruteForceProtected": True, "failureFactor": 2, "quickLoginCheckMilliSeconds": 0}
    with saved.changed(**guard):
        browser = saved.browser()
        page = browser.sign_in("emil")
        other = saved.browser()
        waiting = other.sign_in("emil")
        page = _use(browser, page, "NOTACODEATAL")
        page = _use(browser, page, "NOTACODEATAL")
        assert "username" in page.form.names, "the password does not count any more"
        locked = _use(other, waiting, CODES[0])
        assert locked.status == 200
        assert "code" not in locked.response.headers.get("location", "")
    saved.realm.change("DELETE", f"attack-detection/brute-force/{user}")
    [held] = _held(saved, user)
    assert json.loads(held["credentialData"])["remainingCodes"] == 12


def test_a_user_without_the_device_takes_the_other_way(saved: SignInRealm) -> None:
    device = {
        "type": "otp",
        "credentialData": json.dumps({"subType": "totp", "digits": 6, "period": 30}),
        "secretData": json.dumps({"value": "12345678901234567890"}),
    }
    _add(saved, "fred", device, _codes(*CODES))
    browser = saved.browser()
    page = browser.sign_in("fred")
    assert "otp" in page.form.names
    ways = browser.post(page.form.action, {"tryAnotherWay": "on"})
    assert "Recovery authentication code" in ways.text
    [chosen] = [
        execution
        for execution, text in re.findall(
            r'value="([^"]*)"[^>]*>(.*?)</button>', ways.html, re.DOTALL
        )
        if "Recovery" in text
    ]
    page = browser.post(ways.form.action, {"authenticationExecution": chosen})
    assert "Recovery code #1" in page.text
    assert _use(browser, page, CODES[0]).answer["code"]


def test_a_required_form_sets_up_codes_for_users_without(saved: SignInRealm) -> None:
    flow = "with-recovery-codes"
    saved.realm.change("POST", "authentication/flows/browser/copy", {"newName": flow})
    executions = saved.realm.get(f"authentication/flows/{flow}/executions")
    for each in executions:
        wanted = {FORM: "REQUIRED", "auth-otp-form": "DISABLED"}.get(each.get("providerId", ""))
        if "Conditional 2FA" in each["displayName"]:
            wanted = "REQUIRED"
        if each.get("providerId") in {"conditional-user-configured", "conditional-credential"}:
            wanted = "DISABLED"
        if wanted is not None:
            path = f"authentication/flows/{flow}/executions"
            saved.realm.change("PUT", path, {**each, "requirement": wanted})
    _add(saved, "gina")
    with saved.changed(browserFlow=flow):
        browser = saved.browser()
        page = browser.sign_in("gina")
        code = _shown(page)[0]
        assert browser.submit(page).answer["code"]
        browser = saved.browser()
        assert _use(browser, browser.sign_in("gina"), code).answer["code"]


def test_an_administrator_exports_and_removes_codes(saved: SignInRealm) -> None:
    left = _codes(*CODES[3:], first=4)
    user = _add(saved, "hans", left)
    [held] = _held(saved, user)
    assert "Recovery code #4" in saved.browser().sign_in("hans").text
    command = saved.realm.administration.command(
        "realm", "export", saved.realm.name, "--include-secrets"
    )
    [hans] = [one for one in json.loads(command.stdout)["users"] if one["username"] == "hans"]
    [moved] = [one for one in hans["credentials"] if one["type"] == TYPE]
    assert {name: moved[name] for name in left} == left
    saved.realm.change("DELETE", f"{user}/credentials/{held['id']}")
    assert saved.browser().sign_in("hans").answer["code"]
