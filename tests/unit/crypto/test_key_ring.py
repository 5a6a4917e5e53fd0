"""A realm believes only tokens that its own keys signed, each under its one algorithm."""

import base64
import hashlib
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gateway.crypto.private_keys import write_private_key
from gateway.crypto.realm_keys import PyJwtKeyFactory, PyJwtKeyRing
from gateway.domain.errors import InvalidToken, SecretUnreadable
from gateway.domain.keys import KeyStatus, RealmKey, SignatureAlgorithm
from gateway.domain.secrets import Secret
from tests.support import tokens

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
CLAIMS = {"sub": "ünï", "aud": ["a", "b"], "exp": 1795176300, "cnf": {"x5t#S256": "A" * 43}}
ALGORITHMS = tuple(SignatureAlgorithm)
KINDS = (SignatureAlgorithm.RS256, SignatureAlgorithm.ES256, SignatureAlgorithm.EDDSA)


def private_key(record: RealmKey) -> Any:
    return load_pem_private_key(record.private_key.reveal().encode(), None)


def verify_independently(token: str, jwk: dict[str, Any]) -> None:
    """Verify with the numbers of the JWK and cryptography's primitives: no PyJWT, no ring."""
    message, signature = token.rsplit(".", 1)
    raw, data = tokens.unpart(signature), message.encode()
    number = {
        name: int.from_bytes(tokens.unpart(jwk[name]), "big")
        for name in ("n", "e", "x", "y")
        if name in jwk
    }
    if jwk["kty"] == "OKP":
        ed25519.Ed25519PublicKey.from_public_bytes(tokens.unpart(jwk["x"])).verify(raw, data)
        return
    digest = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}[
        jwk["alg"][2:]
    ]
    if jwk["kty"] == "EC":
        curve = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}[
            jwk["crv"]
        ]
        half = (curve.key_size + 7) // 8
        assert len(raw) == 2 * half
        der = encode_dss_signature(
            int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big")
        )
        key = ec.EllipticCurvePublicNumbers(number["x"], number["y"], curve).public_key()
        key.verify(der, data, ec.ECDSA(digest))
        return
    scheme = (
        padding.PSS(mgf=padding.MGF1(digest), salt_length=digest.digest_size)
        if jwk["alg"].startswith("PS")
        else padding.PKCS1v15()
    )
    rsa_key = rsa.RSAPublicNumbers(number["e"], number["n"]).public_key()
    rsa_key.verify(raw, data, scheme, digest)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_another_implementation_verifies_every_algorithm(
    key_factory: PyJwtKeyFactory, algorithm: SignatureAlgorithm
) -> None:
    record = key_factory.generate("r1", "demo", algorithm, NOW)
    ring = key_factory.ring((record,))
    token = ring.sign(CLAIMS, algorithm, NOW)
    (jwk,) = ring.public_jwks(NOW)
    verify_independently(token, dict(jwk))
    assert ring.verify_token(token, NOW) == CLAIMS == tokens.claims_of(token)


@pytest.mark.parametrize("algorithm", [SignatureAlgorithm.RS256, SignatureAlgorithm.PS384])
def test_openssl_verifies_with_the_published_certificate(
    key_factory: PyJwtKeyFactory, algorithm: SignatureAlgorithm, tmp_path: Path
) -> None:
    ring = key_factory.ring((key_factory.generate("r1", "demo", algorithm, NOW),))
    message, signature = ring.sign(CLAIMS, algorithm, NOW).rsplit(".", 1)
    certificate = x509.load_der_x509_certificate(
        base64.b64decode(ring.public_jwks(NOW)[0]["x5c"][0])
    )
    info = certificate.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pem").write_bytes(info)
    (tmp_path / "signature").write_bytes(tokens.unpart(signature))
    pss = ["-sigopt", "rsa_padding_mode:pss"] if algorithm.startswith("PS") else []
    digest = ["openssl", "dgst", f"-sha{algorithm[2:]}", *pss]
    answer = subprocess.run(
        [*digest, "-verify", "key.pem", "-signature", "signature"],
        cwd=tmp_path,
        input=message.encode(),
        capture_output=True,
        check=False,
    )
    assert answer.stdout == b"Verified OK\n"


