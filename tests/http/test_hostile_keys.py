"""Uploaded keys and archives that ask for minutes of work, through the real nginx: 400, at once.

Attack: an archive of 2.5 kB names 2,000,000 iterations; the library computes them while it holds
the interpreter lock, so that a worker answers to no realm.
"""

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.hostile_stack import HostileStack
from tests.support.key_documents import (
    PASSWORD,
    RC2_40,
    archive,
    encrypted,
    pbe,
    pbes2,
    rsa_private_key,
    rsa_public_key,
)
from tests.support.spec_stack import Stack

REALM = "hostile-keys"
UPLOAD = f"{REALM}/clients/its-id/certificates/jwt.credential/upload-certificate"
HUGE = (1 << 8675) + 1
ITERATIONS = "Iterations of the archive's keys: 2000000 given, at most 300000 are allowed"
MODULUS = "RSA modulus in bits: 8676 given, at most {} are allowed"


@pytest.fixture(scope="module")
def stack(spec: Stack) -> Iterator[HostileStack]:
    """Make a realm with a client."""
    realm = {
        "realm": REALM,
        "enabled": True,
        "defaultSignatureAlgorithm": "ES256",
        "clients": [{"id": "its-id", "clientId": "app", "enabled": True}],
    }
    made = HostileStack(spec)
    assert made.send("POST", "", realm).status_code == 201
    yield made
    made.send("DELETE", REALM)


def upload(stack: HostileStack, kind: str, content: bytes) -> httpx2.Response:
    texts = {"keystoreFormat": kind, "keyAlias": "mine", "storePassword": PASSWORD}
    return stack.stack.http.post(
        f"{stack.stack.nginx.https}/admin/realms/{UPLOAD}",
        headers={"Authorization": f"Bearer {stack.token}"},
        data=texts,
        files={"file": ("key", content, "application/octet-stream")},
    )


HOSTILE_FILES: dict[str, tuple[str, bytes, str]] = {
    "iterations of the MAC": ("PKCS12", archive(iterations=2_000_000), ITERATIONS),
    "iterations of a part": ("PKCS12", archive(encrypted(pbes2(1_999_999))), ITERATIONS),
    "iterations of PBE": ("PKCS12", archive(encrypted(pbe(1_999_999))), ITERATIONS),
    "RC2": (
        "PKCS12",
        archive(encrypted(pbe(1, RC2_40))),
        "RC2 is not supported: write the archive with AES or 3DES",
    ),
    "public key": (
        "Public Key PEM",
        base64.b64encode(rsa_public_key(HUGE)),
        MODULUS.format(8192),
    ),
}


@pytest.mark.parametrize("kind", HOSTILE_FILES)
def test_a_file_that_costs_too_much_is_refused_with_its_reason(
    stack: HostileStack, kind: str
) -> None:
    file, content, reason = HOSTILE_FILES[kind]
    response = upload(stack, file, content)
    assert (response.status_code, response.json()) == (400, {"error": reason})


def test_refusing_an_archive_takes_constant_time(
    stack: HostileStack,
) -> None:
    def spent(iterations: int) -> float:
        before = stack.processor_seconds()
        for _ in range(5):
            response = upload(stack, "PKCS12", archive(iterations=iterations))
            assert response.status_code == 400
        return stack.processor_seconds() - before

    spent(2**30)
    # 5 x 2^31 iterations take an hour.
    assert spent(2**31 - 1) < 2


def test_an_imported_key_is_measured_before_it_is_checked(stack: HostileStack) -> None:
    numbers = (HUGE, 65537, *[3] * 6)
    component: dict[str, Any] = {
        "name": "hostile",
        "providerId": "rsa",
        "providerType": "org.keycloak.keys.KeyProvider",
        "config": {"privateKey": [base64.b64encode(rsa_private_key(numbers)).decode()]},
    }
    response = stack.send("POST", f"{REALM}/components", component)
    assert response.status_code == 400
    assert MODULUS.format(4096) in response.text


def test_keys_of_a_realm_are_generated_no_faster_than_allowed(stack: HostileStack) -> None:
    """Only so many may wait: otherwise one realm would take all threads and processors."""
    component = {
        "name": "many",
        "providerId": "rsa-generated",
        "providerType": "org.keycloak.keys.KeyProvider",
        "config": {"keySize": ["3072"], "active": ["false"]},
    }
    answers = stack.at_once(20, "POST", f"{REALM}/components", component)
    assert {answer.status_code for answer in answers} == {201, 503}
    assert all(int(one.headers["Retry-After"]) > 0 for one in answers if one.status_code == 503)


def base64url(number: int, size: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(size)).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("name", "curve"),
    [("P-256", ec.SECP256R1()), ("P-384", ec.SECP384R1()), ("P-521", ec.SECP521R1())],
)
def test_a_key_set_has_keys_of_each_curve_and_no_longer_ones(
    stack: HostileStack, name: str, curve: ec.EllipticCurve
) -> None:
    numbers = ec.generate_private_key(curve).public_key().public_numbers()
    size = (curve.key_size + 7) // 8
    jwk = {"kty": "EC", "crv": name, "kid": "k", "use": "sig"}
    jwk |= {"x": base64url(numbers.x, size), "y": base64url(numbers.y, size)}

    def answer(**changed: str) -> httpx2.Response:
        document = {"keys": [{**jwk, **changed}]}
        return upload(stack, "JSON Web Key Set", json.dumps(document).encode())

    taken = answer()
    assert taken.status_code == 200, taken.text
    for coordinate in ("x", "y"):
        refused = answer(**{coordinate: "A" * 10_000})
        assert refused.status_code == 400
        assert refused.json()["error"].startswith("Digits of a JWK: 10000 given")
