"""A realm's keys as components: what is set of them holds for the next token. Keycloak: 7.3."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from tests.support.administration import Administration
from tests.support.own_realm import OwnRealm, own_realm
from tests.support.tokens import header_of

TYPE = "org.keycloak.keys.KeyProvider"
MASK = "**********"
WEAK_RSA_BITS = 1024
SHA256_LENGTH = 43
"""Of a hash in base64url: what a kid is computed as."""


def component(provider: str, **config: str) -> dict[str, Any]:
    values = {name: [text] for name, text in config.items()}
    return {"name": "made", "providerId": provider, "providerType": TYPE, "config": values}


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    return own_realm(administration, tmp_path_factory.mktemp("keyed"), "keyed")


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and take away what a test has added to its keys."""
    before = {key["id"]: key for key in keys(shared)}
    yield shared
    after = keys(shared)
    for each in after:
        if each["id"] not in before:
            shared.done("DELETE", f"components/{each['id']}")
    for each in before.values():
        if each not in after:
            shared.done("PUT", f"components/{each['id']}", each)


def keys(realm: OwnRealm) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = realm.get(f"components?type={TYPE}")
    return found


def metadata(realm: OwnRealm, key_id: str) -> dict[str, Any]:
    (found,) = (key for key in realm.get("keys")["keys"] if key["providerId"] == key_id)
    assert isinstance(found, dict)
    return found


def test_a_realm_has_the_keys_that_it_was_created_with(realm: OwnRealm) -> None:
    found = {key["name"]: key for key in keys(realm)}
    assert {name: key["config"] for name, key in found.items()} == {
        "ecdsa-generated": {"priority": ["100"], "ecdsaEllipticCurveKey": ["P-256"]},
        "hmac-generated-hs512": {"priority": ["100"], "algorithm": ["HS512"]},
        "rsa-enc-generated": {"priority": ["100"], "algorithm": ["RSA-OAEP"]},
        "aes-generated": {"priority": ["100"]},
    }
    assert {key["parentId"] for key in found.values()} == {"keyed"}


def test_a_key_is_created_as_requested_and_found_at_its_location(realm: OwnRealm) -> None:
    sent = component("ecdsa-generated", priority="90", ecdsaEllipticCurveKey="P-384")
    response = realm.done("POST", "components", sent)
    key_id = response.headers["location"].rsplit("/", 1)[1]
    url = f"https://gateway.test/admin/realms/keyed/components/{UUID(key_id)}"
    assert (response.headers["location"], response.content) == (url, b"")
    assert realm.get(f"components/{key_id}") == {
        "id": key_id,
        "name": "made",
        "providerId": "ecdsa-generated",
        "providerType": TYPE,
        "parentId": "keyed",
        "config": {"priority": ["90"], "ecdsaEllipticCurveKey": ["P-384"]},
    }
    kid = metadata(realm, key_id)["kid"]
    assert realm.published()[kid]["crv"] == "P-384"


def test_the_highest_priority_key_signs_at_once(realm: OwnRealm) -> None:
    first = realm.signing_kid()
    lower = realm.created("components", component("ecdsa-generated", priority="99"))
    assert realm.signing_kid() == first
    higher = realm.created("components", component("ecdsa-generated", priority="101"))
    assert realm.signing_kid() == metadata(realm, higher)["kid"]
    lifted = component("ecdsa-generated", priority="102")
    realm.done("PUT", f"components/{lower}", lifted)
    assert realm.signing_kid() == metadata(realm, lower)["kid"]
    assert realm.get("keys")["active"]["ES256"] == realm.signing_kid()


def test_of_two_keys_of_one_priority_the_newer_signs(realm: OwnRealm) -> None:
    newer = realm.created("components", component("ecdsa-generated", priority="100"))
    assert realm.signing_kid() == metadata(realm, newer)["kid"]


