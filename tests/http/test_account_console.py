"""The account console: who may see and change what. Keycloak: 12.12, 17; attacks: D14."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, Final

import httpx2
import pyotp
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import (
    PUBLIC_URL,
    Page,
    SignInBrowser,
    SignInRealm,
    web_client,
    with_query,
)

ACCOUNT: Final = "/realms/own-account/account/"
SIGNING_IN: Final = "account-security/signing-in"
DEVICES: Final = "account-security/device-activity"
PERSONAL: Final = "personal-info"
EVERY: Final = ("", PERSONAL, SIGNING_IN, DEVICES, "applications", "groups")
MARKUP: Final = "<script>alert(1)</script>"
NEW: Final = "another-Passw0rd"


def _user(username: str, **fields: Any) -> dict[str, Any]:
    named = {"email": f"{username}@example.com", "firstName": username, "lastName": "Example"}
    return person(username, **named | fields)


@pytest.fixture(scope="module")
def own(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose users manage their accounts."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "internationalizationEnabled": True,
        "supportedLocales": ["en", "de"],
        "groups": [{"name": "Sales", "subGroups": [{"name": MARKUP}]}],
        "clients": [
            web_client("app", name=f"Portal {MARKUP}", baseUrl="javascript:alert(1)"),
            web_client("asks", name="Asking", description="Answers", consentRequired=True),
        ],
        "users": [
            _user("anna"),
            _user("ben"),
            _user("evil", firstName="A&B", lastName="O'Neill", groups=[f"/Sales/{MARKUP}"]),
            _user("greta", attributes={"locale": ["de"]}),
        ],
    }
    with administered_realm(administration, "own-account", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(own: SignInRealm) -> None:
    own.events()


def _enter(own: SignInRealm, username: str, path: str = "", **headers: str) -> SignInBrowser:
    """Return a browser that is signed in to the console."""
    browser = own.browser(**headers)
    page = browser.get(f"{ACCOUNT}{path}")
    done = browser.submit(page, username=username, password=PASSWORD)
    assert done.location == f"{PUBLIC_URL}{ACCOUNT}{path}"
    return browser


def _show(browser: SignInBrowser, path: str = "") -> Page:
    page = browser.get(f"{ACCOUNT}{path}")
    assert (page.status, page.id[:8]) == (200, "account-"), page.text
    return page


def _followed(browser: SignInBrowser, page: Page) -> Page:
    """Return the page that the browser is sent to after a form."""
    assert page.status == httpx2.codes.SEE_OTHER, page.text
    return browser.get(page.response.headers["location"])


def _send(browser: SignInBrowser, path: str, **fields: str) -> Page:
    """Send the form of a page, with the secret that the page has."""
    form = _show(browser, path).form
    return browser.post(f"{ACCOUNT}{path}", {**form.fields, **fields})


def _links(page: Page) -> list[str]:
    navigation = page.html.partition("<nav")[2].partition("</nav>")[0]
    return [
        unescape(url).removeprefix(f"{PUBLIC_URL}{ACCOUNT}")
        for url in re.findall(r'href="([^"]*)"', navigation)
    ]


def _sessions(page: Page) -> list[str]:
    return re.findall(r'name="session" value="([^"]*)"', page.html)


def _roles(own: SignInRealm, username: str, *names: str) -> None:
    """Give a user these roles of the client `account`, and no others."""
    user = own.user_id(username)
    (client,) = own.realm.get("clients?clientId=account")
    default = own.realm.get("roles/default-roles-own-account")
    own.realm.change("DELETE", f"users/{user}/role-mappings/realm", [default])
    roles = [own.realm.get(f"clients/{client['id']}/roles/{name}") for name in names]
    if roles:
        own.realm.change("POST", f"users/{user}/role-mappings/clients/{client['id']}", roles)


def _add(own: SignInRealm, username: str, *roles: str) -> None:
    own.realm.change("POST", "users", _user(username))
    _roles(own, username, *roles)


@pytest.mark.parametrize("path", EVERY[:5])
def test_a_sign_in_returns_to_the_requested_page_without_a_code(
    own: SignInRealm, path: str
) -> None:
    browser = _enter(own, "anna", path)
    assert _show(browser, path).html.count('aria-current="page"') == 1
    (event,) = own.events()
    assert (event["type"], event["clientId"]) == ("LOGIN", "account-console")
    assert "redirect_uri" not in event["details"]


def test_a_form_that_is_sent_twice_leads_to_the_page_too(own: SignInRealm) -> None:
    browser = own.browser()
    page = browser.get(f"{ACCOUNT}{DEVICES}")
    for _ in range(2):
        done = browser.submit(page, username="anna", password=PASSWORD)
        assert done.location == f"{PUBLIC_URL}{ACCOUNT}{DEVICES}"
    page = browser.get(with_query(page.form.action, client_data="eyJhcCI6Ii8vZXZpbC5leGFtcGxlIn0"))
    assert (page.status, page.id) == (400, "error")


def test_who_is_signed_in_comes_in_after_what_is_left_to_do(own: SignInRealm) -> None:
    own.realm.change("POST", "users", _user("late"))
    browser = own.browser()
    assert browser.sign_in("late").answer["code"]
    assert browser.get(ACCOUNT).location == f"{PUBLIC_URL}{ACCOUNT}"
    assert _show(browser).id == "account-home"
    other = own.browser()
    other.sign_in("late")
    change = {"requiredActions": ["UPDATE_PASSWORD"]}
    own.realm.change("PUT", f"users/{own.user_id('late')}", change)
    assert other.get(ACCOUNT).id == "login-update-password"


@pytest.mark.parametrize(
    "query",
    [
        "page=//evil.example",
        "page=https://evil.example/",
        "page=../../admin",
        "page=",
        "kc_action=UPDATE_PASSWORD:a/b&page=applications",
    ],
)
def test_a_link_leads_to_pages_of_the_console_alone(own: SignInRealm, query: str) -> None:
    page = _enter(own, "anna").get(f"{ACCOUNT}action?{query}")
    assert (page.status, page.id) == (400, "error")


def test_the_start_page_shows_applications_and_protections(own: SignInRealm) -> None:
    own.realm.change("POST", "users", _user("olga"))
    browser = _enter(own, "olga")
    page = _show(browser)
    assert "No second step protects your account" in page.text
    assert "recovery codes" not in page.text
    assert "You use no application with this account." in page.text
    assert browser.open().answer["code"]
    assert f'Portal {MARKUP}</bdi><span class="badge">In use' in unescape(_show(browser).html)
    [link] = re.findall(r'href="([^"]*kc_action=CONFIGURE_TOTP[^"]*)"', page.html)
    form = browser.get(unescape(link))
    assert form.id == "login-config-totp"
    secret = re.search(r'id="kc-totp-secret-key"[^>]*>([^<]*)<', form.html)
    assert secret is not None
    done = browser.submit(form, totp=pyotp.TOTP(secret[1].replace(" ", "")).now())
    assert done.location.startswith(f"{PUBLIC_URL}{ACCOUNT}?kc_action=CONFIGURE_TOTP")
    text = _show(browser).text
    assert "No second step" not in text
    assert "Nothing is missing: your account is well protected." in text


def test_the_start_page_shows_what_the_user_may_see(own: SignInRealm) -> None:
    _add(own, "appviewer", "view-applications")
    page = _show(_enter(own, "appviewer"))
    assert "account-all-applications" in page.html
    assert "account-protection" not in page.html
    assert _links(page) == ["", "applications"]
    _add(own, "profileviewer", "view-profile")
    page = _show(_enter(own, "profileviewer"))
    assert "account-all-applications" not in page.html
    assert "No second step protects your account" in page.text
    assert "kc_action" not in page.html


def test_a_realm_without_second_factors_misses_none(own: SignInRealm) -> None:
    """Only what the user can set up, or use, is missing."""
    own.realm.change("POST", "users", _user("nora", email=""))
    browser = _enter(own, "nora", DEVICES)
    aliases = ("CONFIGURE_TOTP", "webauthn-register", "webauthn-register-passwordless")
    actions = [own.realm.get(f"authentication/required-actions/{alias}") for alias in aliases]
    for action in actions:
        path = f"authentication/required-actions/{action['alias']}"
        own.realm.change("PUT", path, {**action, "enabled": False})
    assert "Nothing is missing" in _show(browser).text
    with own.changed(resetPasswordAllowed=True):
        page = _show(browser)
        assert "Your account has no email address" in page.text
        assert f'href="{PUBLIC_URL}{ACCOUNT}{PERSONAL}"' in page.html
    for action in actions:
        own.realm.change("PUT", f"authentication/required-actions/{action['alias']}", action)
    assert "No second step" in _show(browser).text


def test_a_changed_profile_is_stored_and_said_once(own: SignInRealm) -> None:
    browser = _enter(own, "ben")
    own.events()
    done = _send(browser, PERSONAL, firstName="Benjamin", email=MARKUP)
    assert done.status == 200
    assert MARKUP not in done.html
    assert done.message == "Please correct the fields that are marked."
    done = _send(browser, PERSONAL, firstName="Benjamin", username="root")
    page = _followed(browser, done)
    assert page.message == "Your account has been updated."
    assert 'value="Benjamin"' in page.html
    user = own.realm.get(f"users/{own.user_id('ben')}")
    assert (user["username"], user["firstName"]) == ("ben", "Benjamin")
    (event,) = own.events()
    assert (event["type"], event["details"]["context"]) == ("UPDATE_PROFILE", "ACCOUNT")


def test_no_form_is_taken_without_the_secret_of_the_session(own: SignInRealm) -> None:
    """attacks: D14."""
    browser, other = _enter(own, "anna"), _enter(own, "anna")
    form = _show(browser, PERSONAL).form_with_id("account-profile-form")
    stolen = _show(other).form.fields["stateChecker"]
    for token in ("", "x" * 2000, stolen):
        sent = {**form.fields, "firstName": "Mallory", "stateChecker": token}
        page = _followed(browser, browser.post(form.action, sent))
        assert page.message == "The page was out of date. Please try again."
        page = browser.post(f"{ACCOUNT}sign-out", {"stateChecker": token})
        assert (page.status, page.id) == (403, "error")
    assert own.realm.get(f"users/{own.user_id('anna')}")["firstName"] == "anna"
    assert _show(browser).status == 200


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_page_of_another_site_sends_no_form(own: SignInRealm, headers: dict[str, str]) -> None:
    """attacks: D14."""
    browser = _enter(own, "anna")
    for path in (*EVERY[:5], "sign-out"):
        fields = _show(browser).form.fields
        browser.headers = headers
        page = browser.post(f"{ACCOUNT}{path}", {**fields, "others": "on"})
        assert (page.status, page.id) == (403, "error"), path
        browser.headers = {}


def test_a_form_of_a_session_that_has_ended_leads_to_the_sign_in(own: SignInRealm) -> None:
    browser = _enter(own, "anna")
    form = _show(browser, PERSONAL).form_with_id("account-profile-form")
    own.realm.change("POST", f"users/{own.user_id('anna')}/logout")
    page = _followed(browser, browser.post(form.action, {**form.fields, "firstName": "Old"}))
    assert page.id == "login"
    assert own.realm.get(f"users/{own.user_id('anna')}")["firstName"] == "anna"


def test_a_device_is_signed_out_at_once_and_only_the_own_ones(own: SignInRealm) -> None:
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
    own.realm.change("POST", "users", _user("dora"))
    here, phone = _enter(own, "dora"), _enter(own, "dora", **{"user-agent": firefox})
    foreign = _enter(own, "ben")
    page = _show(here, DEVICES)
    assert "Linux · Firefox 145.0" in page.text
    (there,) = _sessions(page)
    own.events()
    _send(foreign, DEVICES, session=there)
    assert _show(phone).status == 200, "a session of another user stays"
    assert _followed(here, _send(here, DEVICES, session=there)).message == (
        "The device has been signed out."
    )
    (event,) = own.events()
    assert (event["type"], event["userId"]) == ("LOGOUT", own.user_id("dora"))
    assert phone.get(ACCOUNT).id == "login"
    assert _sessions(_show(here, DEVICES)) == []
    others = [_enter(own, "dora") for _ in range(2)]
    _followed(here, _send(here, DEVICES, others="on"))
    assert [one.get(ACCOUNT).id for one in others] == ["login", "login"]
    assert _show(here, DEVICES).status == 200


def test_a_user_signs_out_applications_with_an_offline_session(
    own: SignInRealm,
) -> None:
    own.realm.change("POST", "users", _user("eve"))
    here = _enter(own, "eve")
    assert "account-sign-out-others" not in _show(here, DEVICES).html
    other = own.browser()
    page = other.submit(
        other.open(scope="openid offline_access"), username="eve", password=PASSWORD
    )
    tokens = other.redeem(page.answer["code"]).json()
    form = {"grant_type": "refresh_token", "client_id": "app", "client_secret": SECRET}
    form["refresh_token"] = tokens["refresh_token"]
    (online,) = _sessions(_show(here, DEVICES))
    _followed(here, _send(here, DEVICES, session=online))
    assert other.http.post(other.protocol("token"), data=form).is_success
    assert "account-sign-out-others" in _show(here, DEVICES).html
    _followed(here, _send(here, DEVICES, others="on"))
    assert other.http.post(other.protocol("token"), data=form).status_code == 400
    assert "account-sign-out-others" not in _show(here, DEVICES).html


def test_access_that_was_given_is_removed(own: SignInRealm) -> None:
    browser = _enter(own, "anna")
    assert "Remove access" not in _show(browser, "applications").text
    asked = browser.open("asks", scope="openid email profile")
    browser.post(asked.form.action, {**asked.form.fields, "accept": "on"})
    page = _show(browser, "applications")
    assert "Asking In use Answers" in page.text
    assert "Access that you have given Given on" in page.text
    assert "Email address User profile" in page.text
    own.events()
    page = _followed(browser, _send(browser, "applications", client="asks"))
    assert page.message == "The access has been removed."
    assert "Access that you have given" not in page.text
    (event,) = own.events()
    assert (event["type"], event["details"]["revoked_client"]) == ("REVOKE_GRANT", "asks")
    assert browser.open("asks", scope="openid email profile").id == "consent"
    assert _send(browser, "applications", client="no such").status == 200


def test_markup_in_names_is_shown_and_never_obeyed(own: SignInRealm) -> None:
    browser = own.browser()
    browser.sign_in("evil")
    browser.get(ACCOUNT)
    own_id = own.user_id("evil")
    (client,) = own.realm.get("clients?clientId=account")
    role = own.realm.get(f"clients/{client['id']}/roles/view-groups")
    own.realm.change("POST", f"users/{own_id}/role-mappings/clients/{client['id']}", [role])
    for path in EVERY:
        page = _show(browser, path)
        assert "<script>" not in page.html
        assert "javascript:" not in page.html
        assert "A&B O'Neill" in page.text
    assert MARKUP in unescape(_show(browser, "groups").html)
    assert f"Portal {MARKUP}" in unescape(_show(browser, "applications").html)
    assert f"Portal {MARKUP}" in unescape(_show(browser, DEVICES).html)


def test_roles_of_the_client_account_say_what_a_user_may_do(own: SignInRealm) -> None:
    _add(own, "nothing")
    browser = _enter(own, "nothing", SIGNING_IN)
    assert [browser.get(f"{ACCOUNT}{path}").status for path in EVERY] == [403] * 6
    assert "No access" in browser.get(ACCOUNT).text

    _add(own, "reader", "view-profile", "view-applications", "view-groups")
    browser = _enter(own, "reader")
    page = _show(browser)
    assert _links(page) == list(EVERY)
    assert "account-save" not in _show(browser, PERSONAL).html
    assert "kc_action" not in _show(browser, SIGNING_IN).html
    assert _send(browser, PERSONAL, firstName="Other").status == 403
    assert _send(browser, DEVICES, others="on").status == 403
    assert _send(browser, "applications", client="app").status == 403

    assert "certificates-show" not in _show(browser, SIGNING_IN).html
    page = _show(browser, "account-security/certificates")
    assert "You have signed in with no certificate." in page.text

    _add(own, "manager", "manage-account")
    browser = _enter(own, "manager")
    assert _links(_show(browser)) == list(EVERY[:5])
    assert "account-delete" not in _show(browser, PERSONAL).html


def test_an_account_is_deleted_where_role_and_action_allow_it(own: SignInRealm) -> None:
    action = own.realm.get("authentication/required-actions/delete_account")
    own.realm.change(
        "PUT", "authentication/required-actions/delete_account", {**action, "enabled": True}
    )
    _add(own, "leaving", "view-profile", "manage-account", "delete-account")
    browser = _enter(own, "leaving")
    proven = browser.get(_show(browser, PERSONAL).link("account-delete"))
    assert proven.id == "login-password"
    page = browser.submit(proven, password=PASSWORD)
    assert page.id == "delete-account-confirm"
    browser.submit(page)
    assert own.realm.get("users?username=leaving") == []
    assert browser.get(ACCOUNT).id == "login"


def test_a_password_is_changed_and_the_browser_is_back(own: SignInRealm) -> None:
    own.realm.change("POST", "users", _user("changing"))
    browser = _enter(own, "changing", SIGNING_IN)
    page = _show(browser, SIGNING_IN)
    link = re.search(r'href="([^"]*kc_action=UPDATE_PASSWORD[^"]*)"', page.html)
    assert link is not None
    url = unescape(link.group(1))
    asked = browser.get(url)
    assert asked.id == "login-update-password"
    back = browser.post(asked.form.action, {**asked.form.fields, "cancel-aia": "true"})
    assert back.location.startswith(f"{PUBLIC_URL}{ACCOUNT}{SIGNING_IN}?")
    assert browser.get(back.location).message == "Nothing has been changed."
    done = browser.submit(browser.get(url), **{"password-new": NEW, "password-confirm": NEW})
    assert browser.get(done.location).message == "Your account has been updated."
    failed = browser.get(with_query(url, kc_action="no_such_action"))
    assert browser.get(failed.location).message == "This is not possible at the moment."


def test_pages_are_in_the_language_of_the_user(own: SignInRealm) -> None:
    page = _show(_enter(own, "greta"))
    assert '<html lang="de"' in page.html
    assert "Ihre Anwendungen bei" in page.text
    browser = _enter(own, "greta")
    assert '<html lang="en"' in browser.get(f"{ACCOUNT}?kc_locale=en").html
    assert '<html lang="de"' in _show(browser, DEVICES).html, "that of the user comes first"


def test_a_disabled_user_is_signed_out(own: SignInRealm) -> None:
    own.realm.change("POST", "users", _user("gone"))
    browser = _enter(own, "gone")
    own.realm.change("PUT", f"users/{own.user_id('gone')}", {"enabled": False})
    assert browser.get(ACCOUNT).id == "login"


def test_guesses_of_a_stranger_sign_no_user_out_of_the_console(own: SignInRealm) -> None:
    """A temporary lock-out refuses new sign-ins alone."""
    own.realm.change("POST", "users", _user("guessed"))
    browser = _enter(own, "guessed")
    before = [browser.get(f"{ACCOUNT}{path}").id for path in EVERY]
    lock_outs = f"attack-detection/brute-force/users/{own.user_id('guessed')}"
    locking = {"failureFactor": 1, "waitIncrementSeconds": 600, "quickLoginCheckMilliSeconds": 0}
    with own.changed(bruteForceProtected=True, **locking):
        guesser = own.browser()
        guesser.submit(guesser.open(), username="guessed", password="wrong")
        assert own.realm.get(lock_outs)["disabled"] is True
        assert [browser.get(f"{ACCOUNT}{path}").id for path in EVERY] == before
        assert before[0].startswith("account-")
        new = own.browser()
        refused = new.submit(new.open(), username="guessed", password=PASSWORD)
        assert (refused.id, "KEYCLOAK_IDENTITY" in new.cookies) == ("login", False)


def test_signing_out_ends_the_session(own: SignInRealm) -> None:
    browser = _enter(own, "anna")
    own.events()
    page = browser.submit(_show(browser))
    assert page.id == "logged-out"
    assert "KEYCLOAK_IDENTITY" not in browser.cookies
    assert [event["type"] for event in own.events()] == ["LOGOUT"]
    assert browser.get(ACCOUNT).id == "login"


@pytest.mark.parametrize("client_id", ["account", "account-console"])
def test_a_realm_without_the_client_has_no_console(own: SignInRealm, client_id: str) -> None:
    browser = _enter(own, "anna")
    (client,) = own.realm.get(f"clients?clientId={client_id}")
    own.realm.change("PUT", f"clients/{client['id']}", {"enabled": False})
    for one in (browser, own.browser()):
        page = one.get(ACCOUNT)
        assert (page.status, page.id) == (404, "error")
        assert "Account management is not enabled." in page.text
    own.realm.change("PUT", f"clients/{client['id']}", {"enabled": True})
    assert _show(browser).status == 200


def test_requests_that_name_json_are_not_for_the_pages(own: SignInRealm) -> None:
    browser = _enter(own, "anna")
    browser.headers = {"accept": "application/json"}
    assert "html" not in browser.get(ACCOUNT).response.headers["content-type"]
    asked = {"origin": "https://app.example.test", "access-control-request-method": "GET"}
    preflight = browser.http.options(ACCOUNT, headers=asked)
    assert preflight.headers["access-control-allow-origin"] == asked["origin"]
    browser.headers = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    assert _show(browser).status == 200
