"""Users who sign in to pages by the certificate of their browser, through nginx. Keycloak: 11.2."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import expect, sync_playwright

from scripts.sign_in_pages import FLAGS, chromium
from tests.support.administered_server import AdministeredServer
from tests.support.sign_in_browser import Page, SignInBrowser, web_client
from tests.support.wire import PASSWORD, user

REALM = "certificate-pages"
X509 = "x509-cert-auth"
BY_NAME = {
    f"{X509}.mapping-source-selection": "Subject's Common Name",
    f"{X509}.mapper-selection": "Username or Email",
}
REJECTED = "The client certificate was not accepted. Sign in another way."


def step(authenticator: str, priority: int, **fields: Any) -> dict[str, Any]:
    return {
        "authenticator": authenticator,
        "requirement": "ALTERNATIVE",
        "priority": priority,
        **fields,
    }


@dataclass
class Realm:
    """The realm, and browsers that have certificates."""

    server: AdministeredServer
    clients: Mapping[str | None, httpx2.Client]

    def browser(self, certificate: str | None) -> SignInBrowser:
        return SignInBrowser(self.clients[certificate], REALM, public_url=self.server.url)

    def last_event(self) -> dict[str, Any]:
        found: list[dict[str, Any]] = self.server.get(f"/{REALM}/events?max=1")
        return found[0]

    @contextmanager
    def configured(self, **config: str) -> Iterator[None]:
        """Change the configuration of the step for a while."""
        executions = f"/{REALM}/authentication/flows/{quote('by certificate')}/executions"
        [configured] = [
            each["authenticationConfig"]
            for each in self.server.get(executions)
            if "authenticationConfig" in each
        ]
        path = f"/{REALM}/authentication/config/{configured}"
        changed = {f"{X509}.{name.replace('_', '-')}": value for name, value in config.items()}
        for settings in ({**BY_NAME, **changed}, BY_NAME):
            document = {"alias": "by name", "config": settings}
            assert self.server.ask("PUT", path, document).status_code == 204
            assert self.server.get(path)["config"] == settings
            if settings is not BY_NAME:
                try:
                    yield
                except BaseException:
                    self.server.ask("PUT", path, {"alias": "by name", "config": BY_NAME})
                    raise

    @contextmanager
    def user(self, username: str, **changes: Any) -> Iterator[None]:
        """Change a user for a while."""
        [found] = self.server.get(f"/{REALM}/users?username={username}")
        path = f"/{REALM}/users/{found['id']}"
        self.server.ask("PUT", path, {**found, **changes})
        try:
            yield
        finally:
            self.server.ask("PUT", path, found | {"requiredActions": []})


@pytest.fixture(scope="module")
def realm(administered: AdministeredServer) -> Iterator[Realm]:
    steps = [
        step("auth-cookie", 10),
        step("auth-x509-client-username-form", 20, authenticatorConfig="by name"),
        step("auth-username-password-form", 30),
    ]
    fields = {
        "enabled": True,
        "eventsEnabled": True,
        "clients": [web_client("app")],
        "users": [user("alice"), user("device-1", credentials=[])],
        "authenticationFlows": [
            {
                "alias": "by certificate",
                "providerId": "basic-flow",
                "topLevel": True,
                "authenticationExecutions": steps,
            }
        ],
        "authenticatorConfig": [{"alias": "by name", "config": BY_NAME}],
        "browserFlow": "by certificate",
    }
    assert administered.certificates is not None
    with administered.realm(REALM, fields), ExitStack() as stack:
        clients = {}
        for certificate in (None, "user", "device-1", "device-2"):
            context = ssl.create_default_context(cafile=str(administered.authority))
            if certificate is not None:
                pair = administered.certificates.pair(certificate)
                context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
            client = httpx2.Client(verify=context, base_url=administered.url)
            clients[certificate] = stack.enter_context(client)
        yield Realm(administered, clients)


def confirm(browser: SignInBrowser, page: Page) -> Page:
    assert page.id == "login-x509-info", page.text
    return browser.submit(page, login="on")


def test_the_page_shows_certificate_and_user_and_continues(realm: Realm) -> None:
    browser = realm.browser("user")
    page = browser.open()
    assert page.id == "login-x509-info", page.text
    assert page.form_with_id("kc-x509-login-info").names == {"login", "cancel"}
    assert "CN=alice" in page.html.partition('id="certificate_subjectDN"')[2].partition("</dd>")[0]
    assert ">alice<" in page.html.partition('id="username"')[2].partition("/dd>")[0]
    assert "code" in confirm(browser, page).answer
    event = realm.last_event()
    assert event["type"] == "LOGIN"
    details = event["details"]
    assert details["username"] == "alice"
    assert "CN=alice" in details["x509_cert_subject_distinguished_name"]
    assert details["x509_cert_issuer_distinguished_name"].startswith("CN=")
    assert int(details["x509_cert_serial_number"], 16) > 0
    assert "code" in browser.open().answer, "single sign-on"


def test_a_user_may_ignore_the_certificate(realm: Realm) -> None:
    browser = realm.browser("user")
    page = browser.submit(browser.open(), cancel="on")
    assert (page.id, page.message) == ("login", None)
    assert "code" in browser.submit(page, username="alice", password=PASSWORD).answer


def test_without_a_certificate_the_next_alternative_is_shown(realm: Realm) -> None:
    page = realm.browser(None).open()
    assert (page.id, page.message) == ("login", None)


def test_a_certificate_of_no_user_is_not_accepted(realm: Realm) -> None:
    page = realm.browser("device-2").open()
    assert (page.id, page.message) == ("login", REJECTED)
    event = realm.last_event()
    assert (event["type"], event["error"]) == ("LOGIN_ERROR", "user_not_found")
    assert event["details"]["username"] == "device-2"
    assert "x509_cert_subject_distinguished_name" in event["details"]


def test_a_page_is_of_the_certificate_that_it_has_shown(realm: Realm) -> None:
    """attacks: A14."""
    browser = realm.browser("user")
    page = browser.open()
    browser.http = realm.clients["device-1"]
    again = confirm(browser, page)
    assert again.id == "login-x509-info"
    assert again.message == "The client certificate has changed. Check the account again."
    assert ">device-1<" in again.html
    browser.http = realm.clients[None]
    left = confirm(browser, again)
    assert (left.status, left.id) == (200, "login")


def test_a_disabled_user_is_not_accepted(realm: Realm) -> None:
    browser = realm.browser("user")
    page = browser.open()
    with realm.user("alice", enabled=False):
        for left in (confirm(browser, page), realm.browser("user").open()):
            assert (left.id, left.message) == ("login", REJECTED)
        assert realm.last_event()["error"] == "user_disabled"


def test_a_locked_user_is_not_accepted(realm: Realm) -> None:
    """attacks: D3."""
    server = realm.server
    [alice] = server.get(f"/{REALM}/users?username=alice")
    lock_outs = f"/{REALM}/attack-detection/brute-force/users/{alice['id']}"
    guarded = {"failureFactor": 1, "waitIncrementSeconds": 600, "quickLoginCheckMilliSeconds": 0}
    server.ask("PUT", f"/{REALM}", {"bruteForceProtected": True, **guarded})
    try:
        other = realm.browser(None)
        other.submit(other.open(), username="alice", password="wrong")
        browser = realm.browser("user")
        left = confirm(browser, browser.open())
        assert (left.id, left.message) == ("login", REJECTED)
        assert realm.last_event()["error"] == "user_temporarily_disabled"
        with realm.configured(confirmation_page_disallowed="true"):
            left = realm.browser("user").open()
            assert (left.id, left.message) == ("login", REJECTED)
    finally:
        server.ask("DELETE", lock_outs)
        server.ask("PUT", f"/{REALM}", {"bruteForceProtected": False})


def test_the_page_may_be_left_out(realm: Realm) -> None:
    with realm.configured(confirmation_page_disallowed="true"):
        assert "code" in realm.browser("user").open().answer
        assert "code" in realm.browser("user").open(prompt="none").answer
    assert realm.browser("user").open(prompt="none").answer["error"] == "login_required"


def test_required_actions_follow_and_the_event_has_the_subject(realm: Realm) -> None:
    with realm.user("alice", requiredActions=["UPDATE_PASSWORD"]):
        browser = realm.browser("user")
        page = confirm(browser, browser.open())
        assert page.id == "login-update-password", page.text
        new = {"password-new": PASSWORD, "password-confirm": PASSWORD}
        assert "code" in browser.submit(page, **new).answer
    [event] = realm.server.get(f"/{REALM}/events?max=1&type=LOGIN")
    assert "CN=alice" in event["details"]["x509_cert_subject_distinguished_name"]


def test_users_find_their_certificates_in_the_account_console(realm: Realm) -> None:
    browser = realm.browser("user")
    signing_in = f"/realms/{REALM}/account/account-security/signing-in"
    done = confirm(browser, browser.get(signing_in))
    page = browser.get(browser.get(done.location).link("certificates-show"))
    assert page.id == "account-certificates"
    assert "CN=alice" in page.text


def test_what_cannot_act_accepts_no_certificate(realm: Realm) -> None:
    for config in (
        {"crl_checking_enabled": "true"},
        {"timestamp_validation_enabled": "false"},
        {"extendedkeyusage": "1.2.3.4"},
        {"mapping_source_selection": "Subject's Alternative Name otherName (UPN)"},
    ):
        with realm.configured(**config):
            left = realm.browser("user").open()
            assert (left.id, left.message) == ("login", REJECTED), config
            assert realm.last_event()["error"] == "invalid_user_credentials", config


def test_a_certificate_of_another_user_does_not_reauthenticate(realm: Realm) -> None:
    browser = realm.browser("device-1")
    assert "code" in confirm(browser, browser.open()).answer
    browser.http = realm.clients["user"]
    page = browser.open(prompt="login")
    assert page.message == REJECTED
    assert "device-1" in page.html
    browser.http = realm.clients["device-1"]
    assert "code" in confirm(browser, browser.open(prompt="login")).answer


def test_the_realm_decides_which_certificates_are_trusted(realm: Realm) -> None:
    """On a listener with `optional_no_ca`; the anchors of the realm replace others. attacks: A7."""
    server = realm.server
    assert server.certificates is not None
    authorities = f"/{REALM}/certificates/authorities"
    anchor = Path(f"{server.certificates.pair('self-signed CA:TRUE')}.crt")

    def opened(certificate: str) -> Page:
        assert server.certificates is not None
        context = ssl.create_default_context(cafile=str(server.authority))
        pair = server.certificates.pair(certificate)
        context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        browser = realm.browser(None)
        with httpx2.Client(verify=context, base_url=server.self_signed_url) as browser.http:
            return browser.open()

    assert opened("self-signed").message == REJECTED
    reason = realm.last_event()["details"]["reason"]
    assert reason.startswith("Certificate validation's failed: "), reason
    assert "the issuer" in reason
    assert opened("user").id == "login-x509-info"
    added = server.ask("POST", authorities, {"certificate": anchor.read_text()})
    assert added.status_code == 201, added.text
    try:
        assert opened("user").message == REJECTED
    finally:
        [each] = server.get(authorities)
        server.ask("DELETE", f"{authorities}/{each['sha256']}")


def test_a_browser_without_scripts_signs_in_by_its_certificate(realm: Realm) -> None:
    """In Debian's Chromium, which sends the certificate to nginx."""
    url = realm.server.url
    assert realm.server.certificates is not None
    pair = realm.server.certificates.pair("user")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        context = launched.new_context(
            ignore_https_errors=True,
            java_script_enabled=False,
            client_certificates=[
                {"origin": url, "certPath": f"{pair}.crt", "keyPath": f"{pair}.key"}
            ],
        )
        page = context.new_page()
        page.goto(f"{url}/realms/{REALM}/account/")
        expect(page.locator("#certificate_subjectDN")).to_contain_text("CN=alice")
        page.click("#kc-login")
        expect(page.get_by_text("Ada Alice")).to_be_visible()
        launched.close()
