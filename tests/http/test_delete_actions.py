"""What users delete themselves: a credential, or the account. Keycloak: 16.1, step-up (26.7)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx2
import pyotp
import pytest

from gateway.domain.flows import DEFAULT_ACTIONS
from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.leveled_flows import LEVEL_CONFIGS, client_with_flow, leveled_flows
from tests.support.one_time_devices import base32
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser, SignInRealm, web_client
from tests.support.wire import DEVICE, DEVICE_KEY

_LAST_FACTOR: Final = (
    "This is your last second factor. Once it is deleted, the password alone protects your account."
)
_LAST: Final = (
    "This is your last credential. Once it is deleted, you cannot sign in any more until an"
    " administrator helps you."
)
_PHONE: Final = {**DEVICE, "id": None, "userLabel": "phone"}
_TABLET: Final = {**DEVICE, "id": None, "userLabel": "tablet"}
_RECOVERY: Final = {
    "type": "recovery-authn-codes",
    "credentialData": '{"algorithm":"SHA-512","totalCodes":12,"remainingCodes":0}',
    "secretData": '{"codes":[]}',
}


@pytest.fixture(scope="module")
def deleting(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose users may delete their credentials and, with a role, their accounts."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "otpPolicyCodeReusable": True,
        "authenticationFlows": leveled_flows("auth-otp-form"),
        "authenticatorConfig": LEVEL_CONFIGS,
        "browserFlow": "passwords-alone",
        "clients": [
            web_client("app", baseUrl=CALLBACK),
            client_with_flow("stepped", "levels"),
            client_with_flow("renaming", "levels", attributes={"acr.loa.map": '{"1": 9}'}),
            client_with_flow("codes", "codes-alone"),
        ],
    }
    with administered_realm(administration, "deletions", {}, **settings) as realm:
        found = SignInRealm(realm)
        _enable(found, "delete_account")
        yield found


@pytest.fixture(autouse=True)
def nothing_yet(deleting: SignInRealm) -> None:
    deleting.events()


def _enable(deleting: SignInRealm, alias: str, *, enabled: bool = True) -> None:
    path = f"authentication/required-actions/{alias}"
    deleting.realm.change("PUT", path, {**deleting.realm.get(path), "enabled": enabled})


def _add(deleting: SignInRealm, username: str, *credentials: Mapping[str, Any]) -> str:
    document = person(username)
    document["credentials"] = [*document["credentials"], *credentials]
    return f"users/{deleting.realm.change('POST', 'users', document)}"


def _held(deleting: SignInRealm, user: str) -> dict[str, str]:
    """Return the ids of credentials by label, or by type without one."""
    found = deleting.realm.get(f"{user}/credentials")
    return {one.get("userLabel") or one["type"]: one["id"] for one in found}


def _signed_in(deleting: SignInRealm, username: str) -> SignInBrowser:
    browser = deleting.browser()
    assert browser.sign_in(username).answer["code"]
    deleting.events()
    return browser


def _asked(browser: SignInBrowser, credential: str, client_id: str = "app") -> Page:
    return browser.open(client_id, kc_action=f"delete_credential:{credential}")


def _confirm(browser: SignInBrowser, page: Page) -> Page:
    return browser.submit(page, accept="on")


def _result(page: Page) -> tuple[str, str]:
    answer = page.answer
    assert answer["code"]
    return answer["kc_action"], answer["kc_action_status"]


def _code() -> str:
    return pyotp.TOTP(base32(DEVICE_KEY)).now()


def _types(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in events]


def test_a_user_deletes_a_device(deleting: SignInRealm) -> None:
    anna = _add(deleting, "anna", _PHONE, _TABLET)
    browser, phone = _signed_in(deleting, "anna"), _held(deleting, anna)["phone"]
    page = _asked(browser, phone)
    assert (page.id, page.message) == ("delete-credential", None)
    assert "Delete phone" in page.text
    assert "Do you want to delete phone?" in page.text
    assert 'id="kc-accept"' in page.html
    assert 'id="kc-decline"' in page.html
    again = browser.post(page.form.action, {})
    assert again.id == "delete-credential", "nothing was confirmed"
    assert _result(_confirm(browser, again)) == ("delete_credential", "success")
    assert set(_held(deleting, anna)) == {"password", "tablet"}
    [old, new, login] = deleting.events()
    assert _types([old, new, login]) == [
        ("REMOVE_TOTP", None),
        ("REMOVE_CREDENTIAL", None),
        ("LOGIN", None),
    ]
    for event in (old, new):
        details = event["details"]
        assert details["credential_id"] == phone
        assert details["credential_type"] == "otp"
        assert details["credential_user_label"] == "phone"
        assert details["custom_required_action"] == "delete_credential"


def test_a_user_is_warned_of_what_the_last_credential_means(deleting: SignInRealm) -> None:
    bert = _add(deleting, "bert", {**_PHONE, "userLabel": None}, _RECOVERY)
    browser, held = _signed_in(deleting, "bert"), _held(deleting, bert)
    page = _asked(browser, held["otp"])
    assert (page.message, "Authenticator application?" in page.text) == (None, True)
    deleting.realm.change("DELETE", f"{bert}/credentials/{held['recovery-authn-codes']}")
    warned = _confirm(browser, page)
    assert (warned.id, warned.message) == ("delete-credential", _LAST_FACTOR)
    assert set(_held(deleting, bert)) == {"password", "otp"}, "there was no such warning before"
    deleting.realm.change("DELETE", f"{bert}/credentials/{held['password']}")
    browser = deleting.browser()
    page = _asked(browser, held["otp"], "codes")
    page = browser.submit(browser.submit(page, username="bert"), otp=_code())
    assert (page.id, page.message) == ("delete-credential", _LAST)
    assert _result(_confirm(browser, page)) == ("delete_credential", "success")
    assert _held(deleting, bert) == {}


@pytest.mark.parametrize("is_set_up", [True, False])
def test_a_second_factor_is_deleted_by_a_user_who_has_proven_one(
    deleting: SignInRealm, *, is_set_up: bool
) -> None:
    """Recovery codes are of no level, and neither is what a user has not set up."""
    name = f"carl-{is_set_up}".lower()
    carl = _add(deleting, name, _RECOVERY, *((_PHONE, _TABLET) if is_set_up else ()))
    held = _held(deleting, carl)
    with deleting.changed(browserFlow="levels"):
        browser = _signed_in(deleting, name)
        assert _asked(browser, held["recovery-authn-codes"]).id == "delete-credential"
        page = browser.open(kc_action="CONFIGURE_TOTP")
        assert page.id == ("login-otp" if is_set_up else "login-config-totp")
        if not is_set_up:
            return
        page = _asked(browser, held["phone"])
        assert (page.id, page.message) == (
            "login-otp",
            "Strong authentication required to continue",
        )
        page = browser.submit(page, otp=_code(), selectedCredentialId=held["tablet"])
        assert page.id == "delete-credential"
        assert _result(_confirm(browser, page)) == ("delete_credential", "success")


def test_a_sign_in_below_the_level_deletes_nothing(deleting: SignInRealm) -> None:
    """A client whose own flow has no levels does not lead around those of the realm."""
    dora = _add(deleting, "dora", _PHONE)
    browser, held = _signed_in(deleting, "dora"), _held(deleting, dora)
    page = _asked(browser, held["phone"])
    assert page.id == "delete-credential"
    flow = {"authenticationFlowBindingOverrides": {"browser": "id-of-passwords-alone"}}
    [app] = deleting.realm.get("clients?clientId=app")
    deleting.realm.change("PUT", f"clients/{app['id']}", {**app, **flow})
    try:
        page = _asked(browser, held["phone"])
        with deleting.changed(browserFlow="levels"):
            assert _result(_asked(browser, held["phone"])) == ("delete_credential", "error")
            assert _result(_confirm(browser, page)) == ("delete_credential", "error")
    finally:
        overrides = {"authenticationFlowBindingOverrides": {"browser": ""}}
        deleting.realm.change("PUT", f"clients/{app['id']}", {**app, **overrides})
    assert "phone" in _held(deleting, dora)
    events = deleting.events()
    failed = [("REMOVE_TOTP_ERROR", "delete_credential_failed")]
    failed += [("REMOVE_CREDENTIAL_ERROR", "delete_credential_failed")]
    assert _types(events) == [*failed, ("LOGIN", None)] * 2
    assert events[0]["details"]["reason"] == (
        "Insufficient level of authentication for removing credential of type 'otp'."
    )


def test_a_name_of_a_level_gives_no_level(deleting: SignInRealm) -> None:
    """What a client calls a level decides nothing about what its users have proven."""
    user = _add(deleting, "nora", _PHONE)
    phone = f"/realms/{deleting.realm.name}/account/credentials/{_held(deleting, user)['phone']}"

    def deleted(browser: SignInBrowser, page: Page) -> int:
        tokens = browser.redeem(page.answer["code"], "renaming").json()
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        return browser.http.delete(phone, headers=bearer).status_code

    with deleting.changed(browserFlow="levels"):
        browser = deleting.browser()
        assert deleted(browser, browser.sign_in("nora", "renaming")) == 403
        page = browser.open("renaming", acr_values="2")
        assert deleted(browser, browser.submit(page, otp=_code())) == 204


def test_nothing_else_is_deleted(deleting: SignInRealm) -> None:
    """No password, no credential of another user, none that does not exist, none without an id."""
    emma, fred = _add(deleting, "emma"), _add(deleting, "fred", _PHONE)
    browser = _signed_in(deleting, "emma")
    password, foreign = _held(deleting, emma)["password"], _held(deleting, fred)["phone"]
    asked = (
        (f"delete_credential:{password}", "REMOVE_CREDENTIAL_ERROR", "delete_credential_failed"),
        (f"delete_credential:{foreign}", "CUSTOM_REQUIRED_ACTION_ERROR", "credential_not_found"),
        ("delete_credential:otp-id", "CUSTOM_REQUIRED_ACTION_ERROR", "credential_not_found"),
        ("delete_credential", "CUSTOM_REQUIRED_ACTION_ERROR", "missing_credential_id"),
    )
    for action, kind, error in asked:
        assert _result(browser.open(kc_action=action)) == ("delete_credential", "error")
        assert _types(deleting.events()) == [(kind, error), ("LOGIN", None)]
    assert "password" in _held(deleting, emma)
    assert "phone" in _held(deleting, fred)
    deleting.realm.change("PUT", emma, {"requiredActions": ["delete_credential"]})
    assert browser.open().answer["code"], "an administrator names no credential"
    assert _types(deleting.events())[0][1] == "missing_credential_id"


def test_a_deletion_may_be_cancelled(deleting: SignInRealm) -> None:
    gina = _add(deleting, "gina", _PHONE)
    browser, held = _signed_in(deleting, "gina"), _held(deleting, gina)
    page = _asked(browser, held["phone"])
    cancelled = browser.submit(page, **{"cancel-aia": "true"})
    assert _result(cancelled) == ("delete_credential", "cancelled")
    assert "phone" in _held(deleting, gina)


def _allow(deleting: SignInRealm, user: str, method: str = "POST") -> None:
    """Grant the role to delete the own account, or take it back."""
    [client] = deleting.realm.get("clients?clientId=account")
    role = deleting.realm.get(f"clients/{client['id']}/roles/delete-account")
    deleting.realm.change(method, f"{user}/role-mappings/clients/{client['id']}", [role])


def _to_deletion(browser: SignInBrowser) -> Page:
    """Ask for the deletion; the password is asked for each time."""
    page = browser.open(kc_action="delete_account")
    assert "password" in page.form.names
    return browser.submit(page, password=PASSWORD)


def test_a_user_deletes_the_account(deleting: SignInRealm) -> None:
    hugo = _add(deleting, "hugo")
    _allow(deleting, hugo)
    elsewhere, browser = _signed_in(deleting, "hugo"), deleting.browser()
    offline = browser.sign_in("hugo", scope="openid offline_access").answer["code"]
    tokens = browser.redeem(offline).json()
    deleting.events()
    page = _to_deletion(browser)
    assert page.id == "delete-account-confirm"
    assert "This action is irreversible" in page.text
    assert page.form_with_id("kc-deleteaccount-form") == page.form
    cancelled = browser.submit(page, **{"cancel-aia": "true"})
    assert _result(cancelled) == ("delete_account", "cancelled")
    deleting.events()
    done = _confirm(browser, _to_deletion(browser))
    assert (done.status, done.id, done.text.count("User deleted successfully")) == (200, "info", 1)
    assert f'href="{CALLBACK}"' in done.html
    assert "Max-Age=0" in done.set_cookies["KEYCLOAK_IDENTITY"]
    assert deleting.realm.ask("GET", hugo).status_code == httpx2.codes.NOT_FOUND
    [event] = deleting.events()
    assert (event["type"], event.get("error"), event["clientId"]) == ("DELETE_ACCOUNT", None, "app")
    assert f"users/{event['userId']}" == hugo
    assert elsewhere.open(prompt="none").answer["error"] == "login_required"
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    form |= {"client_id": "app", "client_secret": SECRET}
    refreshed = browser.http.post(browser.protocol("token"), data=form)
    assert refreshed.status_code == httpx2.codes.BAD_REQUEST
    assert browser.sign_in("hugo").message == "Invalid username or password."


def test_an_account_is_deleted_with_the_role_alone(deleting: SignInRealm) -> None:
    ines = _add(deleting, "ines")
    browser = _signed_in(deleting, "ines")
    refused = _to_deletion(browser)
    text = "You do not have enough permissions to delete your own account"
    assert (refused.status, text in refused.text) == (403, True)
    _allow(deleting, ines)
    page = _to_deletion(browser)
    _allow(deleting, ines, "DELETE")
    deleting.events()
    assert _confirm(browser, page).status == 403
    [event] = deleting.events()
    assert _types([event]) == [("DELETE_ACCOUNT_ERROR", "user_delete_error")]
    assert event["details"]["reason"] == "does not have the required roles for user deletion"
    _enable(deleting, "delete_account", enabled=False)
    assert _result(_to_deletion(browser)) == ("delete_account", "error")
    _enable(deleting, "delete_account")
    assert deleting.realm.get(ines)["username"] == "ines"


_PAGES: Final = {
    "CONFIGURE_RECOVERY_AUTHN_CODES": "login-recovery-authn-code-config",
    "CONFIGURE_TOTP": "login-config-totp",
    "TERMS_AND_CONDITIONS": "terms",
    "UPDATE_EMAIL": "update-email",
    "UPDATE_PASSWORD": "login-update-password",
    "UPDATE_PROFILE": "login-update-profile",
    "VERIFY_EMAIL": "login-verify-email",
    "delete_account": "delete-account-confirm",
    "webauthn-register": "webauthn-register",
    "webauthn-register-passwordless": "webauthn-register",
}
"""Where an administrator requires an action of a user: its page."""
_WITHOUT_PAGE: Final = {"VERIFY_PROFILE", "delete_credential"}
"""Nothing is left to do: the profile is complete, and no credential is named."""


def test_every_action_that_is_listed_has_a_page_or_is_refused(deleting: SignInRealm) -> None:
    listed = {each["alias"] for each in deleting.realm.get("authentication/required-actions")}
    assert listed == {each.alias for each in DEFAULT_ACTIONS}
    for alias in sorted(listed):
        _enable(deleting, alias)
        user = _add(deleting, f"has-{alias}".lower())
        deleting.realm.change("PUT", user, {"email": f"has-{alias}@x.test"})
        _allow(deleting, user)
        deleting.realm.change("PUT", user, {"requiredActions": [alias]})
        page = deleting.browser().sign_in(f"has-{alias}".lower())
        if alias in _WITHOUT_PAGE:
            assert page.answer["code"], alias
        elif alias in _PAGES:
            assert (page.status, page.id) == (200, _PAGES[alias]), alias
            assert "cancel-aia" not in page.form.names, alias
        else:
            assert (page.status, page.id) == (400, "required-action"), alias
