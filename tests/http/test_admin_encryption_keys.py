"""Keys for encryption: listed and published as in Keycloak, and good for nothing but that."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from tests.support.administration import SECRET, Administration
from tests.support.own_realm import OwnRealm, own_realm
from tests.support.realm_keys import realm_keys
from tests.support.tokens import assemble, claims_of, header_of

TYPE = "org.keycloak.keys.KeyProvider"
MASK = "**********"
SHORT = 20
"""Shorter lines of a key may be found in any file."""
PRIVATE_MEMBERS = {"d", "p", "q", "dp", "dq", "qi", "k"}


@pytest.fixture(scope="module")
def realm(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    return own_realm(administration, tmp_path_factory.mktemp("encrypting"), "encrypting")


def component(provider: str, **config: str) -> dict[str, Any]:
    values = {name: [text] for name, text in config.items()}
    return {"name": "made", "providerId": provider, "providerType": TYPE, "config": values}


def shown(realm: OwnRealm, algorithm: str) -> dict[str, Any]:
    """Return the key of a new realm for an algorithm, as GET keys shows it."""
    listed = realm.get("keys")
    kid = listed["active"][algorithm]
    (found,) = (key for key in listed["keys"] if key["kid"] == kid)
    assert isinstance(found, dict)
    return found


def test_a_realm_is_created_with_the_keys_that_keycloak_creates(realm: OwnRealm) -> None:
    found = {key["name"]: key["config"] for key in realm.get(f"components?type={TYPE}")}
    assert found["rsa-enc-generated"] == {"priority": ["100"], "algorithm": ["RSA-OAEP"]}
    assert found["aes-generated"] == {"priority": ["100"]}
    assert set(realm.get("keys")["active"]) == {"ES256", "HS512", "RSA-OAEP", "AES"}


def test_an_rsa_key_for_encryption_is_published_for_that_use(realm: OwnRealm) -> None:
    key = shown(realm, "RSA-OAEP")
    assert (key["use"], key["type"], key["status"]) == ("ENC", "RSA", "ACTIVE")
    jwk = realm.published()[key["kid"]]
    assert (jwk["use"], jwk["alg"], jwk["kty"]) == ("enc", "RSA-OAEP", "RSA")
    assert jwk["x5c"] == [key["certificate"]]
    assert not PRIVATE_MEMBERS & set(jwk)


def test_nothing_is_shown_of_an_aes_key_but_that_it_is_there(realm: OwnRealm) -> None:
    key = shown(realm, "AES")
    assert set(key) == {
        *("providerId", "providerPriority", "kid", "status", "type", "algorithm", "use")
    }
    assert (key["type"], key["use"]) == ("OCT", "ENC")
    assert key["kid"] not in realm.published()


@pytest.mark.parametrize(
    ("provider", "config", "algorithm"),
    [
        ("rsa-enc-generated", {"algorithm": "RSA-OAEP-256", "keySize": "2048"}, "RSA-OAEP-256"),
        ("aes-generated", {"secretSize": "32"}, "AES"),
        ("hmac-generated", {"algorithm": "HS256", "secretSize": "32"}, "HS256"),
        ("hmac-generated", {"secretSize": "32"}, "HS256"),
    ],
)
def test_keys_are_added_changed_and_removed(
    realm: OwnRealm, provider: str, config: dict[str, str], algorithm: str
) -> None:
    key_id = realm.created("components", component(provider, priority="200", **config))
    made = shown(realm, algorithm)
    assert (made["providerId"], made["providerPriority"]) == (key_id, 200)
    before = realm.get(f"components/{key_id}")
    assert before["config"] == {"priority": ["200"], **{name: [config[name]] for name in config}}
    realm.done("PUT", f"components/{key_id}", component(provider, priority="300", **config))
    assert shown(realm, algorithm)["kid"] == made["kid"]
    disabled = component(provider, enabled="false", **config)
    realm.done("PUT", f"components/{key_id}", disabled)
    (listed,) = (key for key in realm.get("keys")["keys"] if key["providerId"] == key_id)
    assert listed["status"] == "DISABLED"
    assert made["kid"] not in realm.published()
    realm.done("DELETE", f"components/{key_id}")
    assert made["kid"] not in {key["kid"] for key in realm.get("keys")["keys"]}


def test_an_imported_encryption_key_is_published_for_that_use(
    realm: OwnRealm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    private = rsa_private_keys[0].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    sent = component("rsa-enc", privateKey=private.decode(), algorithm="RSA-OAEP-256")
    key_id = realm.created("components", sent)
    key = shown(realm, "RSA-OAEP-256")
    assert (key["providerId"], key["use"], key["type"]) == (key_id, "ENC", "RSA")
    jwk = realm.published()[key["kid"]]
    assert (jwk["use"], jwk["alg"]) == ("enc", "RSA-OAEP-256")
    assert not PRIVATE_MEMBERS & set(jwk)
    before = realm.get(f"components/{key_id}")
    assert before["config"]["privateKey"] == [MASK]
    realm.done("PUT", f"components/{key_id}", before)
    assert realm.get(f"components/{key_id}") == before
    assert shown(realm, "RSA-OAEP-256")["kid"] == key["kid"]
    realm.done("DELETE", f"components/{key_id}")
    assert key["kid"] not in realm.published()


def test_another_size_makes_another_key(realm: OwnRealm) -> None:
    key_id = realm.created("components", component("aes-generated", priority="200"))
    before = shown(realm, "AES")["kid"]
    longer = component("aes-generated", priority="200", secretSize="24")
    realm.done("PUT", f"components/{key_id}", longer)
    assert shown(realm, "AES")["kid"] != before
    realm.done("DELETE", f"components/{key_id}")


def is_accepted(realm: OwnRealm, token: str) -> bool:
    """Return whether the admin API accepts the token: 403 is about the roles of its account."""
    return realm.ask("GET", "users/count", token=token).status_code == 403


def test_no_encryption_key_makes_a_token(realm: OwnRealm, administration: Administration) -> None:
    """RFC 8725 §3.1: the algorithm is that of the key, and these keys have none to sign with."""
    stolen = {
        str(key.algorithm): key
        for key in realm_keys(administration.gateway.state_dir, realm.name).records
    }
    private = load_pem_private_key(stolen["RSA-OAEP"].private_key.reveal().encode(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    aes = base64.b64decode(stolen["AES"].private_key.reveal())
    public = private.public_key()
    spki = PublicFormat.SubjectPublicKeyInfo

    def signed(message: bytes) -> bytes:
        return private.sign(message, padding.PKCS1v15(), SHA256())

    genuine = realm.client_token().json()["access_token"]
    assert is_accepted(realm, genuine)
    own_kid = header_of(genuine)["kid"]
    makers = {
        "RS256": signed,
        "RSA-OAEP": signed,
        "HS256": lambda message: hmac.digest(aes, message, hashlib.sha256),
        "AES": lambda message: hmac.digest(aes, message, hashlib.sha256),
        "HS512": lambda message: hmac.digest(
            public.public_bytes(Encoding.PEM, spki), message, hashlib.sha512
        ),
    }
    kids = (stolen["RSA-OAEP"].kid, stolen["AES"].kid, own_kid)
    for algorithm, make in makers.items():
        for kid in kids:
            header = {"alg": algorithm, "typ": "JWT", "kid": kid}
            forged = assemble(header, claims_of(genuine), make)
            assert not is_accepted(realm, forged), header
            bearer = {"Authorization": f"Bearer {forged}"}
            url = f"/realms/{realm.name}/protocol/openid-connect/userinfo"
            assert administration.http.get(url, headers=bearer).status_code == 401
            form = {"client_id": "service", "client_secret": SECRET, "token": forged}
            url = f"/realms/{realm.name}/protocol/openid-connect/token/introspect"
            assert administration.http.post(url, data=form).json() == {"active": False}


def test_material_is_sealed_in_the_database(
    realm: OwnRealm, administration: Administration
) -> None:
    records = realm_keys(administration.gateway.state_dir, realm.name).records
    database = administration.gateway.state_dir / "realmgate.db"
    stored = b"".join(file.read_bytes() for file in database.parent.glob("realmgate.db*"))
    assert {str(key.algorithm) for key in records} >= {"RSA-OAEP", "AES", "HS512"}
    for key in records:
        for line in key.private_key.reveal().splitlines():
            if not line.startswith("-----") and len(line) > SHORT:
                assert line.encode() not in stored


@pytest.mark.parametrize(
    ("provider", "config", "text"),
    [
        ("hmac-generated", {"algorithm": "HS512", "secretSize": "32"}, "at least 64 for HS512"),
        ("hmac-generated", {"secretSize": "16"}, "'Secret size' should be"),
        ("aes-generated", {"secretSize": "64"}, "'Secret size' should be 16, 24 or 32"),
        ("rsa-enc-generated", {"keySize": "1024"}, "'Key size' should be"),
        ("rsa-enc-generated", {"algorithm": "RS256"}, "'Algorithm' should be"),
        ("rsa-enc-generated", {"keyUse": "sig"}, "'rsa-enc-generated' can only be ENC"),
        ("rsa-generated", {"keyUse": "ENC"}, "'rsa-generated' can only be SIG"),
        ("rsa", {"privateKey": "x", "keyUse": "enc"}, "'rsa' can only be SIG"),
        ("rsa-enc", {"privateKey": "x", "keyUse": "sig"}, "'rsa-enc' can only be ENC"),
        ("rsa-enc", {"privateKey": "x", "algorithm": "RS256"}, "'Algorithm' should be"),
    ],
)
def test_weak_keys_and_other_algorithms_are_refused(
    realm: OwnRealm, provider: str, config: dict[str, str], text: str
) -> None:
    status, said = realm.told("POST", "components", component(provider, **config))
    assert status == 400
    assert text in said


def test_the_use_of_keys_is_where_consoles_read_it(realm: OwnRealm) -> None:
    types = realm.get("/admin/serverinfo")["componentTypes"][TYPE]
    help_texts = {each["id"]: each["helpText"] for each in types}
    for provider in ("rsa-enc", "rsa-enc-generated"):
        assert "encrypt request objects" in help_texts[provider]
    assert "yet" in help_texts["aes-generated"]
    assert "secret" not in json.dumps(realm.get("keys")).lower()