def test_a_key_that_is_not_active_verifies_and_does_not_sign(realm: OwnRealm) -> None:
    first = realm.signing_kid()
    key_id = realm.created("components", component("ecdsa-generated", priority="200"))
    token = realm.client_token().json()["access_token"]
    passive = component("ecdsa-generated", active="false")
    realm.done("PUT", f"components/{key_id}", passive)
    shown = metadata(realm, key_id)
    assert (realm.signing_kid(), shown["status"]) == (first, "PASSIVE")
    assert shown["kid"] in realm.published()
    assert is_believed(realm, token)
    realm.done("PUT", f"components/{key_id}", component("ecdsa-generated", active="true"))
    assert realm.signing_kid() == shown["kid"]


@pytest.mark.parametrize("gone", ["disabled", "taken away"])
def test_a_key_that_is_gone_neither_verifies_nor_is_it_published(
    realm: OwnRealm, gone: str
) -> None:
    first = realm.signing_kid()
    key_id = realm.created("components", component("ecdsa-generated", priority="200"))
    token, kid = realm.client_token().json()["access_token"], metadata(realm, key_id)["kid"]
    assert is_believed(realm, token)
    if gone == "disabled":
        disabled = component("ecdsa-generated", enabled="false")
        realm.done("PUT", f"components/{key_id}", disabled)
        assert metadata(realm, key_id)["status"] == "DISABLED"
    else:
        realm.done("DELETE", f"components/{key_id}")
        assert realm.told("GET", f"components/{key_id}") == (404, "Could not find component")
    assert kid not in realm.published()
    assert not is_believed(realm, token)
    assert realm.signing_kid() == first


def is_believed(realm: OwnRealm, token: str) -> bool:
    """Tell whether the token is refused for what it may, rather than for what it is."""
    status = realm.ask("GET", "keys", token=token).status_code
    assert status in {401, 403}
    return status == 403


def test_a_fallback_key_is_created_and_yields_to_any_other(
    administration: Administration, tmp_path: Path
) -> None:
    realm = own_realm(administration, tmp_path, "keyless")
    for key in keys(realm):
        realm.done("DELETE", f"components/{key['id']}")
    found = {key["name"]: key["config"]["priority"] for key in keys(realm)}
    assert found == {"fallback-ES256": ["-100"], "fallback-HS512": ["-100"]}
    fallback = realm.signing_kid()
    realm.created("components", component("ecdsa-generated"))
    assert realm.signing_kid() != fallback


def test_a_key_that_was_made_for_nothing_is_not_made_again(realm: OwnRealm) -> None:
    key_id = realm.created("components", component("eddsa-generated"))
    realm.done("DELETE", f"components/{key_id}")
    assert "EdDSA" not in realm.get("keys")["active"]


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, word: bytes | None = None) -> str:
    hidden = NoEncryption() if word is None else BestAvailableEncryption(word)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden).decode()


def certificate_of(key: rsa.RSAPrivateKey) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "imported")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2036, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(Encoding.PEM).decode()


def bare(text: str) -> str:
    return "".join(line for line in text.splitlines() if not line.startswith("-"))


def test_an_imported_key_signs_and_is_never_shown(
    realm: OwnRealm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    private, certificate = pem(rsa_private_keys[0]), certificate_of(rsa_private_keys[0])
    sent = component("rsa", privateKey=private, certificate=certificate, algorithm="PS384")
    key_id = realm.created("components", sent)
    response = realm.ask("GET", f"components/{key_id}")
    assert response.json()["config"] == {
        "privateKey": [MASK],
        "certificate": [certificate],
        "algorithm": ["PS384"],
    }
    shown = metadata(realm, key_id)
    assert (shown["algorithm"], shown["certificate"]) == ("PS384", bare(certificate))
    assert realm.published()[shown["kid"]]["x5c"] == [bare(certificate)]
    everything = realm.ask("GET", "components").text + realm.ask("GET", "keys").text
    assert bare(private)[100:200] not in bare(everything.replace("\\n", "\n"))


@pytest.mark.parametrize("provider", ["rsa", "rsa-enc"])
def test_an_imported_key_has_the_kid_that_its_import_names(
    realm: OwnRealm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...], provider: str
) -> None:
    """Keycloak 26.7 reads `kid` at the import, and never shows or changes it afterwards."""
    sent = component(provider, privateKey=pem(rsa_private_keys[0]), kid="my key", priority="7")
    key_id = realm.created("components", sent)
    shown = realm.get(f"components/{key_id}")
    assert metadata(realm, key_id)["kid"] == "my key"
    assert "my key" in realm.published()
    assert set(shown["config"]) == {"privateKey", "certificate", "priority"}
    for kid in (["another"], [""], []):
        changed = {**shown, "config": {**shown["config"], "kid": kid}}
        realm.done("PUT", f"components/{key_id}", changed)
        assert metadata(realm, key_id)["kid"] == "my key"


