"""Whole sign-ins in Debian's Chromium, behind the real nginx over TLS.

The relying party is the example application of docs/examples, on http://localhost as scripts/run
starts it. Keycloak: 12.10 to 12.12
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pyotp
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.sign_in_pages import FLAGS, chromium
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import until
from tests.support.one_time_devices import base32
from tests.support.ports import free_port
from tests.support.spec_stack import Stack, start_stack
from tests.support.wire import CHEAP, DEVICE, DEVICE_KEY, PASSWORD, SECRET, user

EXAMPLES: Final = Path(__file__).parents[2] / "docs/examples"
_PATIENCE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Site:
    """An application that people sign in to, and the browser."""

    home: str
    stack: Stack
    browser: Browser

    @contextmanager
    def page(self, *, scripts: bool = True, locale: str = "en") -> Iterator[Page]:
        """Open a browser that has never been here."""
        context = self.browser.new_context(
            ignore_https_errors=True, java_script_enabled=scripts, locale=locale
        )
        context.set_default_timeout(_PATIENCE)
        page = context.new_page()
        yield page
        context.close()

    def authorization_url(self, client_id: str, **parameters: str) -> str:
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": f"{self.home}{client_id}",
            "scope": "openid email",
            "state": "a-state",
            **parameters,
        }
        endpoint = f"{self.stack.nginx.https}/realms/browsed/protocol/openid-connect/auth"
        return str(httpx2.URL(endpoint, params=asked))


def _realm(home: str) -> dict[str, Any]:
    def client(client_id: str, uri: str, **fields: Any) -> dict[str, Any]:
        return {
            "clientId": client_id,
            "enabled": True,
            "secret": SECRET,
            "redirectUris": [f"{home}{uri}"],
        } | fields

    password = {"type": "password", "value": PASSWORD}
    return {
        "realm": "browsed",
        "enabled": True,
        "passwordPolicy": CHEAP,
        "internationalizationEnabled": True,
        "supportedLocales": ["en", "ar"],
        "clients": [
            client(
                "application",
                "callback",
                name="The application",
                attributes={"post.logout.redirect.uris": home},
            ),
            client("asks", "asks", name="The portal", consentRequired=True),
            client("posts", "posts"),
        ],
        "users": [user("ada"), user("coded", credentials=[password, DEVICE])],
    }


@contextmanager
def _application(folder: Path, stack: Stack, port: int) -> Iterator[None]:
    secret = folder / "application.secret"
    secret.write_text(SECRET)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(EXAMPLES),
        "ISSUER": f"{stack.nginx.https}/realms/browsed",
        "CLIENT_ID": "application",
        "CLIENT_SECRET_FILE": str(secret),
        "APPLICATION_URL": f"http://localhost:{port}",
        "SSL_CERT_FILE": str(stack.certificates.folder / "ca.crt"),
    }
    command = [sys.executable, "-m", "hypercorn", "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen(
        [*command, "sign_in_application:from_environment()"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: _answers(port), "the application does not answer")
        yield
    finally:
        process.terminate()
        process.wait(10)


def _answers(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/").status_code == httpx2.codes.OK
    except httpx2.TransportError:
        return False


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Site]:
    """Run nginx, the gateway, the application and Chromium once."""
    folder, port = tmp_path_factory.mktemp("browsed"), free_port()
    home = f"http://localhost:{port}/"
    with (
        start_stack(folder, edge_certificates, realms=[_realm(home)]) as stack,
        _application(folder, stack, port),
        sync_playwright() as playwright,
    ):
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield Site(home, stack, started)
        started.close()


def _log_in(page: Page, username: str, password: str = PASSWORD) -> None:
    page.fill("#username", username)
    page.fill("#password", password)
    page.click("#kc-login")


@pytest.mark.parametrize("scripts", [True, False], ids=["with", "without"])
def test_a_user_signs_in_to_the_application_and_sees_the_claims(
    site: Site, *, scripts: bool
) -> None:
    """After a wrong password, with the right one."""
    with site.page(scripts=scripts) as page:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(site.home)
        page.click("button")
        expect(page.locator(".client")).to_contain_text("The application")
        _log_in(page, "ada", "wrong")
        expect(page.locator(".kc-feedback-text")).to_have_text("Invalid username or password.")
        expect(page.locator("#username")).to_have_value("ada")
        _log_in(page, "ada")
        expect(page.locator("h1")).to_have_text("Hello, Ada Ada")
        assert page.url == site.home
        expect(page.locator("dl").first).to_contain_text("ada@example.test")
        assert said == []


def test_who_is_signed_in_meets_no_page_again(site: Site) -> None:
    with site.page() as page:
        page.goto(site.home)
        page.click("button")
        _log_in(page, "ada")
        expect(page.locator("h1")).to_have_text("Hello, Ada Ada")
        page.context.clear_cookies(name="demo_user")
        page.goto(site.home)
        page.click("button")
        expect(page.locator("h1")).to_have_text("Hello, Ada Ada")


def test_a_person_signs_out_of_the_application_and_of_the_realm(site: Site) -> None:
    """The application proves by its ID token that it may end the session: nothing is asked."""
    with site.page() as page:
        page.goto(site.home)
        page.click("button")
        _log_in(page, "ada")
        expect(page.locator("h1")).to_have_text("Hello, Ada Ada")
        page.click("text=Sign out")
        expect(page.locator("h1")).to_have_text("You are not signed in")
        assert page.url == site.home
        page.click("button")
        expect(page.locator("#password")).to_be_visible()


def test_another_session_ends_only_after_a_confirmation(site: Site) -> None:
    """The ID token of the application is that of a session that this browser has no more."""
    with site.page() as page:
        page.goto(site.home)
        page.click("button")
        _log_in(page, "ada")
        expect(page.locator("h1")).to_have_text("Hello, Ada Ada")
        page.context.clear_cookies(path=re.compile("/realms/"))
        page.goto(site.authorization_url("posts"))
        with page.expect_request(re.compile(re.escape(f"{site.home}posts"))):
            _log_in(page, "ada")
        page.goto(site.home)
        page.click("text=Sign out")
        expect(page.locator("#kc-page-title")).to_have_text("Sign out")
        page.click("#kc-logout")
        expect(page.locator("h1")).to_have_text("You are not signed in")
        assert page.url == site.home


def test_the_back_button_leads_to_no_dead_end(site: Site) -> None:
    with site.page() as page:
        page.goto(site.authorization_url("posts"))
        _log_in(page, "coded")
        page.wait_for_selector("#otp")
        page.go_back()
        _log_in(page, "coded")
        page.fill("#otp", pyotp.TOTP(base32(DEVICE_KEY)).now())
        with page.expect_request(re.compile(re.escape(site.home))) as sent:
            page.click("#kc-login")
        assert "code=" in sent.value.url


def test_a_code_is_asked_for_and_the_user_can_start_over(site: Site) -> None:
    with site.page() as page:
        page.goto(site.authorization_url("posts"))
        _log_in(page, "coded")
        page.fill("#otp", "000000")
        page.click("#kc-login")
        expect(page.locator(".kc-feedback-text")).to_have_text("Invalid authenticator code.")
        expect(page.locator("#kc-attempted-username")).to_have_value("coded")
        page.click("#reset-login")
        expect(page.locator("#password")).to_be_visible()


def test_consent_is_asked_for_once(site: Site) -> None:
    with site.page() as page:
        page.goto(site.authorization_url("asks"))
        _log_in(page, "ada")
        expect(page.locator("#kc-page-title")).to_have_text("Grant access to The portal")
        with page.expect_request(re.compile(re.escape(f"{site.home}asks"))) as sent:
            page.click("[name=accept]")
        assert "code=" in sent.value.url
        with page.expect_request(re.compile(re.escape(f"{site.home}asks"))) as sent:
            page.goto(site.authorization_url("asks"))
        assert "code=" in sent.value.url


def test_the_page_has_the_browsers_and_then_the_chosen_language(site: Site) -> None:
    with site.page(locale="ar") as page:
        page.goto(site.authorization_url("posts"))
        assert page.locator("html").get_attribute("dir") == "rtl"
        title = page.title()
        _log_in(page, "ada", "wrong")
        assert page.locator("html").get_attribute("lang") == "ar"
        assert page.title() == title


@pytest.mark.parametrize("scripts", [True, False], ids=["with", "without"])
def test_form_post_reaches_the_client(site: Site, *, scripts: bool) -> None:
    with site.page(scripts=scripts) as page:
        page.goto(site.authorization_url("posts", response_mode="form_post"))
        with page.expect_request(f"{site.home}posts") as sent:
            _log_in(page, "ada")
            if not scripts:
                page.click("#continue")
        assert sent.value.method == "POST"
        assert "code=" in (sent.value.post_data or "")
        assert "referer" not in sent.value.headers
