"""Web applications with openid-client, from npm, on Node; users come with Debian's Chromium.

The applications are those of tests/clients/npm/openid_client.mjs. It checks what it gets: state,
nonce, issuer, the signatures and hashes of ID tokens. Keycloak: 12.2 to 12.10
"""

import base64
import hashlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate
from playwright.sync_api import Page, expect

from tests.support.administered_server import ROOT
from tests.support.gateway_process import until
from tests.support.relying_parties import CERTIFICATE, WEB_SECRET, Chromium, RelyingParties, sign_in
from tests.support.wire import claims_of

_NODE = ROOT / ".venv-clients/bin/node"
_PROGRAM = ROOT / "tests/clients/npm/openid_client.mjs"


@pytest.fixture(scope="module")
def web(relying_parties: RelyingParties) -> Iterator[str]:
    """Run the applications; return the URL below which they are."""
    assert _NODE.exists(), "node is not installed: scripts/test installs it"
    certificates = relying_parties.stack.certificates
    home = f"https://localhost:{relying_parties.web_port}"
    process = subprocess.Popen(
        [_NODE, _PROGRAM],
        env={
            "PATH": "/usr/bin:/bin",
            "NODE_EXTRA_CA_CERTS": str(certificates.folder / "ca.crt"),
            "ISSUER": relying_parties.issuer,
            "HOME": home,
            "SECRET": WEB_SECRET,
            "SERVER_PAIR": str(certificates.pair("server")),
            "CLIENT_PAIR": str(certificates.pair(CERTIFICATE)),
        },
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield home
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


@dataclass(frozen=True, slots=True)
class Person:
    """A user's browser at the applications."""

    page: Page
    web: str

    def asks(self, application: str, action: str) -> dict[str, Any]:
        """Return what an application answers, for which no page may come up."""
        self.page.goto(f"{self.web}/{application}/{action}")
        return self.answer

    def signs_in(self, application: str) -> dict[str, Any]:
        """Return what an application finds after the page of the gateway."""
        self.page.goto(f"{self.web}/{application}/sign-in")
        sign_in(self.page, "ada")
        return self.answer

    @property
    def answer(self) -> dict[str, Any]:
        self.page.wait_for_url(f"{self.web}/**")
        found: dict[str, Any] = json.loads(self.page.inner_text("pre"))
        return found


@pytest.fixture
def person(web: str, chromium_browser: Chromium) -> Iterator[Person]:
    with chromium_browser.new_context() as context:
        yield Person(context.new_page(), web)


def test_one_sign_in_and_one_logout_serve_two_applications(
    relying_parties: RelyingParties, person: Person
) -> None:
    """The second one gets a logout token, and its refresh token works no more."""
    first = person.signs_in("portal")
    second = person.asks("reports", "sign-in")
    assert first["claims"]["sid"] == second["claims"]["sid"]
    assert (first["claims"]["aud"], second["claims"]["aud"]) == ("portal", "reports")
    assert person.asks("reports", "userinfo")["email"] == "ada@example.test"
    person.page.goto(f"{person.web}/portal/sign-out")
    assert person.page.url == f"{person.web}/portal/signed-out"
    assert relying_parties.refresh("reports", second["refresh_token"]) == "invalid_grant"
    until(lambda: "error" in person.asks("reports", "session"), "no logout token came", 20)


@pytest.mark.parametrize(
    "application", ["portal", "reports", "signing", "signed-answer", "hybrid", "bound"]
)
def test_a_refresh_changes_the_tokens_and_ends_the_old_one(
    person: Person, application: str
) -> None:
    """Each application signs in and authenticates in its own way.

    `signing` signs and pushes the request, and has a key; `signed-answer` gets a JWT (JARM), and
    makes a MAC with its secret; `hybrid` gets `code id_token` as a form; `bound` has a certificate.
    """
    claims = person.signs_in(application)["claims"]
    assert (claims["aud"], claims["preferred_username"]) == (application, "ada")
    found = person.asks(application, "refresh")
    before, after = found["before"], found["after"]
    changed = ("access_token", "refresh_token", "id_token")
    assert all(before[name] != after[name] for name in changed)
    assert found["again"] == "invalid_grant"


def test_a_token_is_introspected_until_it_is_revoked(person: Person) -> None:
    person.signs_in("portal")
    assert person.asks("portal", "introspect")["username"] == "ada"
    assert person.asks("portal", "revoke") == {"active": False}
    assert person.asks("portal", "refresh") == {"error": "invalid_grant"}


def test_a_token_of_a_certificate_works_with_it_alone(
    relying_parties: RelyingParties, person: Person
) -> None:
    """RFC 8705 §3: openid-client asks at the addresses of `mtls_endpoint_aliases`."""
    token = person.signs_in("bound")["access_token"]
    file = relying_parties.stack.certificates.pair(CERTIFICATE).with_suffix(".crt")
    certificate = load_pem_x509_certificate(file.read_bytes()).public_bytes(Encoding.DER)
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(certificate).digest()).rstrip(b"=")
    assert claims_of(token)["cnf"] == {"x5t#S256": thumbprint.decode()}
    assert person.asks("bound", "userinfo")["preferred_username"] == "ada"
    assert relying_parties.userinfo(token) == 401


def test_a_device_gets_its_tokens_once_the_user_has_agreed(person: Person) -> None:
    url = person.asks("terminal", "start-device")["url"]
    person.page.goto(url)
    person.page.click("[type=submit]")
    sign_in(person.page, "ada")
    person.page.click("[name=accept]")
    expect(person.page.locator("#kc-page-title")).to_have_text("Your device is signed in")
    claims = person.asks("terminal", "device")["claims"]
    assert (claims["aud"], claims["preferred_username"]) == ("terminal", "ada")
    assert person.asks("terminal", "refresh")["again"] == "invalid_grant"