@pytest.mark.parametrize("algorithm", KINDS)
def test_the_header_is_keycloaks_byte_for_byte(
    key_factory: PyJwtKeyFactory, algorithm: SignatureAlgorithm
) -> None:
    record = key_factory.generate("r1", "demo", algorithm, NOW)
    token = key_factory.ring((record,)).sign(CLAIMS, algorithm, NOW)
    header = tokens.unpart(token.split(".")[0]).decode()
    assert header == f'{{"alg":"{algorithm}","typ":"JWT","kid":"{record.kid}"}}'


@pytest.mark.parametrize("algorithm", KINDS)
def test_kid_is_the_hash_of_the_public_key(
    key_factory: PyJwtKeyFactory, algorithm: SignatureAlgorithm
) -> None:
    record = key_factory.generate("r1", "demo", algorithm, NOW)
    info = (
        private_key(record)
        .public_key()
        .public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    )
    digest = hashlib.sha256(info).digest()
    assert record.kid == base64.urlsafe_b64encode(digest).decode().rstrip("=")


def test_an_rsa_key_is_published_as_keycloak_publishes_it(key_factory: PyJwtKeyFactory) -> None:
    record = key_factory.generate("r1", "demo", SignatureAlgorithm.RS256, NOW)
    (jwk,) = key_factory.ring((record,)).public_jwks(NOW)
    assert list(jwk) == ["kid", "kty", "alg", "use", "x5c", "x5t", "x5t#S256", "n", "e"]
    der = base64.b64decode(jwk["x5c"][0], validate=True)
    assert tokens.unpart(jwk["x5t"]) == hashlib.sha1(der, usedforsecurity=False).digest()
    assert tokens.unpart(jwk["x5t#S256"]) == hashlib.sha256(der).digest()
    assert (jwk["kid"], jwk["kty"], jwk["alg"], jwk["use"]) == (record.kid, "RSA", "RS256", "sig")
    assert (len(tokens.unpart(jwk["n"])), jwk["e"]) == (256, "AQAB")


@pytest.mark.parametrize(
    ("algorithm", "members"),
    [
        (
            SignatureAlgorithm.ES512,
            ["kid", "kty", "alg", "use", "x5c", "x5t", "x5t#S256", "crv", "x", "y"],
        ),
        (SignatureAlgorithm.EDDSA, ["kid", "kty", "alg", "use", "crv", "x"]),
    ],
)
def test_other_keys_are_published_with_their_curve(
    key_factory: PyJwtKeyFactory, algorithm: SignatureAlgorithm, members: list[str]
) -> None:
    record = key_factory.generate("r1", "demo", algorithm, NOW)
    (jwk,) = key_factory.ring((record,)).public_jwks(NOW)
    assert list(jwk) == members


def test_coordinates_are_written_in_the_full_width_of_the_curve(
    key_factory: PyJwtKeyFactory,
) -> None:
    """One key in 256 has a coordinate that begins with a zero byte, which must not be dropped."""
    short = next(
        key
        for key in (ec.derive_private_key(number, ec.SECP256R1()) for number in range(1, 5000))
        if key.public_key().public_numbers().x < 1 << 248
    )
    made = key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW)
    record = replace(made, private_key=write_private_key(short))
    (jwk,) = key_factory.ring((record,)).public_jwks(NOW)
    assert [len(tokens.unpart(jwk[name])) for name in ("x", "y")] == [32, 32]


@pytest.mark.parametrize("name", ["demo", "r" * 255, "Réalm / №1"])
def test_the_certificate_names_the_realm_for_ten_years(
    key_factory: PyJwtKeyFactory, name: str
) -> None:
    record = key_factory.generate("r1", name, SignatureAlgorithm.ES256, NOW)
    assert record.certificate is not None
    certificate = x509.load_pem_x509_certificate(record.certificate.encode())
    common_name = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value
    assert common_name == name[:64]
    assert certificate.not_valid_before_utc == NOW
    assert abs(certificate.not_valid_after_utc - NOW.replace(year=2036)) < timedelta(days=3)
    certificate.verify_directly_issued_by(certificate)