def test_a_token_under_a_chosen_kid_is_verified_by_it(
    realm: OwnRealm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    sent = component("rsa", privateKey=pem(rsa_private_keys[0]), kid="chosen", priority="500")
    realm.created("components", sent)
    before = realm.get("")["defaultSignatureAlgorithm"]
    realm.done("PUT", "", {"defaultSignatureAlgorithm": "RS256"})
    token = realm.client_token().json()["access_token"]
    assert header_of(token)["kid"] == "chosen"
    assert is_believed(realm, token)
    realm.done("PUT", "", {"defaultSignatureAlgorithm": before})


def test_a_kid_names_one_key(
    realm: OwnRealm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    """Stricter than Keycloak: the kid finds the key, and with it the only algorithm it takes."""
    first, second = (pem(key) for key in rsa_private_keys[:2])
    realm.created("components", component("rsa", privateKey=first, kid="one"))
    again = component("rsa-enc", privateKey=second, kid="one")
    text = "The realm has a key with the kid 'one' already"
    assert realm.told("POST", "components", again) == (400, text)
    for kid in ("x" * 256, "two\nlines"):
        sent = component("rsa", privateKey=second, kid=kid)
        text = "'kid' should be at most 255 printable characters"
        assert realm.told("POST", "components", sent) == (400, text)
    key_id = realm.created("components", component("rsa", privateKey=second, kid=" "))
    assert len(metadata(realm, key_id)["kid"]) == SHA256_LENGTH


def test_the_mask_sent_back_keeps_the_private_key(
    realm: OwnRealm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    key_id = realm.created("components", component("rsa", privateKey=pem(rsa_private_keys[0])))
    before, kid = realm.get(f"components/{key_id}"), metadata(realm, key_id)["kid"]
    assert before["config"]["certificate"][0].startswith("MII")
    config = {**before["config"], "priority": ["3"], "algorithm": ["PS512"]}
    realm.done("PUT", f"components/{key_id}", {**before, "config": config})
    after = metadata(realm, key_id)
    config["certificate"] = [after["certificate"]]
    assert realm.get(f"components/{key_id}")["config"] == config
    assert (after["kid"], after["algorithm"], after["providerPriority"]) == (kid, "PS512", 3)


def test_another_private_key_replaces_the_one_that_was_there(
    realm: OwnRealm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    key_id = realm.created(
        "components", component("rsa", privateKey=bare(pem(rsa_private_keys[0])))
    )
    kid = metadata(realm, key_id)["kid"]
    other = component("rsa", privateKey=pem(rsa_private_keys[1]))
    mismatch = (400, "Certificate does not match private key")
    assert realm.told("PUT", f"components/{key_id}", other) == mismatch
    assert metadata(realm, key_id)["kid"] == kid
    other["config"]["certificate"] = [""]
    realm.done("PUT", f"components/{key_id}", other)
    assert metadata(realm, key_id)["kid"] != kid


def test_the_same_key_with_two_algorithms_has_two_names(
    realm: OwnRealm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    """A verifier that finds keys by kid must not find the one with the wrong algorithm."""
    private = pem(rsa_private_keys[0])
    made = [
        realm.created("components", component("rsa", privateKey=private, algorithm=algorithm))
        for algorithm in ("RS256", "PS256")
    ]
    kids = {metadata(realm, key_id)["kid"] for key_id in made}
    published = realm.published()
    assert {published[kid]["alg"] for kid in kids} == {"RS256", "PS256"}
    again = component("rsa", privateKey=private, algorithm="PS256")
    assert realm.told("POST", "components", again)[0] == 400


def test_keys_change_with_size_or_curve_and_not_with_priority(
    realm: OwnRealm,
) -> None:
    key_id = realm.created("components", component("ecdsa-generated"))
    kid = metadata(realm, key_id)["kid"]
    realm.done("PUT", f"components/{key_id}", component("ecdsa-generated", priority="4"))
    assert metadata(realm, key_id)["kid"] == kid
    curve = component("ecdsa-generated", ecdsaEllipticCurveKey="P-521")
    realm.done("PUT", f"components/{key_id}", curve)
    shown = metadata(realm, key_id)
    assert (shown["algorithm"], shown["providerPriority"]) == ("ES512", 4)
    assert shown["kid"] != kid


def test_an_elliptic_key_has_a_certificate_on_request(realm: OwnRealm) -> None:
    key_id = realm.created("components", component("ecdsa-generated"))
    before = metadata(realm, key_id)
    certified = component("ecdsa-generated", ecGenerateCertificate="true")
    realm.done("PUT", f"components/{key_id}", certified)
    after = metadata(realm, key_id)
    assert realm.published()[after["kid"]]["x5c"] == [after.pop("certificate")]
    assert after.pop("validTo") > 2_000_000_000_000
    assert after == before
    without = component("ecdsa-generated", ecGenerateCertificate="false")
    realm.done("PUT", f"components/{key_id}", without)
    assert metadata(realm, key_id) == before


def test_keys_are_listed_by_priority_and_superseded_as_passive(
    administration: Administration, tmp_path: Path
) -> None:
    realm = own_realm(administration, tmp_path, "rotated")
    old = realm.signing_kid()
    low = realm.created("components", component("eddsa-generated", priority="-3"))
    high = realm.created("components", component("eddsa-generated", priority="300"))
    done = administration.command("keys", "rotate", "--realm", "rotated", "--now")
    assert done.exit_code == 0, done.output
    found = realm.get("keys")["keys"]
    priorities = [each["providerPriority"] for each in found]
    assert priorities == sorted(priorities, reverse=True)
    assert [found[0]["providerId"], found[-1]["providerId"]] == [high, low]
    assert {each["kid"]: each["status"] for each in found}[old] == "PASSIVE"


def test_a_secret_key_is_told_of_without_its_material(realm: OwnRealm) -> None:
    (secret,) = (key for key in realm.get("keys")["keys"] if key["algorithm"] == "HS512")
    assert set(secret) == {
        *("providerId", "providerPriority", "kid", "status", "type", "algorithm", "use")
    }
    assert secret["kid"] not in realm.published()


@pytest.mark.parametrize(
    ("provider", "config", "text"),
    [
        ("rsa-generated", {"priority": "abc"}, "'Priority' should be a number"),
        ("rsa-generated", {"priority": "9" * 20}, "'Priority' should be a number"),
        ("rsa-generated", {"enabled": "maybe"}, "'Enabled' should be 'true' or 'false'"),
        ("rsa-generated", {"active": "TRUE"}, "'Active' should be 'true' or 'false'"),
        ("rsa-generated", {"keySize": "1024"}, "'Key size' should be 2048, 3072 or 4096"),
        ("rsa-generated", {"algorithm": "RSA-OAEP"}, None),
        ("ecdsa-generated", {"ecdsaEllipticCurveKey": "P-999"}, None),
        ("eddsa-generated", {"eddsaEllipticCurveKey": "Ed448"}, None),
        ("hmac-generated", {"secretSize": "17"}, None),
        ("hmac-generated", {"algorithm": "HS1"}, None),
        ("rsa", {}, "'Private RSA Key' is required"),
        ("rsa", {"privateKey": "xxx"}, "Failed to decode private key"),
        ("rsa", {"privateKey": MASK}, "Failed to decode private key"),
        (
            "rsa",
            {"privateKey": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"},
            None,
        ),
        ("rsa-enc", {}, "'Private RSA Key' is required"),
        ("ecdh-generated", {}, None),
        ("java-keystore", {"keystore": "/etc/passwd"}, None),
        ("unknown", {}, "Invalid provider type or no such provider"),
    ],
)
def test_what_makes_no_key_is_refused_with_its_reason(
    realm: OwnRealm, provider: str, config: dict[str, str], text: str | None
) -> None:
    before = keys(realm)
    status, told = realm.told("POST", "components", component(provider, **config))
    assert status == 400
    assert told == text if text else told
    assert keys(realm) == before


def test_keys_that_could_not_sign_safely_are_refused(
    realm: OwnRealm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    curve = ec.generate_private_key(ec.SECP256R1())
    short = rsa.generate_private_key(65537, WEAK_RSA_BITS)
    undecoded = "Failed to decode private key"
    refused = {
        pem(curve): undecoded,
        pem(rsa_private_keys[0], b"word"): undecoded,
        pem(short): "The private key must have 2048 to 4096 bits",
    }
    for private, text in refused.items():
        sent = component("rsa", privateKey=private)
        assert realm.told("POST", "components", sent) == (400, text)
    sent = component("rsa", privateKey=pem(rsa_private_keys[0]), certificate="junk")
    assert realm.told("POST", "components", sent) == (400, "Failed to decode certificate")


@pytest.mark.parametrize(
    "misplaced",
    [
        {"config": {"privateKey": "key-canary"}},
        {"config": {"privateKey": ["key-canary", "key-canary"]}},
        {"config": {"privateKey": [["key-canary"]]}},
        {"config": {"privateKey": [{"key": "key-canary"}]}},
        {"config": "key-canary"},
        {"config": ["key-canary"]},
        {"config": {"privateKey": ["key-canary" + "y" * 100_000]}},
    ],
)
def test_a_private_key_in_the_wrong_place_is_not_repeated(
    realm: OwnRealm, misplaced: dict[str, Any]
) -> None:
    status, text = realm.told("POST", "components", component("rsa") | misplaced)
    assert status == 400
    assert "canary" not in text


@pytest.mark.parametrize(
    "document",
    [
        {"config": {"priority": "100"}},
        {"config": {"priority": [["1"]]}},
        {"config": []},
        {"config": {"priority": ["1", "2"]}},
        {"name": "x" * 256},
        {"name": []},
        {"id": "a/b"},
        {"id": "a\x01"},
        {"unknown": 1},
        {"parentId": "acme"},
        {"providerType": "nothing"},
        {"config": {f"x{number}": ["1"] for number in range(101)}},
    ],
)
def test_a_malformed_component_is_refused_and_nothing_is_made(
    realm: OwnRealm, document: dict[str, Any]
) -> None:
    before = keys(realm)
    sent = {**component("eddsa-generated"), **document}
    assert realm.ask("POST", "components", sent).status_code == 400
    target = before[0]["id"]
    assert realm.ask("PUT", f"components/{target}", {**before[0], **document}).status_code == 400
    assert keys(realm) == before


def test_a_key_without_settings_is_shown_without_any(realm: OwnRealm) -> None:
    sent = {"name": "bare", "providerId": "aes-generated", "providerType": TYPE}
    key_id = realm.created("components", sent)
    assert realm.get(f"components/{key_id}")["config"] == {}
    realm.done("PUT", f"components/{key_id}", {**sent, "id": key_id, "name": "renamed"})
    assert realm.get(f"components?name=renamed&type={TYPE}")[0]["config"] == {}
    assert metadata(realm, key_id)["providerPriority"] == 0


def test_settings_that_a_provider_does_not_have_are_not_shown(realm: OwnRealm) -> None:
    key_id = realm.created("components", component("aes-generated", priority="1", other="2"))
    assert realm.get(f"components/{key_id}")["config"] == {"priority": ["1"]}


def test_an_id_may_be_chosen_and_only_once(realm: OwnRealm) -> None:
    sent = {**component("eddsa-generated"), "id": "chosen"}
    assert realm.created("components", sent) == "chosen"
    taken = realm.ask("POST", "components", sent)
    refusal = {"error": "conflict", "error_description": "Duplicate resource error"}
    assert (taken.status_code, taken.json()) == (409, refusal)


def test_a_component_put_back_as_it_was_fetched_changes_nothing(realm: OwnRealm) -> None:
    before, published = keys(realm), realm.published()
    for key in before:
        realm.done("PUT", f"components/{key['id']}", key)
    assert (keys(realm), realm.published()) == (before, published)


def test_what_a_component_is_cannot_be_changed(realm: OwnRealm) -> None:
    key = keys(realm)[0]
    for changed in ({"providerId": "rsa"}, {"providerType": "other"}):
        assert realm.ask("PUT", f"components/{key['id']}", {**key, **changed}).status_code == 400
    assert keys(realm)[0] == key


def test_who_knew_another_state_changes_nothing(realm: OwnRealm) -> None:
    key_id = realm.created("components", component("eddsa-generated"))
    known = realm.ask("GET", f"components/{key_id}").headers["etag"]
    changed = component("eddsa-generated", priority="5")
    for method, document in (("PUT", changed), ("DELETE", None)):
        stale = realm.ask(method, f"components/{key_id}", document, headers={"If-Match": '"other"'})
        assert stale.status_code == 412
    response = realm.ask("PUT", f"components/{key_id}", changed, headers={"If-Match": known})
    assert response.status_code == 204


def test_components_are_found_by_name_type_and_parent(realm: OwnRealm) -> None:
    realm.created("components", {**component("eddsa-generated"), "name": "sought"})
    assert [key["name"] for key in realm.get("components?name=sought")] == ["sought"]
    assert realm.get(f"components?name=sought&type={TYPE}&parent=keyed")
    for nothing in ("name=x", "type=x", "parent=acme", "name=sought&type=x"):
        assert realm.get(f"components?{nothing}") == []


def test_a_key_of_another_realm_is_not_there(
    realm: OwnRealm, administration: Administration
) -> None:
    other = administration.get("components")[0]["id"]
    for method, document in (("GET", None), ("PUT", {}), ("DELETE", None)):
        assert realm.told(method, f"components/{other}", document)[0] == 404
    assert realm.told("GET", f"components/{other}/sub-component-types?type={TYPE}")[0] == 404


def test_what_could_be_added_is_told_with_its_settings(realm: OwnRealm) -> None:
    path = f"components/{keys(realm)[0]['id']}/sub-component-types"
    found = {each["id"]: each for each in realm.get(f"{path}?type={TYPE}")}
    assert sorted(found) == [
        *("aes-generated", "ecdsa-generated", "eddsa-generated", "hmac-generated"),
        *("rsa", "rsa-enc", "rsa-enc-generated", "rsa-generated"),
    ]
    (secret,) = (each for each in found["rsa"]["properties"] if each["secret"])
    assert (secret["name"], secret["required"]) == ("privateKey", True)
    assert realm.told("GET", path) == (400, "must specify a subtype")
    assert realm.told("GET", f"{path}?type=other")[0] == 400


def test_user_federation_is_refused_as_unsupported(realm: OwnRealm) -> None:
    ldap = {"providerId": "ldap", "providerType": "org.keycloak.storage.UserStorageProvider"}
    response = realm.ask("POST", "components", {"name": "ldap", **ldap, "config": {}})
    assert (response.status_code, response.json()["error"]) == (501, "Feature not enabled")
