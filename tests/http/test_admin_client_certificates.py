"""Keys of clients over the admin API: made, packed up, sent; never kept whole. Keycloak: 7.3."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import httpx2
import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    load_pkcs12,
    serialize_key_and_certificates,
)
from cryptography.x509.oid import NameOID

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration

ADMINISTRATORS = {
    "viewer": ["view-clients"],
    "manager": ["manage-clients"],
    "greater": ["manage-clients", "manage-users"],
}
PLAIN = "clients/plain-id"
KEY = f"{PLAIN}/certificates/jwt.credential"
FORBIDDEN = (403, {"error": "HTTP 403 Forbidden"})
NOT_FOUND = "Certificate or key with given alias not found in the keystore"
KINDS = "Keys of clients are RSA, EC or Ed25519 keys"
STORE = {"format": "PKCS12", "keyAlias": "mine", "keyPassword": "kp", "storePassword": "sp"}


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with a client."""
    client = {"id": "plain-id", "clientId": "plain", "enabled": True}
    with administered_realm(
        administration, "of-client-keys", ADMINISTRATORS, clients=[client]
    ) as made:
        yield made


@cache
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def certificate() -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sent")])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key().public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key(), hashes.SHA256())
    )


def base64_of(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def pem() -> bytes:
    return certificate().public_bytes(Encoding.PEM)


def der() -> str:
    return base64_of(certificate().public_bytes(Encoding.DER))


def archive(alias: str = "mine") -> bytes:
    encryption = BestAvailableEncryption(b"sp")
    return serialize_key_and_certificates(alias.encode(), key(), certificate(), None, encryption)


def key_set(**more: Any) -> bytes:
    numbers = key().public_key().public_numbers()
    x, y = (
        base64.urlsafe_b64encode(number.to_bytes(32)).rstrip(b"=").decode()
        for number in (numbers.x, numbers.y)
    )
    jwk = {"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": "k1", "use": "sig", **more}
    return json.dumps({"keys": [jwk]}).encode()


def public_pem() -> bytes:
    return key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def upload(
    realm: AdministeredRealm,
    kind: str | None,
    content: bytes | None,
    *,
    last: str = "upload-certificate",
    by: str = "",
    at: str = KEY,
    **fields: str,
) -> httpx2.Response:
    """Send a form as Keycloak's console does."""
    texts = {"keystoreFormat": kind, "keyAlias": "mine", "storePassword": "sp", **fields}
    parts = [
        f'--X\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
        for name, text in texts.items()
        if text is not None
    ]
    if content is not None:
        head = b'--X\r\nContent-Disposition: form-data; name="file"; filename="k"\r\n'
        parts.append(head + b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n")
    administration = realm.administration
    return administration.ask(
        "POST",
        f"{realm.name}/{at}/{last}",
        administration.token(by, realm.name) if by else None,
        content=b"".join(parts) + b"--X--\r\n",
        headers={"Content-Type": "multipart/form-data; boundary=X"},
    )


def attributes(realm: AdministeredRealm) -> dict[str, str]:
    found: dict[str, str] = realm.get(PLAIN)["attributes"]
    made = {"realm_client", "client.secret.creation.time"}
    return {name: text for name, text in found.items() if name not in made}


def stored(realm: AdministeredRealm) -> bytes:
    """Return all that lies on disk, where no private key may lie."""
    folder = realm.administration.gateway.state_dir
    return b"".join(file.read_bytes() for file in sorted(folder.glob("realmgate.db*")))


def test_a_key_is_made_told_once_and_never_kept(realm: AdministeredRealm) -> None:
    response = realm.ask("POST", f"{KEY}/generate", by="manager")
    assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
    made = response.json()
    assert list(made) == ["privateKey", "certificate"]
    private = load_der_private_key(base64.b64decode(made["privateKey"]), password=None)
    parsed = x509.load_der_x509_certificate(base64.b64decode(made["certificate"]))
    assert isinstance(private, rsa.RSAPrivateKey)
    assert private.key_size == 4096
    assert private.public_key() == parsed.public_key()
    assert parsed.subject.rfc4514_string() == parsed.issuer.rfc4514_string() == "CN=plain"
    assert parsed.not_valid_before_utc < datetime.now(UTC)
    assert 1000 < (parsed.not_valid_after_utc - datetime.now(UTC)).days < 1100
    assert realm.get(KEY, by="viewer") == {"certificate": made["certificate"]}
    assert attributes(realm) == {"jwt.credential.certificate": made["certificate"]}
    assert made["privateKey"][:200].encode() not in stored(realm)


def test_a_key_is_made_into_a_key_store(realm: AdministeredRealm) -> None:
    wish = {**STORE, "keySize": 2048, "validity": 1, "realmAlias": "the-realm"}
    response = realm.ask("POST", f"{KEY}/generate-and-download", wish)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/octet-stream"
    opened = load_pkcs12(response.content, b"sp")
    assert opened.cert is not None
    assert opened.cert.friendly_name == b"mine"
    assert isinstance(opened.key, rsa.RSAPrivateKey)
    assert opened.key.key_size == 2048
    assert opened.key.public_key() == opened.cert.certificate.public_key()
    assert [one.friendly_name for one in opened.additional_certs] == [b"the-realm"]
    keys = realm.get("keys")
    (signing,) = (key for key in keys["keys"] if key["kid"] == keys["active"]["ES256"])
    packed = opened.additional_certs[0].certificate.public_bytes(Encoding.DER)
    assert base64_of(packed) == signing["certificate"]
    valid = opened.cert.certificate.not_valid_after_utc - datetime.now(UTC)
    assert 360 < valid.days < 366
    kept = base64_of(opened.cert.certificate.public_bytes(Encoding.DER))
    assert realm.get(KEY) == {"certificate": kept}
    der_of_key = opened.key.private_bytes(
        Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    )
    assert base64_of(der_of_key)[:200].encode() not in stored(realm)


def test_the_certificate_is_packed_into_a_key_store(realm: AdministeredRealm) -> None:
    upload(realm, "Certificate PEM", pem())
    for with_realm, aliases in ((True, [b"mine", b"of-client-keys"]), (False, [b"mine"])):
        wish = {**STORE, "realmCertificate": with_realm}
        opened = load_pkcs12(realm.ask("POST", f"{KEY}/download", wish).content, b"sp")
        assert (opened.key, opened.cert) == (None, None)
        assert [one.friendly_name for one in opened.additional_certs] == aliases
        assert opened.additional_certs[0].certificate == certificate()


@pytest.mark.parametrize("last", ["download", "generate-and-download"])
@pytest.mark.parametrize(
    ("change", "status", "document"),
    [
        (
            {"keyPassword": None},
            400,
            {
                "error": "password-missing",
                "error_description": "Need to specify a key password for jks generation"
                " and download",
            },
        ),
        (
            {"storePassword": ""},
            400,
            {
                "error": "password-missing",
                "error_description": "Need to specify a store password for jks generation"
                " and download",
            },
        ),
        (
            {"format": "JKS"},
            406,
            {"error": "JKS key stores are not made here: take PKCS12, which Java reads as well"},
        ),
        (
            {"format": "x"},
            406,
            {"error": "Not supported keystore format. Supported keystore formats: [PKCS12]"},
        ),
        ({"format": None}, 406, None),
        ({"bogus": 1}, 400, None),
        ({"keySize": 1024}, 400, None),
        ({"keySize": 10**9}, 400, None),
        ({"validity": 0}, 400, None),
        ({"validity": 10**9}, 400, None),
        ({"storePassword": "x" * 1001}, 400, None),
        ({"storePassword": 5}, 400, None),
        ({"keyAlias": ""}, 400, None),
    ],
)
def test_what_cannot_be_packed_is_refused(
    realm: AdministeredRealm, last: str, change: dict[str, Any], status: int, document: Any
) -> None:
    upload(realm, "Certificate PEM", pem())
    found, said = realm.refused("POST", f"{KEY}/{last}", {**STORE, **change})
    assert found == status
    assert document is None or said == document
    assert "x" * 1001 not in json.dumps(said)
    assert realm.get(KEY) == {"certificate": der()}


def test_nothing_is_packed_where_there_is_no_certificate(realm: AdministeredRealm) -> None:
    upload(realm, "Public Key PEM", public_pem())
    missing = (404, {"error": "keypair not generated for client"})
    assert realm.refused("POST", f"{KEY}/download", STORE) == missing


@pytest.mark.parametrize("last", ["upload", "upload-certificate"])
@pytest.mark.parametrize(
    ("kind", "content", "kept"),
    [
        ("Certificate PEM", pem(), {"jwt.credential.certificate": der()}),
        ("Certificate PEM", der().encode(), {"jwt.credential.certificate": der()}),
        ("Public Key PEM", public_pem(), {"jwt.credential.public.key": public_pem().decode()}),
        ("PKCS12", archive(), {"jwt.credential.certificate": der()}),
        (
            "JSON Web Key Set",
            key_set(),
            {"jwks.string": key_set().decode(), "use.jwks.string": "true"},
        ),
    ],
)
def test_an_uploaded_public_part_replaces_the_stored_one(
    realm: AdministeredRealm, last: str, kind: str, content: bytes, kept: dict[str, str]
) -> None:
    response = upload(realm, kind, content, last=last, by="manager")
    assert response.status_code == 200, response.text
    assert attributes(realm) == kept
    assert realm.get(KEY) == response.json()
    assert "privateKey" not in response.json()


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_a_key_set_may_use_each_curve(realm: AdministeredRealm, curve: ec.EllipticCurve) -> None:
    sent = ec.generate_private_key(curve).public_key()
    document = {"keys": [jwt.algorithms.ECAlgorithm.to_jwk(sent, as_dict=True)]}
    response = upload(realm, "JSON Web Key Set", json.dumps(document).encode())
    assert response.status_code == 200, response.text
    spki = sent.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert realm.get(KEY)["publicKey"] == base64_of(spki)


def test_a_key_set_is_told_with_its_first_key(realm: AdministeredRealm) -> None:
    upload(realm, "JSON Web Key Set", key_set())
    spki = key().public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert realm.get(KEY) == {
        "publicKey": base64_of(spki),
        "kid": "k1",
        "jwks": key_set().decode(),
    }


@pytest.mark.parametrize(
    ("kind", "content", "fields", "text"),
    [
        (None, b"x", {}, "keystoreFormat cannot be null"),
        ("Certificate PEM", None, {}, "file cannot be empty"),
        ("Certificate PEM", b"", {}, "file cannot be empty"),
        ("Certificate PEM", b"junk", {}, "error loading keystore"),
        ("Certificate PEM", pem() * 2, {}, "error loading keystore"),
        ("Certificate PEM", public_pem(), {}, "error loading keystore"),
        ("Public Key PEM", b"\xff\0", {}, "error loading keystore"),
        ("PKCS12", b"junk", {}, "error loading keystore"),
        ("PKCS12", archive(), {"storePassword": "wrong"}, "error loading keystore"),
        ("PKCS12", archive("theirs"), {}, NOT_FOUND),
        ("JSON Web Key Set", b"{}", {}, NOT_FOUND),
        ("JSON Web Key Set", b'{"keys":[]}', {}, NOT_FOUND),
        ("JSON Web Key Set", b'{"keys":[{"kty":"x"}]}', {}, KINDS),
        ("JSON Web Key Set", b"[" * 100_000, {}, "error loading keystore"),
        ("JSON Web Key Set", key_set(d="AQ"), {}, "A key set must hold public keys alone"),
        ("JKS", b"x", {}, "JKS key stores are not read here: send PKCS12, or the certificate"),
        ("x", b"x", {}, "error loading keystore"),
        ("PKCS12", b"x", {"keyAlias": "x" * 1001}, "keyAlias has more than 1000 characters"),
    ],
)
def test_what_holds_no_key_of_a_client_is_refused(
    realm: AdministeredRealm,
    kind: str | None,
    content: bytes | None,
    fields: dict[str, str],
    text: str,
) -> None:
    upload(realm, "Certificate PEM", pem())
    response = upload(realm, kind, content, **fields)
    assert (response.status_code, response.json()) == (400, {"error": text})
    assert attributes(realm) == {"jwt.credential.certificate": der()}


def test_a_key_that_is_too_short_is_refused(realm: AdministeredRealm) -> None:
    short = rsa.generate_private_key(65537, 1024).public_key()  # noqa: S505 - too short
    sent = short.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    response = upload(realm, "Public Key PEM", sent)
    text = "An RSA key of a client has 2048 to 8192 bits"
    assert (response.status_code, response.json()) == (400, {"error": text})


def test_a_body_that_is_no_form_is_refused(realm: AdministeredRealm) -> None:
    assert realm.refused("POST", f"{KEY}/upload", {})[0] == 415
    url = f"{realm.name}/{KEY}/upload"
    headers = {"Content-Type": "multipart/form-data; boundary=X", "Connection": "close"}
    for content, status in ((b"junk", 400), (b"x" * 1_100_000, 413)):
        answer = realm.administration.ask("POST", url, content=content, headers=headers)
        assert answer.status_code == status


def test_only_jwts_are_signed_by_keys_of_clients(realm: AdministeredRealm) -> None:
    other = f"{PLAIN}/certificates/saml.signing"
    assert realm.get(other) == {}
    before = realm.get(PLAIN)
    for last, document in (
        ("generate", None),
        ("download", STORE),
        ("generate-and-download", STORE),
    ):
        status, said = realm.refused("POST", f"{other}/{last}", document)
        assert (status, said["error"]) == (501, "Feature not enabled")
    assert upload(realm, "Certificate PEM", pem(), at=other).status_code == 501
    assert realm.get(PLAIN) == before


@pytest.mark.parametrize("last", ["generate", "generate-and-download", "download"])
@pytest.mark.parametrize(
    ("client", "by"), [("plain-id", "viewer"), ("client-of-greater", "manager")]
)
def test_nobody_makes_keys_of_who_may_do_more(
    realm: AdministeredRealm, last: str, client: str, by: str
) -> None:
    path = f"clients/{client}"
    before = realm.get(path)
    document = None if last == "generate" else STORE
    at = f"{path}/certificates/jwt.credential"
    assert realm.refused("POST", f"{at}/{last}", document, by=by) == FORBIDDEN
    assert upload(realm, "Certificate PEM", pem(), at=at, by=by).status_code == 403
    assert realm.get(path) == before


def test_the_client_of_administrative_roles_gets_no_key(realm: AdministeredRealm) -> None:
    (client,) = realm.get("clients?clientId=realm-management")
    at = f"clients/{client['id']}/certificates/jwt.credential"
    assert realm.refused("POST", f"{at}/generate") == FORBIDDEN
    assert realm.get(at) == {}


def test_a_client_that_is_not_there_has_no_key(realm: AdministeredRealm) -> None:
    missing = (404, {"error": "Could not find client"})
    (theirs,) = realm.administration.ask("GET", "acme/clients?clientId=nobody").json()
    for client in ("nobody", theirs["id"]):
        at = f"clients/{client}/certificates/jwt.credential"
        assert realm.refused("GET", at) == missing
        assert realm.refused("POST", f"{at}/generate") == missing
        assert upload(realm, "Certificate PEM", pem(), at=at).status_code == 404


def test_keys_are_recorded_without_their_parts(realm: AdministeredRealm) -> None:
    seen = len(realm.events())
    realm.change("POST", f"{KEY}/generate-and-download", {**STORE, "keySize": 2048})
    upload(realm, "JSON Web Key Set", key_set(), last="upload")
    realm.refused("POST", f"{KEY}/download", STORE)
    masked = "**********"
    assert realm.events()[seen:] == [
        ("ACTION", "CLIENT", f"{KEY}/generate-and-download", {"certificate": masked}),
        ("ACTION", "CLIENT", f"{KEY}/upload", {"publicKey": masked, "kid": "k1", "jwks": masked}),
    ]