def test_nothing_private_is_published_or_printed(key_factory: PyJwtKeyFactory) -> None:
    record = key_factory.generate("r1", "demo", SignatureAlgorithm.RS256, NOW)
    ring = key_factory.ring((record,))
    assert not {"d", "p", "q", "dp", "dq", "qi", "k"} & set(ring.public_jwks(NOW)[0])
    assert "PRIVATE" not in f"{record!r}{ring!r}{ring.__dict__!r}"


def test_the_realm_information_shows_the_rsa_key_that_signs(key_factory: PyJwtKeyFactory) -> None:
    old = key_factory.generate("r1", "demo", SignatureAlgorithm.RS256, NOW - timedelta(days=1))
    made = key_factory.generate("r1", "demo", SignatureAlgorithm.RS256, NOW)
    new = replace(made, active_from=NOW + timedelta(minutes=2))
    curve = key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW)
    ring = key_factory.ring((curve, new, old))
    shown = [ring.public_key(instant) for instant in (NOW, new.active_from)]
    assert shown == [information(old), information(new)]
    assert key_factory.ring((curve,)).public_key(NOW) is None


def information(record: RealmKey) -> str:
    public = private_key(record).public_key()
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


@pytest.fixture(scope="session")
def realm_ring(
    rsa_private_keys: tuple[rsa.RSAPrivateKey, ...],
) -> tuple[PyJwtKeyRing, tuple[RealmKey, ...]]:
    """Return a realm with a key of each kind; RSA keys are the last, so that no other realm's."""
    factory = PyJwtKeyFactory(rsa_key=lambda: rsa_private_keys[-1])
    records = tuple(factory.generate("r1", "demo", algorithm, NOW) for algorithm in KINDS)
    return factory.ring(records), records


Realm = tuple[PyJwtKeyRing, tuple[RealmKey, ...]]


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_no_forgery_is_accepted(realm_ring: Realm, kind: int) -> None:
    ring, records = realm_ring
    record = records[kind]
    genuine = ring.sign(CLAIMS, SignatureAlgorithm(record.algorithm), NOW)
    jwk = next(jwk for jwk in ring.public_jwks(NOW) if jwk["kid"] == record.kid)
    forged = tokens.forgeries(genuine, jwk)
    assert len(forged) > 100
    assert accepted(ring, forged) == []
    assert ring.verify_token(genuine, NOW) == CLAIMS


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_a_right_signature_does_not_excuse_a_wrong_header(realm_ring: Realm, kind: int) -> None:
    ring, records = realm_ring
    key = private_key(records[kind])
    genuine = ring.sign(CLAIMS, SignatureAlgorithm(records[kind].algorithm), NOW)
    assert accepted(ring, tokens.insider_forgeries(genuine, key)) == []
    # The same tool with a right header is accepted: the refusals above are about the headers.
    sign = tokens.signer(key, records[kind].algorithm)
    header = tokens.header_of(genuine)
    assert ring.verify_token(tokens.assemble(header, CLAIMS, sign), NOW) == CLAIMS
    unread = {"jku": "https://x.test", "x5u": "https://x.test", "jwk": {}, "x5c": ["AA"]}
    assert ring.verify_token(tokens.assemble(header | unread, CLAIMS, sign), NOW) == CLAIMS


def accepted(ring: PyJwtKeyRing, forged: tuple[tokens.Forgery, ...]) -> list[str]:
    """Return the names of the forgeries that the ring believes; other exceptions fail the test."""
    believed = []
    for forgery in forged:
        try:
            ring.verify_token(forgery.token, NOW)
        except InvalidToken:
            continue
        believed.append(forgery.name)
    return believed


