"""A denied certificate is refused by every gateway within one second; nginx still says SUCCESS.

attacks A9, A19: a full handshake and a resumed session look alike to the gateway
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx2
import pytest

from gateway.crypto.x509.development_pki import ClientOrder, issue_client
from gateway.crypto.x509.parse import describe, load_any_certificate
from tests.support.spec_stack import Stack, protocol
from tests.support.wire import audience, device

HOST = "denied.example.test"
CLIENT = "denied-device"
SUBJECT = f"CN={CLIENT},OU=Devices,O=Realmgate Demonstration"
_IN_A_ROW = 12
"""The same answer without another between them: enough for both gateways to have answered."""
_REASON = "it is on the deny list of the realm"


@dataclass(frozen=True, slots=True)
class Fleet:
    """A client with certificates of one subject, in a realm of both gateways."""

    stack: Stack

    def issue(self) -> str:
        """Issue another certificate of the client; return its name."""
        name = f"denied-{uuid4().hex}"
        folder = self.stack.certificates.folder
        issue_client(folder, name, ClientOrder(CLIENT), now=datetime.now(UTC))
        return name

    def pem(self, certificate: str) -> bytes:
        """Return the certificate's PEM."""
        return (self.stack.certificates.folder / f"{certificate}.crt").read_bytes()

    def deny(self, document: dict[str, Any], realm: str = "spec") -> str:
        """Add an entry to the deny list of a realm; return its id."""
        answer = self.stack.http.post(
            f"{self.stack.nginx.https}/admin/realms/{realm}/certificates/denied",
            json=document,
            headers={"Authorization": f"Bearer {self.stack.administrator()}"},
        )
        assert answer.status_code == httpx2.codes.CREATED, answer.text
        return str(answer.headers["location"]).rpartition("/")[2]

    def allow(self, identity: str, realm: str = "spec") -> None:
        """Remove an entry."""
        answer = self.stack.ask(f"{realm}/certificates/denied/{identity}", "DELETE")
        assert answer.status_code == httpx2.codes.NO_CONTENT, answer.text


@pytest.fixture(scope="module")
def fleet(pair: Stack) -> Iterator[Fleet]:
    document = device(CLIENT, SUBJECT, **{"tls.client.certificate.bound.access.tokens": "true"})
    document["protocolMappers"] = [audience(CLIENT), audience("svc")]
    site = {
        "name": "denied",
        "hosts": [HOST],
        "rules": [{"name": "own", "paths": ["/*"], "audiences": [CLIENT]}],
    }
    headers = {"Authorization": f"Bearer {pair.administrator()}"}
    base = f"{pair.nginx.https}/admin/realms/spec"
    for path, body in (("clients", document), ("guard/sites", site)):
        made = pair.http.post(f"{base}/{path}", json=body, headers=headers)
        assert made.status_code == httpx2.codes.CREATED, made.text
    yield Fleet(pair)
    pair.ask("spec/guard/sites/denied", "DELETE")


@dataclass(frozen=True, slots=True)
class Device:
    """One who holds a certificate and its key."""

    fleet: Fleet
    certificate: str
    http: httpx2.Client

    def token_answer(self) -> httpx2.Response:
        form = {"grant_type": "client_credentials", "client_id": CLIENT, "scope": "openid"}
        return self.http.post(f"{self.fleet.stack.nginx.mtls}{protocol('spec')}/token", data=form)

    def uses(self, token: str) -> dict[str, Callable[[], bool]]:
        """Return what the certificate is good for; each tells whether it is accepted."""
        stack = self.fleet.stack
        bearer = {"Authorization": f"Bearer {token}"}
        url = f"{stack.nginx.mtls}{protocol('spec')}/userinfo"
        decision = {
            **bearer,
            "X-Original-Request": "GET / HTTP/1.1",
            "X-Forwarded-Host": HOST,
            "X-Forwarded-Proto": "https",
            "X-Realmgate-Server": HOST,
            "ssl-client-cert": quote(self.fleet.pem(self.certificate).decode()),
            "ssl-client-verify": "SUCCESS",
        }

        turns = cycle(stack.gateways)

        def decided() -> bool:
            with next(turns).client(**decision) as http:
                return http.get("/.realmgate/guard/nginx").is_success

        return {
            "token": lambda: self.token_answer().is_success,
            "userinfo": lambda: self.http.get(url, headers=bearer).is_success,
            "introspection": lambda: bool(stack.introspect(token)["active"]),
            "forward-auth": decided,
        }


def _becomes(ask: Callable[[], bool], expected: bool, changed_at: float) -> None:  # noqa: FBT001
    """Assert that every answer is the expected one from a second after the change on."""
    same = 0
    while same < _IN_A_ROW:
        asked_at = time.monotonic()
        same = same + 1 if ask() is expected else 0
        assert same or asked_at < changed_at + 1


@pytest.fixture
def thief(fleet: Fleet) -> Iterator[Device]:
    """Return the holder of a certificate that both gateways accept and remember."""
    certificate = fleet.issue()
    with ExitStack() as stack:
        http = stack.enter_context(fleet.stack.nginx.client(certificate))
        yield Device(fleet, certificate, http)


def _token(holder: Device) -> str:
    answer = holder.token_answer()
    assert answer.is_success, answer.text
    return str(answer.json()["access_token"])


def _stated(holder: Device) -> tuple[dict[str, Any], str]:
    found = describe(load_any_certificate(holder.fleet.pem(holder.certificate)))
    return {"issuer": found.issuer, "serial": found.serial}, found.sha256


def test_a_denied_certificate_is_refused_everywhere_in_a_second(thief: Device) -> None:
    token = _token(thief)
    uses = thief.uses(token)
    for ask in uses.values():
        _becomes(ask, True, time.monotonic())
    _, thumbprint = _stated(thief)
    identity = thief.fleet.deny({"thumbprint": thumbprint, "reason": "stolen"})
    denied_at = time.monotonic()
    for ask in uses.values():
        _becomes(ask, False, denied_at)
    refused = thief.token_answer()
    assert refused.status_code == httpx2.codes.UNAUTHORIZED
    assert "stolen" not in refused.text

    thief.fleet.allow(identity)
    allowed_at = time.monotonic()
    for ask in uses.values():
        _becomes(ask, True, allowed_at)


def test_issuer_and_serial_name_one_certificate_of_a_subject(thief: Device, fleet: Fleet) -> None:
    with fleet.stack.nginx.client(fleet.issue()) as http:
        other = Device(fleet, "", http)
        token, others = _token(thief), _token(other)
        named, _ = _stated(thief)
        fleet.deny(named)
        denied_at = time.monotonic()
        for ask in thief.uses(token).values():
            _becomes(ask, False, denied_at)
        assert other.token_answer().is_success
        assert fleet.stack.introspect(others)["active"]


def test_the_deny_list_of_master_counts_in_every_realm(thief: Device, fleet: Fleet) -> None:
    _, thumbprint = _stated(thief)
    assert thief.token_answer().is_success
    fleet.deny({"thumbprint": thumbprint}, realm="master")
    _becomes(lambda: thief.token_answer().is_success, False, time.monotonic())
