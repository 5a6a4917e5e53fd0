"""self_signed_tls_client_auth: the certificate, or its key, is registered itself. RFC 8705 §2.2.

The listener for self-signed certificates is nginx with `optional_no_ca`. Attacks A6, A7.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from gateway.crypto.x509.issuing import ValidityPeriod
from tests.support.certificate_clients import CertificateClients, client, device_key
from tests.support.certificates import DAY, SERVER, WEAK_RSA_BITS
from tests.support.spec_stack import Stack
from tests.support.wire import claims_of

AUTHORITY = "it is an authority's certificate: self-signed with CA:TRUE"
METHOD = "self_signed_tls_client_auth"


@pytest.fixture(scope="module")
def clients(spec: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CertificateClients]:
    """Make a realm with a client that has no key yet."""
    with ExitStack() as open_ones:
        made = [client("own", self_signed="true"), client("named", san_dns="own.example")]
        folder = tmp_path_factory.mktemp("self-signed")
        yield CertificateClients.make(spec, "self-signed", folder, made, open_ones)


def _der(clients: CertificateClients, kind: str) -> str:
    return base64.b64encode(clients.keeper.animals[kind].der).decode()


def _chain(clients: CertificateClients, kind: str) -> dict[str, Any]:
    return {"kty": "EC", "x5c": [_der(clients, kind)]}


def _key(clients: CertificateClients, kind: str) -> dict[str, Any]:
    found = x509.load_der_x509_certificate(clients.keeper.animals[kind].der).public_key()
    assert isinstance(found, ec.EllipticCurvePublicKey)
    numbers = found.public_numbers()
    point = {
        name: base64.urlsafe_b64encode(value.to_bytes(32, "big")).decode().rstrip("=")
        for name, value in (("x", numbers.x), ("y", numbers.y))
    }
    return {"kty": "EC", "crv": "P-256", **point}


def _register(clients: CertificateClients, *keys: dict[str, Any]) -> None:
    document = {"use.jwks.string": "true", "jwks.string": json.dumps({"keys": keys})}
    answer = clients.with_attributes("own", **document)
    assert answer.status_code == 204, answer.text


def test_a_registered_certificate_or_key_authenticates(clients: CertificateClients) -> None:
    """Several are registered at once, so that a new certificate works before the old one goes."""
    key = device_key()
    for kind in ("old", "new", "stranger"):
        clients.issue(kind, self_signed=True)
    clients.issue("first of key", self_signed=True, key=key)
    clients.issue("second of key", self_signed=True, key=key)
    kinds = ("old", "new", "first of key", "second of key", "stranger")

    def admitted() -> list[str]:
        return [kind for kind in kinds if clients.admitted(kind, "own", self_signed=True)]

    assert admitted() == []
    _register(clients, _chain(clients, "old"))
    assert admitted() == ["old"]
    _register(clients, _chain(clients, "old"), _chain(clients, "new"), {"kty": "junk"})
    assert admitted() == ["old", "new"]
    _register(clients, _chain(clients, "new"), _key(clients, "first of key"))
    assert admitted() == ["new", "first of key", "second of key"]
    _register(clients, _key(clients, "old") | {"use": "enc"})
    assert admitted() == []
    # The wrong method: a name does not help a self-signed certificate.
    clients.issue("self-named", "dns:own.example", self_signed=True)
    assert not clients.admitted("self-named", "named", self_signed=True)


def test_what_refuses_a_certificate_refuses_a_registered_one(clients: CertificateClients) -> None:
    """Validity, purpose and strength are checked as of any other. Attacks A7, A8."""
    now = datetime.now(UTC)
    authority = (x509.BasicConstraints(ca=True, path_length=None), True)
    wrong: dict[str, dict[str, Any]] = {
        "expired": {"validity": ValidityPeriod(now - 2 * DAY, now - DAY)},
        "weak": {"key": rsa.generate_private_key(65537, WEAK_RSA_BITS)},
        "of-a-server": {"purposes": SERVER},
    }
    for kind, how in wrong.items():
        clients.issue(kind, self_signed=True, **how)
    clients.keeper.add("authority", self_signed=True, extensions=[authority])
    clients.issue("right", self_signed=True)
    kinds = [*wrong, "authority", "right"]
    _register(clients, *(_chain(clients, kind) for kind in kinds))
    answers = {kind: clients.token(kind, "own", self_signed=True) for kind in kinds}
    refused = [kind for kind, answer in answers.items() if answer.status_code != 200]
    assert refused == [*wrong, "authority"]
    reason = clients.reason(answers["authority"])
    assert reason == f"invalid_client: the client certificate is refused: {AUTHORITY}"


def test_an_uploaded_certificate_authenticates(
    clients: CertificateClients,
) -> None:
    """Keycloak: clients/{id}/certificates/jwt.credential/upload-certificate."""
    clients.issue("uploaded", self_signed=True)
    path = f"clients/{clients.id_of('own')}/certificates/jwt.credential/upload-certificate"
    pem = clients.keeper.animals["uploaded"].certificate.read_bytes()
    answer = clients.stack.http.post(
        f"{clients.stack.nginx.https}/admin/realms/{clients.name}/{path}",
        files={"file": ("c.pem", pem)},
        data={"keystoreFormat": "Certificate PEM"},
        headers={"Authorization": f"Bearer {clients.stack.administrator()}"},
    )
    assert answer.status_code == 200, answer.text
    assert clients.admitted("uploaded", "own", self_signed=True)
    clients.issue("not uploaded", self_signed=True)
    assert not clients.admitted("not uploaded", "own", self_signed=True)


def test_a_client_registers_with_its_own_certificate(clients: CertificateClients) -> None:
    """RFC 7591 §2 (jwks), RFC 8705 §2.2.2; its tokens can be bound to the certificate."""
    http, nginx = clients.stack.http, clients.stack.nginx
    found = http.get(f"{nginx.https}/realms/{clients.name}/.well-known/openid-configuration").json()
    assert METHOD in found["token_endpoint_auth_methods_supported"]
    token = clients.admin("POST", "clients-initial-access", {"count": 5}).json()["token"]
    url, bearer = found["registration_endpoint"], {"Authorization": f"Bearer {token}"}
    asked = {
        "token_endpoint_auth_method": METHOD,
        "grant_types": ["client_credentials"],
        "tls_client_certificate_bound_access_tokens": True,
    }
    assert http.post(url, json=asked, headers=bearer).json()["error"] == "invalid_client_metadata"
    clients.issue("registered", self_signed=True)
    keys = {"keys": [_chain(clients, "registered")]}
    made = http.post(url, json=asked | {"jwks": keys}, headers=bearer).json()
    assert (made["token_endpoint_auth_method"], made["jwks"]) == (METHOD, keys)
    answer = clients.token("registered", made["client_id"], self_signed=True)
    assert "cnf" in claims_of(answer.json()["access_token"])
    own = {"Authorization": f"Bearer {made['registration_access_token']}"}
    named = {"token_endpoint_auth_method": "tls_client_auth", "tls_client_auth_san_dns": "o.test"}
    changed = {"client_id": made["client_id"], **named}
    made = http.put(made["registration_client_uri"], json=changed, headers=own).json()
    assert made["token_endpoint_auth_method"] == "tls_client_auth"
    assert not clients.admitted("registered", made["client_id"], self_signed=True)