def test_another_realms_token_is_refused_by_kid(
    realm_ring: Realm, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    ring, (own, *_) = realm_ring
    factory = PyJwtKeyFactory(rsa_key=lambda: rsa_private_keys[0])
    foreign = factory.generate("r2", "other", SignatureAlgorithm.RS256, NOW)
    foreign_ring = factory.ring((foreign,))
    token = foreign_ring.sign(CLAIMS, SignatureAlgorithm.RS256, NOW)
    assert foreign_ring.verify_token(token, NOW) == CLAIMS
    with pytest.raises(InvalidToken, match="kid"):
        ring.verify_token(token, NOW)
    header = tokens.header_of(token) | {"kid": own.kid}
    renamed = tokens.assemble(header, CLAIMS, tokens.signer(private_key(foreign), "RS256"))
    with pytest.raises(InvalidToken, match="signature"):
        ring.verify_token(renamed, NOW)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
@given(data=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_change_of_a_token_verifies(realm_ring: Realm, kind: int, data: st.DataObject) -> None:
    ring, records = realm_ring
    genuine = ring.sign(CLAIMS, SignatureAlgorithm(records[kind].algorithm), NOW)
    start = data.draw(st.integers(0, len(genuine)))
    end = data.draw(st.integers(start, min(len(genuine), start + 8)))
    insert = data.draw(st.text(st.sampled_from("AQgw-_.=+/ \n\0é{"), max_size=4))
    changed = genuine[:start] + insert + genuine[end:]
    if changed != genuine:
        with pytest.raises(InvalidToken):
            ring.verify_token(changed, NOW)


@given(st.text() | st.text("abcAB019-_.=", max_size=200))
@example("." * 20)
@example("\ud800.\ud800.\ud800")
def test_no_text_raises_anything_but_invalid_token(realm_ring: Realm, text: str) -> None:
    with pytest.raises(InvalidToken):
        realm_ring[0].verify_token(text, NOW)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jku", "jwk", "zip", "enc"])
        | st.text(),
        json_values,
    )
)
def test_no_header_raises_anything_but_invalid_token(
    realm_ring: Realm, header: dict[str, Any]
) -> None:
    with pytest.raises(InvalidToken):
        realm_ring[0].verify_token(tokens.assemble(header, CLAIMS, lambda _: b"signature"), NOW)


def test_claims_that_json_cannot_hold_are_refused_when_signing(realm_ring: Realm) -> None:
    with pytest.raises(TypeError):
        realm_ring[0].sign({"exp": NOW}, SignatureAlgorithm.RS256, NOW)


def test_a_realm_without_a_key_for_the_algorithm_says_so(realm_ring: Realm) -> None:
    with pytest.raises(LookupError, match="no active PS256 key"):
        realm_ring[0].sign(CLAIMS, SignatureAlgorithm.PS256, NOW)


def test_a_disabled_key_does_not_sign_verify_or_publish(
    key_factory: PyJwtKeyFactory,
) -> None:
    record = key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW)
    token = key_factory.ring((record,)).sign(CLAIMS, SignatureAlgorithm.ES256, NOW)
    ring = key_factory.ring((replace(record, status=KeyStatus.DISABLED),))
    with pytest.raises(InvalidToken):
        ring.verify_token(token, NOW)
    with pytest.raises(LookupError):
        ring.sign(CLAIMS, SignatureAlgorithm.ES256, NOW)
    assert ring.public_jwks(NOW) == ()


def test_a_known_token_is_verified_again_by_the_same_key(
    key_factory: PyJwtKeyFactory,
) -> None:
    record = key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW)
    ring = key_factory.ring((record,))
    token = ring.sign(CLAIMS, SignatureAlgorithm.ES256, NOW)
    claims = dict(ring.verify_token(token, NOW))
    claims["aud"].append("changed by a reader")
    assert ring.verify_token(token, NOW) == CLAIMS
    successor = key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW)
    for keys in ((successor,), (replace(successor, kid=record.kid),), ()):
        with pytest.raises(InvalidToken):
            key_factory.ring(keys).verify_token(token, NOW)


