"""Security keys and passkeys in Debian's Chromium, with a virtual authenticator, over TLS.

Chromium makes and signs what it would have a real authenticator make: by the script of the pages,
under their policy. Spec: WebAuthn Level 3 §11
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.sign_in_pages import FLAGS, chromium
from tests.support.edge_certificates import EdgeCertificates
from tests.support.spec_stack import Stack, start_stack
from tests.support.virtual_authenticator import Keys, add_authenticator
from tests.support.wire import CHEAP, PASSWORD, SECRET, user

_PATIENCE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Site:
    """The gateway behind nginx, and the browser."""

    stack: Stack
    browser: Browser

    @contextmanager
    def keys(self) -> Iterator[Keys]:
        """Open a browser with an authenticator, whose user is there and is verified."""
        context = self.browser.new_context(ignore_https_errors=True)
        context.set_default_timeout(_PATIENCE)
        yield add_authenticator(context.new_page())
        context.close()

    def open(self, page: Page, client_id: str, **parameters: str) -> None:
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": f"{self.stack.nginx.https}/realms/keyed",
            "scope": "openid",
            "state": "a-state",
            **parameters,
        }
        endpoint = f"{self.stack.nginx.https}/realms/keyed/protocol/openid-connect/auth"
        page.goto(str(httpx2.URL(endpoint, params=asked)))


def _flow(alias: str, *steps: tuple[str, str]) -> dict[str, Any]:
    executions = [
        {"priority": place, "authenticator": name, "requirement": requirement}
        for place, (name, requirement) in enumerate(steps)
    ]
    return {
        "id": f"{alias}-id",
        "alias": alias,
        "providerId": "basic-flow",
        "topLevel": True,
        "authenticationExecutions": executions,
    }


def _client(client_id: str, flow: str = "") -> dict[str, Any]:
    chosen = {"browser": f"{flow}-id"} if flow else {}
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "redirectUris": ["*"],
        "authenticationFlowBindingOverrides": chosen,
    }


REALM: Final[dict[str, Any]] = {
    "realm": "keyed",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "webAuthnPolicyPasswordlessPasskeysEnabled": True,
    "authenticationFlows": [
        _flow(
            "second",
            ("auth-username-password-form", "REQUIRED"),
            ("webauthn-authenticator", "REQUIRED"),
        ),
        _flow("nameless", ("webauthn-authenticator-passwordless", "REQUIRED")),
    ],
    "clients": [_client("app"), _client("second", "second"), _client("nameless", "nameless")],
    "users": [
        user("ada"),
        user("bea", requiredActions=["webauthn-register-passwordless"]),
        user("cora", requiredActions=["webauthn-register-passwordless"]),
    ],
}


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Site]:
    """Run nginx, the gateway and Chromium once."""
    folder = tmp_path_factory.mktemp("keyed")
    with (
        start_stack(folder, edge_certificates, realms=[REALM]) as stack,
        sync_playwright() as playwright,
    ):
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield Site(stack, started)
        started.close()


def _log_in(page: Page, username: str) -> None:
    page.fill("#username", username)
    page.fill("#password", PASSWORD)
    page.click("#kc-login")


@contextmanager
def _arriving(page: Page) -> Iterator[None]:
    """Expect that the browser is sent to the client with a code."""
    yield
    page.wait_for_url(re.compile(r".*[?&]code=.*"))


def test_a_security_key_is_registered_and_is_the_second_factor(site: Site) -> None:
    with site.keys() as keys:
        page, said = keys.page, []
        page.on("console", lambda message: said.append(message.text))
        site.open(page, "second")
        _log_in(page, "ada")
        expect(page.locator("#kc-page-title")).to_have_text("Register a security key or passkey")
        page.fill("#authenticatorLabel", "Laptop")
        with _arriving(page):
            page.press("#authenticatorLabel", "Enter")
        [made] = keys.credentials()
        page.context.clear_cookies()
        site.open(page, "second")
        _log_in(page, "ada")
        expect(page.locator(".keys")).to_have_text("Laptop")
        with _arriving(page):
            page.click("#authenticateWebAuthnButton")
        [used] = keys.credentials()
        assert used["credentialId"] == made["credentialId"]
        assert used["signCount"] > made["signCount"]
        assert not [text for text in said if "Content Security Policy" in text]


def test_a_passkey_signs_in_without_a_name_and_verifies_the_user(site: Site) -> None:
    with site.keys() as keys:
        page = keys.page
        site.open(page, "app")
        _log_in(page, "bea")
        with _arriving(page):
            page.click("#registerWebAuthn")
        [made] = keys.credentials()
        assert made["isResidentCredential"]
        page.context.clear_cookies()
        site.open(page, "nameless")
        keys.verify(verified=False)
        page.click("#authenticateWebAuthnButton")
        expect(page.locator(".kc-feedback-text")).to_have_text("No key was used. Please try again.")
        keys.verify(verified=True)
        with _arriving(page):
            page.click("#authenticateWebAuthnButton")


def test_the_sign_in_page_offers_passkeys_by_autofill_and_button(site: Site) -> None:
    with site.keys() as keys:
        page = keys.page
        site.open(page, "app")
        _log_in(page, "cora")
        with _arriving(page):
            page.click("#registerWebAuthn")
        page.context.clear_cookies()
        with _arriving(page):  # the virtual authenticator takes what autofill offers
            site.open(page, "app")
        keys.touch(present=False)
        page.context.clear_cookies()
        site.open(page, "app")
        expect(page.locator("#username")).to_have_attribute("autocomplete", "username webauthn")
        keys.touch(present=True)
        with _arriving(page):
            page.click("#authenticateWebAuthnButton")
