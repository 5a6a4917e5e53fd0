"""Web applications on Authlib, unmodified, with users in Chromium.

`shop` has a secret and learns of the end of a session by a frame; `bank` signs assertions and
receives logout tokens. OpenID Connect Front-Channel Logout §2, Back-Channel Logout §2.5
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from joserfc.jwk import ECKey
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.sign_in_pages import FLAGS, chromium
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import until
from tests.support.ports import ADDRESS, free_port, is_listening
from tests.support.relying_parties import TIMEOUT_MS, new_page
from tests.support.spec_stack import Stack, start_stack
from tests.support.wire import CHEAP, PASSWORD, SECRET, claims_of, header_of, user

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Applications:
    """The applications, and the browser."""

    url: str
    stack: Stack
    browser: Browser

    def page(self) -> AbstractContextManager[Page]:
        """Open a page of a browser without cookies."""
        return new_page(self.browser)

    def home(self, name: str) -> str:
        return f"{self.url}/{name}/"

    def get(self, page: Page, name: str, path: str) -> dict[str, Any]:
        """Return the document at a path of the application, as the browser gets it."""
        response = page.request.get(self.home(name) + path)
        assert response.ok, response.text()
        document: dict[str, Any] = response.json()
        return document

    def is_signed_in(self, page: Page, name: str) -> bool:
        """Tell whether the application has a session of the browser, without signing in again."""
        response = page.request.get(f"{self.home(name)}token")
        assert response.status in {200, 401}, response.text()
        return response.status == 200


def _realm(url: str, key: ECKey) -> dict[str, Any]:
    def client(name: str, attributes: dict[str, str], **fields: Any) -> dict[str, Any]:
        common = {
            "pkce.code.challenge.method": "S256",
            "post.logout.redirect.uris": f"{url}/{name}/signed-out",
        }
        return {
            "clientId": name,
            "enabled": True,
            "secret": SECRET,
            "redirectUris": [f"{url}/{name}/callback"],
            "attributes": common | attributes,
        } | fields

    framed = {"frontchannel.logout.url": f"{url}/shop/front-channel-logout"}
    notified = {
        "backchannel.logout.url": f"{url}/bank/back-channel-logout",
        "backchannel.logout.session.required": "true",
        "token.endpoint.auth.signing.alg": "ES256",
        "use.jwks.string": "true",
        "jwks.string": json.dumps({"keys": [key.as_dict(private=False, use="sig", alg="ES256")]}),
    }
    return {
        "realm": "authlib",
        "enabled": True,
        "passwordPolicy": CHEAP,
        "clients": [
            client("shop", framed, frontchannelLogout=True),
            client("bank", notified, clientAuthenticatorType="client-jwt"),
        ],
        "users": [user("ada")],
    }


@contextmanager
def _application(stack: Stack, port: int, key: ECKey) -> Iterator[None]:
    folder = stack.certificates.folder
    clients = {"shop": {"secret": SECRET}, "bank": {"jwk": key.as_dict(private=True)}}
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "ISSUER": f"{stack.nginx.https}/realms/authlib",
        "APPLICATION_URL": f"https://localhost:{port}",
        "CLIENTS": json.dumps(clients),
        "SSL_CERT_FILE": str(folder / "ca.crt"),
    }
    command = [sys.executable, "-m", "hypercorn", "--bind", f"{ADDRESS}:{port}"]
    tls = ["--certfile", str(folder / "server.crt"), "--keyfile", str(folder / "server.key")]
    process = subprocess.Popen(
        [*command, *tls, "tests.support.authlib_application:from_environment()"], env=environment
    )
    try:
        until(lambda: process.poll() is not None or is_listening(port), "no application")
        assert process.poll() is None, "the application ended"
        yield
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="module")
def applications(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Applications]:
    """Run nginx, the gateway, the applications and Chromium once."""
    port, key = free_port(), ECKey.generate_key("P-256")
    url = f"https://localhost:{port}"
    with ExitStack() as running:
        stack = running.enter_context(
            start_stack(
                tmp_path_factory.mktemp("authlib"),
                edge_certificates,
                realms=[_realm(url, key)],
                fetch_networks="127.0.0.1",
                fetch_ca_file=edge_certificates.folder / "ca.crt",
            )
        )
        running.enter_context(_application(stack, port, key))
        playwright = running.enter_context(sync_playwright())
        expect.set_options(timeout=TIMEOUT_MS)
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        running.callback(browser.close)
        yield Applications(url, stack, browser)


def _sign_in(page: Page, url: str) -> None:
    page.goto(url)
    page.fill("#username", "ada")
    page.fill("#password", PASSWORD)
    page.click("#kc-login")
    expect(page.locator("#user")).to_have_text("ada")
    assert page.url == url


def _add_key(stack: Stack) -> None:
    """Let another key sign, as an administrator does."""
    provider = {
        "name": "newer",
        "providerId": "rsa-generated",
        "providerType": "org.keycloak.keys.KeyProvider",
        "config": {"priority": ["200"]},
    }
    response = stack.http.post(
        f"{stack.nginx.https}/admin/realms/authlib/components",
        json=provider,
        headers={"Authorization": f"Bearer {stack.administrator()}"},
    )
    assert response.status_code == 201, response.text


@pytest.mark.parametrize("name", ["shop", "bank"])
def test_a_user_signs_in_and_the_application_gets_the_claims(
    applications: Applications, name: str
) -> None:
    with applications.page() as page:
        _sign_in(page, applications.home(name))
        token = applications.get(page, name, "token")
        assert token["userinfo"]["email"] == "ada@example.test"
        assert claims_of(token["access_token"])["azp"] == name
        found = applications.get(page, name, "userinfo")
        assert (found["sub"], found["email"]) == (token["userinfo"]["sub"], "ada@example.test")


def test_the_second_application_asks_for_no_password(applications: Applications) -> None:
    with applications.page() as page:
        _sign_in(page, applications.home("shop"))
        page.goto(applications.home("bank"))
        expect(page.locator("#user")).to_have_text("ada")
        one, other = (applications.get(page, name, "token") for name in ("shop", "bank"))
        assert one["userinfo"]["sid"] == other["userinfo"]["sid"]


def test_authlib_refreshes_expired_tokens(applications: Applications) -> None:
    """With a secret, and with a signed assertion."""
    with applications.page() as page:
        _sign_in(page, applications.home("shop"))
        page.goto(applications.home("bank"))
        expect(page.locator("#user")).to_have_text("ada")
        for name in ("shop", "bank"):
            first = applications.get(page, name, "token")
            found = applications.get(page, name, "userinfo?expired")
            assert found["email"] == "ada@example.test"
            second = applications.get(page, name, "token")
            assert second["access_token"] != first["access_token"]
            assert claims_of(second["access_token"])["sid"] == first["userinfo"]["sid"]


def test_a_frame_logs_out_at_the_other_application(applications: Applications) -> None:
    with applications.page() as page:
        _sign_in(page, applications.home("shop"))
        page.goto(applications.home("bank"))
        assert applications.is_signed_in(page, "shop")
        page.goto(f"{applications.home('bank')}sign-out")
        expect(page.locator("h1")).to_have_text("Goodbye")
        assert not applications.is_signed_in(page, "shop")
        page.goto(applications.home("shop"))
        expect(page.locator("#password")).to_be_visible()


def test_a_logout_token_logs_out_at_the_other_application(applications: Applications) -> None:
    with applications.page() as page:
        _sign_in(page, applications.home("bank"))
        page.goto(applications.home("shop"))
        assert applications.is_signed_in(page, "bank")
        page.goto(f"{applications.home('shop')}sign-out")
        expect(page.locator("h1")).to_have_text("Goodbye")
        until(
            lambda: not applications.is_signed_in(page, "bank"), "the bank got no logout token", 20
        )
        page.goto(applications.home("bank"))
        expect(page.locator("#password")).to_be_visible()


def test_authlib_finds_the_key_that_signs_after_a_rotation(applications: Applications) -> None:
    stack = applications.stack
    with applications.page() as page:
        _sign_in(page, applications.home("shop"))
        before = header_of(applications.get(page, "shop", "token")["id_token"])["kid"]
        _add_key(stack)
        page.context.clear_cookies(name="session_of_shop")
        page.goto(applications.home("shop"))
        expect(page.locator("#user")).to_have_text("ada")
        assert header_of(applications.get(page, "shop", "token")["id_token"])["kid"] != before