def test_the_keys_stay_the_same_until_one_begins_or_retires(
    key_factory: PyJwtKeyFactory,
) -> None:
    begins, retires = NOW + timedelta(minutes=2), NOW + timedelta(hours=1)
    old = key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW)
    new = replace(
        key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW), active_from=begins
    )
    ring = key_factory.ring((replace(old, retire_at=retires), new))
    assert ring.same_keys(NOW) == (NOW, begins)
    assert ring.same_keys(begins) == (begins, retires)
    begin, end = ring.same_keys(retires)
    assert (begin, end > retires + timedelta(days=36_500)) == (retires, True)
    assert ring.same_keys(NOW - timedelta(days=1))[1] == NOW


def test_a_passive_key_verifies_and_shows_until_it_retires(
    key_factory: PyJwtKeyFactory,
) -> None:
    record = key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW)
    token = key_factory.ring((record,)).sign(CLAIMS, SignatureAlgorithm.ES256, NOW)
    end = NOW + timedelta(hours=1)
    ring = key_factory.ring((replace(record, status=KeyStatus.PASSIVE, retire_at=end),))
    before = end - timedelta(microseconds=1)
    assert ring.verify_token(token, before) == CLAIMS
    assert [jwk["kid"] for jwk in ring.public_jwks(before)] == [record.kid]
    with pytest.raises(LookupError):
        ring.sign(CLAIMS, SignatureAlgorithm.ES256, before)
    with pytest.raises(InvalidToken):
        ring.verify_token(token, end)
    assert ring.public_jwks(end) == ()


def test_a_published_key_verifies_before_it_signs(key_factory: PyJwtKeyFactory) -> None:
    old = key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW - timedelta(days=1))
    begins = NOW + timedelta(minutes=2)
    new = replace(
        key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW), active_from=begins
    )
    ring = key_factory.ring((new, old))

    def signed_by(now: datetime) -> str:
        token = ring.sign(CLAIMS, SignatureAlgorithm.ES256, now)
        return str(tokens.header_of(token)["kid"])

    assert signed_by(begins - timedelta(microseconds=1)) == old.kid
    assert [jwk["kid"] for jwk in ring.public_jwks(NOW)] == [old.kid, new.kid]
    assert signed_by(begins) == new.kid
    assert [jwk["kid"] for jwk in ring.public_jwks(begins)] == [new.kid, old.kid]
    beginning = key_factory.ring((replace(new, active_from=NOW),))
    early = beginning.sign(CLAIMS, SignatureAlgorithm(new.algorithm), NOW)
    assert ring.verify_token(early, NOW) == CLAIMS


@pytest.mark.parametrize(
    ("given_algorithm", "stored_as"),
    [
        (SignatureAlgorithm.ES256, SignatureAlgorithm.RS256),
        (SignatureAlgorithm.ES256, SignatureAlgorithm.ES384),
        (SignatureAlgorithm.RS256, SignatureAlgorithm.EDDSA),
        (SignatureAlgorithm.RS256, SignatureAlgorithm.ES256),
        (SignatureAlgorithm.EDDSA, SignatureAlgorithm.PS256),
    ],
)
def test_a_key_that_does_not_fit_its_algorithm_is_refused(
    key_factory: PyJwtKeyFactory,
    given_algorithm: SignatureAlgorithm,
    stored_as: SignatureAlgorithm,
) -> None:
    record = key_factory.generate("r1", "demo", given_algorithm, NOW)
    with pytest.raises(SecretUnreadable, match=f"not a {stored_as} key"):
        key_factory.ring((replace(record, algorithm=stored_as),))


@pytest.mark.parametrize("pem", ["", "not a key", "\ud800", "-----BEGIN PRIVATE KEY-----\nAA=="])
def test_a_key_that_is_none_is_refused_without_printing_it(
    key_factory: PyJwtKeyFactory, pem: str
) -> None:
    record = key_factory.generate("r1", "demo", SignatureAlgorithm.ES256, NOW)
    with pytest.raises(SecretUnreadable, match=record.kid):
        key_factory.ring((replace(record, private_key=Secret(pem)),))
