"""What events tell of the certificate by which a client signs in. Keycloak: Details (x509)."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from tests.support.wire import DEVICE_SUBJECT, Wire, device

REALM = "watched"
_DETAILS = "x509_cert_serial_number", "x509_cert_subject_distinguished_name"


@pytest.fixture(scope="module")
def token(wire: Wire) -> Iterator[str]:
    """Make a realm that records the sign-ins of a device; return an administrator's token."""
    credentials = {"username": "admin", "password": "the administrator's word"}
    form = {"grant_type": "password", "client_id": "admin-cli", **credentials}
    found = str(wire.post("token", form, realm="master").json()["access_token"])
    realm = {
        "realm": REALM,
        "enabled": True,
        "sslRequired": "none",
        "defaultSignatureAlgorithm": "ES256",
        "eventsEnabled": True,
        "clients": [device("device-1", DEVICE_SUBJECT)],
    }
    made = _ask(wire, found, "POST", "/admin/realms", realm)
    assert made.status_code == httpx2.codes.CREATED, made.text
    yield found
    _ask(wire, found, "DELETE", f"/admin/realms/{REALM}")


def _ask(
    wire: Wire, token: str, method: str, path: str, document: object = None
) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return wire.http.request(method, path, headers=headers, json=document)


def _event_of_a_sign_in(wire: Wire, token: str, certificate: str | None) -> dict[str, Any]:
    form = {"grant_type": "client_credentials", "client_id": "device-1"}
    wire.post("token", form, realm=REALM, certificate=certificate)
    [event] = _ask(wire, token, "GET", f"/admin/realms/{REALM}/events?max=1").json()
    found: dict[str, Any] = event
    return found


def _parsed(escaped: str) -> ParsedCertificate:
    found = x509.load_pem_x509_certificate(unquote(escaped).encode())
    return parse_certificate(found.public_bytes(Encoding.DER))


def test_a_device_signs_in_by_its_certificate(wire: Wire, token: str) -> None:
    event = _event_of_a_sign_in(wire, token, "device-1")
    parsed = _parsed(wire.certificates["device-1"])
    assert (event["type"], event["clientId"]) == ("CLIENT_LOGIN", "device-1")
    assert event["details"]["client_auth_method"] == "client-x509"
    told = {name: text for name, text in event["details"].items() if name.startswith("x509")}
    assert told == {
        "x509_cert_serial_number": f"{parsed.serial:x}",
        "x509_cert_subject_distinguished_name": DEVICE_SUBJECT.replace(",", ", "),
        "x509_cert_issuer_distinguished_name": parsed.issuer.legacy_rendering(),
    }


@pytest.mark.parametrize("certificate", ["device-2", "unknown CA", None])
def test_an_event_names_the_certificate_even_if_it_is_no_proof(
    wire: Wire, token: str, certificate: str | None
) -> None:
    event = _event_of_a_sign_in(wire, token, certificate)
    assert (event["type"], event["error"]) == ("CLIENT_LOGIN_ERROR", "invalid_client_credentials")
    assert [name in event["details"] for name in _DETAILS] == [certificate is not None] * 2


def test_no_certificate_enters_an_event(wire: Wire, token: str) -> None:
    event = _event_of_a_sign_in(wire, token, "device-1")
    assert "BEGIN" not in str(event)
    assert "MII" not in str(event)
