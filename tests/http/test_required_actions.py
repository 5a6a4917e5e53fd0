"""What users have to do before a sign-in succeeds, on pages. Keycloak: 5, 6, 12.12."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyotp
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import (
    CALLBACK,
    Page,
    SignInBrowser,
    SignInRealm,
    web_client,
    with_query,
)

NEW = "another-Passw0rd"


@pytest.fixture(scope="module")
def acting(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm in which users have to do something."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "passwordPolicy": "length(12) and passwordHistory(3)",
        "displayName": "Acme: <b>North</b>",
        "clients": [web_client("app"), web_client("other")],
    }
    with administered_realm(administration, "acting", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(acting: SignInRealm) -> None:
    acting.events()


def _add(acting: SignInRealm, username: str, *actions: str) -> str:
    """Add a user who has to do something, and return the path of the user."""
    document = person(username, requiredActions=list(actions))
    return f"users/{acting.realm.change('POST', 'users', document)}"


def _required(acting: SignInRealm, user: str) -> list[str]:
    found: list[str] = acting.realm.get(user)["requiredActions"]
    return found


def _enroll(browser: SignInBrowser, page: Page, **fields: str) -> Page:
    code = _totp(page).now()
    return browser.submit(page, totp=code, **fields)


def _totp(page: Page) -> pyotp.TOTP:
    shown = re.search(r'id="kc-totp-secret-key"[^>]*>([^<]*)<', page.html)
    assert shown is not None
    return pyotp.TOTP(shown.group(1).replace(" ", ""))


def _types(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in events]


def test_a_new_password_is_set_before_the_client_gets_a_code(acting: SignInRealm) -> None:
    anna = _add(acting, "anna", "UPDATE_PASSWORD")
    browser = acting.browser()
    page = browser.sign_in("anna")
    assert page.id == "login-update-password"
    assert page.message == "You need to change your password to activate your account."
    assert {"password-new", "password-confirm", "logout-sessions"} <= page.form.names
    assert "/login-actions/required-action?" in page.form.action
    assert "execution=UPDATE_PASSWORD" in page.form.action
    assert "KEYCLOAK_IDENTITY" not in page.set_cookies
    done = browser.submit(page, **{"password-new": NEW, "password-confirm": NEW})
    assert done.answer["code"]
    assert _required(acting, anna) == []
    events = acting.events()
    assert _types(events) == [
        ("UPDATE_PASSWORD", None),
        ("UPDATE_CREDENTIAL", None),
        ("LOGIN", None),
    ]
    assert f"users/{events[0]['userId']}" == anna
    assert events[0]["clientId"] == "app"
    assert all(event["details"].pop("code_id") for event in events)
    for event in events[:2]:
        assert "sessionId" not in event
        assert event["details"] == {
            "auth_method": "openid-connect",
            "credential_type": "password",
            "custom_required_action": "UPDATE_PASSWORD",
            "redirect_uri": CALLBACK,
            "response_mode": "query",
            "response_type": "code",
            "username": "anna",
        }
    again = acting.browser()
    assert again.submit(again.open(), username="anna", password=NEW).answer["code"]
    assert acting.browser().sign_in("anna").message == "Invalid username or password."


@pytest.mark.parametrize(
    ("given", "confirmed", "message", "error"),
    [
        ("", "", "Please specify password.", "password_missing"),
        ("   ", "   ", "Please specify password.", "password_missing"),
        (NEW, "another-Passw0re", "Passwords don't match.", "password_confirm_error"),
        ("short", "short", "Invalid password: minimum length 12.", "password_rejected"),
        (
            PASSWORD,
            PASSWORD,
            "Invalid password: must not be equal to any of last 3 passwords.",
            "password_rejected",
        ),
    ],
)
def test_a_password_that_breaks_a_rule_is_asked_for_again(
    acting: SignInRealm, given: str, confirmed: str, message: str, error: str
) -> None:
    user = _add(acting, f"with-{error}-{len(given)}", "UPDATE_PASSWORD")
    browser = acting.browser()
    page = browser.sign_in(f"with-{error}-{len(given)}")
    again = browser.submit(page, **{"password-new": given, "password-confirm": confirmed})
    assert (again.status, again.message) == (200, message)
    assert given.strip() == "" or given not in again.html
    assert _types(acting.events()) == [
        ("UPDATE_PASSWORD_ERROR", error),
        ("UPDATE_CREDENTIAL_ERROR", error),
    ]
    assert _required(acting, user) == ["UPDATE_PASSWORD"]


def test_password_refusals_are_in_the_language_of_the_page(
    acting: SignInRealm,
) -> None:
    _add(acting, "bert", "UPDATE_PASSWORD")
    acting.realm.change(
        "PUT", "", {"internationalizationEnabled": True, "supportedLocales": ["en", "de"]}
    )
    browser = acting.browser()
    page = browser.sign_in("bert", ui_locales="de")
    again = browser.submit(page, **{"password-new": "kurz", "password-confirm": "kurz"})
    assert again.message == "Ungültiges Passwort: mindestens 12 Zeichen."
    acting.realm.change("PUT", "", {"internationalizationEnabled": False})


@pytest.mark.parametrize("wanted", [False, True])
def test_other_sessions_end_where_the_user_wants_it(acting: SignInRealm, *, wanted: bool) -> None:
    name = f"ends-{wanted}".lower()
    user, elsewhere, browser = _add(acting, name), acting.browser(), acting.browser()
    assert elsewhere.sign_in(name).answer["code"]
    acting.realm.change("PUT", user, {"requiredActions": ["UPDATE_PASSWORD"]})
    page = browser.sign_in(name)
    assert page.form.fields["logout-sessions"] == "on"
    kept = {} if wanted else {"logout-sessions": "off"}
    done = browser.submit(page, **{"password-new": NEW, "password-confirm": NEW, **kept})
    assert done.answer["code"]
    assert ("error" in elsewhere.open(prompt="none").answer) is wanted
    assert "code" in browser.open(prompt="none").answer


def test_a_device_is_stored_once_its_code_is_right(acting: SignInRealm) -> None:
    dora = _add(acting, "dora", "CONFIGURE_TOTP")
    browser = acting.browser()
    page = browser.sign_in("dora")
    assert {"totp", "totpSecret", "userLabel"} <= page.form.names
    secret = page.form.fields["totpSecret"]
    wrong = browser.submit(page, totp="000000", userLabel="Phone")
    assert wrong.message == "Invalid authenticator code."
    assert wrong.form.fields["totpSecret"] == secret
    assert wrong.form.fields["userLabel"] == "Phone"
    done = _enroll(browser, wrong, userLabel="Phone")
    assert done.answer["code"]
    [device] = [one for one in acting.realm.get(f"{dora}/credentials") if one["type"] == "otp"]
    assert device["userLabel"] == "Phone"
    assert _types(acting.events()) == [
        ("UPDATE_TOTP_ERROR", "invalid_user_credentials"),
        ("UPDATE_CREDENTIAL_ERROR", "invalid_user_credentials"),
        ("UPDATE_TOTP", None),
        ("UPDATE_CREDENTIAL", None),
        ("LOGIN", None),
    ]
    again = acting.browser()
    asked = again.sign_in("dora")
    assert "otp" in asked.form.names
    used = again.submit(asked, otp=_totp(page).now())
    assert used.message == "Invalid authenticator code.", "the code of the set-up is used"


def test_only_the_secret_that_was_shown_is_taken(acting: SignInRealm) -> None:
    emma = _add(acting, "emma", "CONFIGURE_TOTP")
    browser = acting.browser()
    page = browser.sign_in("emma")
    own = "aaaaaaaaaaaaaaaaaaaa"
    code = pyotp.TOTP("MFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLB").now()
    again = browser.submit(page, totpSecret=own, totp=code)
    assert again.status == 200
    assert again.form.fields["totpSecret"] not in {own, page.form.fields["totpSecret"]}
    assert _required(acting, emma) == ["CONFIGURE_TOTP"]


def test_the_device_is_made_as_the_realm_wants_it(acting: SignInRealm) -> None:
    policy = {
        "otpPolicyType": "hotp",
        "otpPolicyAlgorithm": "HmacSHA256",
        "otpPolicyDigits": 8,
        "otpPolicyInitialCounter": 7,
        "otpPolicyPeriod": 45,
    }
    before = {name: acting.realm.get("")[name] for name in policy}
    acting.realm.change("PUT", "", {**policy, "otpPolicyType": "totp"})
    _add(acting, "erik", "CONFIGURE_TOTP")
    browser = acting.browser()
    timed = browser.sign_in("erik")
    assert 'id="kc-totp-period">45<' in timed.html
    acting.realm.change("PUT", "", policy)
    page = browser.get(with_query(timed.form.action, session_code=None))
    for name, shown in (("type", "Counter-based"), ("algorithm", "SHA256"), ("digits", "8")):
        assert f'id="kc-totp-{name}">{shown}<' in page.html
    counted = pyotp.HOTP(_totp(page).secret, digits=8, digest="sha256")
    assert browser.submit(page, totp=counted.at(7)).answer["code"]
    acting.realm.change("PUT", "", before)
    again = acting.browser()
    asked = again.sign_in("erik")
    assert again.submit(asked, otp=counted.at(7)).message == "Invalid authenticator code."
    assert again.submit(again.sign_in("erik"), otp=counted.at(8)).answer["code"]


def test_terms_are_accepted_or_the_client_gets_the_refusal(acting: SignInRealm) -> None:
    acting.realm.change(
        "PUT",
        "authentication/required-actions/TERMS_AND_CONDITIONS",
        {
            "alias": "TERMS_AND_CONDITIONS",
            "name": "Terms and Conditions",
            "providerId": "TERMS_AND_CONDITIONS",
            "enabled": True,
            "priority": 20,
        },
    )
    fred = _add(acting, "fred", "TERMS_AND_CONDITIONS")
    browser = acting.browser()
    page = browser.sign_in("fred")
    assert {"accept", "cancel"} <= page.form.names
    declined = browser.post(page.form.action, {"cancel": "on"})
    assert declined.answer["error"] == "access_denied"
    assert declined.answer["error_description"] == "termsAndConditionsDeclined"
    [event] = acting.events()
    assert _types([event]) == [("CUSTOM_REQUIRED_ACTION_ERROR", "rejected_by_user")]
    assert f"users/{event['userId']}" == fred
    assert event["details"]["custom_required_action"] == "TERMS_AND_CONDITIONS"
    assert event["details"]["username"] == "fred"
    browser = acting.browser()
    page = browser.sign_in("fred")
    assert browser.post(page.form.action, {"accept": "on"}).answer["code"]
    [accepted, login] = acting.events()
    assert (accepted["type"], login["type"]) == ("CUSTOM_REQUIRED_ACTION", "LOGIN")
    assert accepted["details"]["custom_required_action"] == "TERMS_AND_CONDITIONS"
    user = acting.realm.get(fred)
    [stored] = user["attributes"]["terms_and_conditions"]
    assert abs(datetime.fromtimestamp(int(stored), UTC) - datetime.now(UTC)).total_seconds() < 60


def test_actions_come_in_the_order_of_the_realm(acting: SignInRealm) -> None:
    _add(acting, "gina", "UPDATE_PASSWORD", "CONFIGURE_TOTP", "unknown-action")
    browser = acting.browser()
    page = browser.sign_in("gina")
    assert "totp" in page.form.names
    page = _enroll(browser, page)
    assert "password-new" in page.form.names
    assert browser.submit(page, **{"password-new": NEW, "password-confirm": NEW}).answer["code"]


def test_a_form_of_an_action_cannot_be_sent_twice_or_for_another(acting: SignInRealm) -> None:
    hugo = _add(acting, "hugo", "UPDATE_PASSWORD", "CONFIGURE_TOTP")
    browser = acting.browser()
    page = browser.sign_in("hugo")
    other = page.form.action.replace("CONFIGURE_TOTP", "UPDATE_PASSWORD")
    skipped = browser.post(other, {"password-new": NEW, "password-confirm": NEW})
    assert "code" not in skipped.response.headers.get("location", "")
    assert _required(acting, hugo) == ["UPDATE_PASSWORD", "CONFIGURE_TOTP"]
    consent = page.form.action.replace("required-action", "consent")
    assert browser.post(consent, {"accept": "on"}).status == 200
    authenticate = page.form.action.replace("required-action", "authenticate")
    tried = browser.post(authenticate, {"username": "hugo", "password": PASSWORD})
    assert tried.status == 200
    assert _required(acting, hugo) == ["UPDATE_PASSWORD", "CONFIGURE_TOTP"]


def test_without_pages_the_client_learns_of_pending_actions(acting: SignInRealm) -> None:
    ines, browser = _add(acting, "ines"), acting.browser()
    assert browser.sign_in("ines").answer["code"]
    acting.realm.change("PUT", ines, {"requiredActions": ["UPDATE_PASSWORD"]})
    assert browser.open(prompt="none").answer["error"] == "interaction_required"
    assert "password-new" in browser.open("other").form.names


def test_an_action_withdrawn_by_an_administrator_is_skipped(acting: SignInRealm) -> None:
    jens = _add(acting, "jens", "UPDATE_PASSWORD")
    browser = acting.browser()
    page = browser.sign_in("jens")
    acting.realm.change("PUT", jens, {"requiredActions": []})
    fields = {"password-new": "ignored-Passw0rd", "password-confirm": "ignored-Passw0rd"}
    assert browser.submit(page, **fields).answer["code"]
    assert acting.browser().sign_in("jens").answer["code"], "the password is the old one"


def test_the_uri_of_the_qr_code_is_made_of_escaped_names(acting: SignInRealm) -> None:
    _add(acting, "o'neil&co", "CONFIGURE_TOTP")
    page = acting.browser().sign_in("o'neil&co")
    assert "<b>North" not in page.html
    assert "<script>" not in page.html
    assert re.search(r'<svg[^>]*class="qr"[^>]*><path d="(M\d+ \d+h\d+v1h-\d+z)+"/>', page.html)


def test_pages_after_the_password_are_in_the_users_language(
    acting: SignInRealm,
) -> None:
    user = _add(acting, "klara", "UPDATE_PASSWORD")
    acting.realm.change("PUT", user, {"attributes": {"locale": ["fr"]}})
    locales = {"internationalizationEnabled": True, "supportedLocales": ["en", "de", "fr"]}
    acting.realm.change("PUT", "", locales)
    browser = acting.browser()
    assert 'lang="en"' in browser.open().html
    page = browser.sign_in("klara", ui_locales="de")
    assert 'lang="fr"' in page.html
    chosen = browser.get(with_query(page.form.action, session_code=None, kc_locale="de"))
    assert 'lang="de"' in chosen.html
    again = browser.submit(chosen, **{"password-new": "x", "password-confirm": "x"})
    assert 'lang="de"' in again.html
    acting.realm.change("PUT", "", {"internationalizationEnabled": False})


def _asked_for(browser: SignInBrowser, action: str, **parameters: str) -> Page:
    return browser.open(kc_action=action, **parameters)


def test_a_client_requests_an_action_and_gets_its_outcome(acting: SignInRealm) -> None:
    _add(acting, "lars")
    browser = acting.browser()
    browser.sign_in("lars")
    page = _asked_for(browser, "UPDATE_PASSWORD")
    assert {"password-new", "cancel-aia"} <= page.form.names
    assert page.message is None, "the account needs nothing"
    done = browser.submit(page, **{"password-new": NEW, "password-confirm": NEW}).answer
    assert (done["kc_action"], done["kc_action_status"]) == ("UPDATE_PASSWORD", "success")
    assert done["code"]
    assert "kc_action_status" not in browser.open().answer


def test_what_no_one_requires_may_be_cancelled(acting: SignInRealm) -> None:
    mona = _add(acting, "mona")
    browser = acting.browser()
    browser.sign_in("mona")
    page = _asked_for(browser, "CONFIGURE_TOTP")
    assert page.message is None, "the account needs nothing"
    cancelled = browser.post(page.form.action, {"cancel-aia": "true"}).answer
    assert (cancelled["kc_action_status"], "code" in cancelled) == ("cancelled", True)
    [*_, refused, login] = acting.events()
    assert _types([refused, login]) == [
        ("CUSTOM_REQUIRED_ACTION_ERROR", "rejected_by_user"),
        ("LOGIN", None),
    ]
    assert refused["details"]["custom_required_action"] == "CONFIGURE_TOTP"
    acting.realm.change("PUT", mona, {"requiredActions": ["CONFIGURE_TOTP"]})
    page = _asked_for(browser, "CONFIGURE_TOTP")
    assert "cancel-aia" not in page.form.names
    assert (
        page.message == "You need to set up an authenticator application to activate your account."
    )
    again = browser.submit(page, **{"cancel-aia": "true"})
    assert "totp" in again.form.names


def test_what_is_required_comes_before_what_the_client_asks_for(acting: SignInRealm) -> None:
    """Also where the action that the client asks for comes first in the order of the realm."""
    _add(acting, "maud", "UPDATE_PASSWORD")
    browser = acting.browser()
    page = browser.sign_in("maud", kc_action="CONFIGURE_TOTP")
    assert "password-new" in page.form.names
    assert "cancel-aia" not in page.form.names
    page = browser.submit(page, **{"password-new": NEW, "password-confirm": NEW})
    assert {"totp", "cancel-aia"} <= page.form.names
    assert _enroll(browser, page).answer["kc_action_status"] == "success"


def test_devices_have_different_names(acting: SignInRealm) -> None:
    milo = _add(acting, "milo", "CONFIGURE_TOTP")
    browser = acting.browser()
    assert _enroll(browser, browser.sign_in("milo"), userLabel="Phone").answer["code"]
    page = _asked_for(browser, "CONFIGURE_TOTP")
    again = _enroll(browser, page, userLabel="Phone ")
    assert again.message == "Device already exists with the same name"
    assert _enroll(browser, again, userLabel="Tablet").answer["code"]
    labels = [one.get("userLabel") for one in acting.realm.get(f"{milo}/credentials")]
    assert labels[1:] == ["Phone", "Tablet"]


def test_the_button_that_cancels_has_keycloaks_ids(acting: SignInRealm) -> None:
    _add(acting, "mira")
    browser = acting.browser()
    browser.sign_in("mira")
    assert '<button id="kc-cancel"' in _asked_for(browser, "UPDATE_PASSWORD").html
    assert '<button id="cancelTOTPBtn"' in _asked_for(browser, "CONFIGURE_TOTP").html


def test_an_action_unknown_to_the_realm_is_an_error(
    acting: SignInRealm,
) -> None:
    _add(acting, "nils")
    browser = acting.browser()
    browser.sign_in("nils")
    for unknown in ("idp_link", "no-such-action", "TERMS_AND_CONDITIONS"):
        answer = _asked_for(browser, unknown).answer
        assert (answer["kc_action"], answer["kc_action_status"]) == (unknown, "error")
    assert _asked_for(browser, "UPDATE_PASSWORD", prompt="none").answer["error"] == (
        "interaction_required"
    )


def test_changing_a_password_needs_a_recent_sign_in(acting: SignInRealm) -> None:
    """`maxAuthAge` of the password policy, and `max_auth_age` of other actions."""
    _add(acting, "olga")
    browser = acting.browser()
    browser.sign_in("olga")
    policy = acting.realm.get("")["passwordPolicy"]
    acting.realm.change("PUT", "", {"passwordPolicy": f"{policy} and maxAuthAge(0)"})
    page = _asked_for(browser, "UPDATE_PASSWORD")
    assert "password" in page.form.names
    assert "password-new" in browser.submit(page, password=PASSWORD).form.names
    acting.realm.change("PUT", "", {"passwordPolicy": policy})
    assert "totp" in _asked_for(browser, "CONFIGURE_TOTP").form.names
    settings = "authentication/required-actions/CONFIGURE_TOTP/config"
    acting.realm.change("PUT", settings, {"config": {"max_auth_age": "0"}})
    assert "password" in _asked_for(browser, "CONFIGURE_TOTP").form.names
    acting.realm.change("DELETE", settings)
