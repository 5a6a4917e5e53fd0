"""Codes that were asked for with a certificate are redeemed with the same one, through nginx.

Spec: RFC 8705 §3, RFC 9126 §2, RFC 8628 §3.4
"""

import ssl
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.crypto.x509.development_pki import ISSUING, read_authority
from tests.support.administered_server import AdministeredServer
from tests.support.administration import PASSWORD, SECRET
from tests.support.chains import CA, issue
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser, web_client
from tests.support.wire import user

REALM: Final = "bound-codes"
_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_BOUND: Final = {
    "tls.client.certificate.bound.access.tokens": "true",
    "oauth2.device.authorization.grant.enabled": "true",
}


@pytest.fixture(scope="module")
def server(administered: AdministeredServer) -> Iterator[AdministeredServer]:
    """Return the server with a realm that has a client with bound tokens, and one without."""
    anna = user("anna", credentials=[{"type": "password", "value": PASSWORD}])
    clients = [
        web_client("app", attributes=_BOUND),
        web_client("free", attributes=_BOUND | dict.fromkeys(list(_BOUND)[:1], "false")),
    ]
    settings = {"enabled": True, "oauth2DevicePollingInterval": 0}
    fields = {**settings, "clients": clients, "users": [anna]}
    with administered.realm(REALM, fields):
        yield administered


def _post(
    server: AdministeredServer, certificate: str | None, path: str, client_id: str, **form: str
) -> tuple[int, dict[str, Any]]:
    """Send a form of a client with a certificate, or without one."""
    assert server.certificates is not None
    context = ssl.create_default_context(cafile=str(server.authority))
    if certificate is not None:
        pair = server.certificates.pair(certificate)
        context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
    sent = {"client_id": client_id, "client_secret": SECRET, **form}
    with httpx2.Client(verify=context) as http:
        url = f"{server.url}/realms/{REALM}/protocol/openid-connect/{path}"
        response = http.post(url, data=sent)
    return response.status_code, response.json()


@pytest.fixture
def browser(server: AdministeredServer) -> Iterator[SignInBrowser]:
    """Return a browser without a certificate."""
    context = ssl.create_default_context(cafile=str(server.authority))
    with httpx2.Client(verify=context, base_url=server.url) as http:
        yield SignInBrowser(http, REALM, public_url=server.url)


def _code(
    server: AdministeredServer, browser: SignInBrowser, certificate: str | None, client_id: str
) -> str:
    """Push a request with the certificate and return the code of its sign-in."""
    asked = {"response_type": "code", "redirect_uri": CALLBACK, "scope": "openid"}
    status, pushed = _post(server, certificate, "ext/par/request", client_id, **asked)
    assert status == 201, pushed
    sent = dict.fromkeys(("redirect_uri", "response_type", "scope", "state"))
    page = browser.open(client_id, request_uri=pushed["request_uri"], **sent)
    return browser.submit(page, username="anna", password=PASSWORD).answer["code"]


def _redeemed(
    server: AdministeredServer, certificate: str | None, code: str, client_id: str = "app"
) -> tuple[int, dict[str, Any]]:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
    return _post(server, certificate, "token", client_id, **form)


def test_the_certificate_of_the_pushed_request_redeems_the_code(
    server: AdministeredServer, browser: SignInBrowser
) -> None:
    status, answer = _redeemed(server, "device-1", _code(server, browser, "device-1", "app"))
    assert status == 200, answer


@pytest.mark.parametrize("other", ["device-2", None])
def test_a_certificate_other_than_that_of_the_push_is_refused(
    server: AdministeredServer, browser: SignInBrowser, other: str | None
) -> None:
    """The code is spent by the attempt, as by each that does not fit."""
    code = _code(server, browser, "device-1", "app")
    refused = (400, {"error": "invalid_grant", "error_description": "Code not valid"})
    assert _redeemed(server, other, code) == refused
    assert _redeemed(server, "device-1", code) == refused


@pytest.mark.parametrize(("client_id", "pushed_with"), [("app", None), ("free", "device-1")])
def test_without_certificate_or_bound_tokens_the_code_is_unbound(
    server: AdministeredServer, browser: SignInBrowser, client_id: str, pushed_with: str | None
) -> None:
    code = _code(server, browser, pushed_with, client_id)
    status, answer = _redeemed(server, "device-2", code, client_id)
    assert status == 200, answer


def _connect(browser: SignInBrowser, codes: dict[str, Any]) -> Page:
    """Type the code of a device, sign in, and allow it."""
    page = browser.submit(
        browser.get(codes["verification_uri"]), device_user_code=codes["user_code"]
    )
    page = browser.submit(page, username="anna", password=PASSWORD)
    return browser.submit(page, accept="on")


def test_a_device_polls_with_the_certificate_that_it_asked_with(
    server: AdministeredServer, browser: SignInBrowser
) -> None:
    """A poll that is refused leaves the code as it was."""
    _, codes = _post(server, "device-1", "auth/device", "app")
    _connect(browser, codes)
    poll = {"grant_type": _GRANT, "device_code": codes["device_code"]}
    for other in ("device-2", None):
        status, answer = _post(server, other, "token", "app", **poll)
        assert (status, answer["error"]) == (400, "invalid_grant")
        assert answer["error_description"] == "Device code not valid"
    status, answer = _post(server, "device-1", "token", "app", **poll)
    assert status == 200, answer


@pytest.fixture
def _anchors_of_the_client(server: AdministeredServer) -> Iterator[None]:
    """Trust the certificates for the client alone: the realm has another anchor of that name."""
    assert server.certificates is not None
    issuing = read_authority(server.certificates.folder, ISSUING).certificate
    look_alike = issue(issuing.subject, None, CA)
    (app,) = server.get(f"/{REALM}/clients?clientId=app")
    paths = {
        f"/{REALM}/certificates/authorities": look_alike.pem,
        f"/{REALM}/clients/{app['id']}/certificates/authorities": issuing.public_bytes(
            Encoding.PEM
        ).decode(),
    }
    for path, pem in paths.items():
        made = server.ask("POST", path, {"certificate": pem, "kind": "anchor"})
        assert made.is_success, made.text
    yield
    for path in paths:
        for each in server.get(path):
            assert server.ask("DELETE", f"{path}/{each['sha256']}").is_success


@pytest.mark.usefixtures("_anchors_of_the_client")
def test_a_code_is_bound_to_what_the_anchors_of_the_client_trust(
    server: AdministeredServer, browser: SignInBrowser
) -> None:
    code = _code(server, browser, "device-1", "app")
    assert _redeemed(server, "device-2", code)[0] == 400


@pytest.mark.usefixtures("_anchors_of_the_client")
def test_device_codes_bind_to_what_the_clients_anchors_trust(
    server: AdministeredServer, browser: SignInBrowser
) -> None:
    _, codes = _post(server, "device-1", "auth/device", "app")
    _connect(browser, codes)
    poll = {"grant_type": _GRANT, "device_code": codes["device_code"]}
    answers = [_post(server, name, "token", "app", **poll) for name in ("device-2", "device-1")]
    assert [status for status, _ in answers] == [400, 200], answers
