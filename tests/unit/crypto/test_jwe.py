"""Compact JWE, compared with jwcrypto: RFC 7516 §5, RFC 7518 §4.3, §4.6, §5; attacks C20."""

import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given
from hypothesis import strategies as st
from jwcrypto import jwe as other_jwe  # type: ignore[import-untyped] # it ships no types
from jwcrypto import jwk as other_jwk

from gateway.crypto.jwe import CANNOT_DECRYPT, MAX_JWE_LENGTH, encrypt, parse_jwe
from gateway.crypto.realm_keys import PyJwtKeyRing
from gateway.domain import base64url
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import (
    ContentEncryption,
    EncryptionAlgorithm,
    KeyManagement,
    KeyStatus,
    RealmKey,
    TokenEncryption,
)
from gateway.domain.secrets import Secret

NOW: Final = datetime(2026, 11, 23, tzinfo=UTC)
CONTENT: Final = b'{"sub":"\xc3\xa4"}'
OF_REALMS: Final = (KeyManagement.RSA_OAEP, KeyManagement.RSA_OAEP_256)
CURVES: Final = (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1())
PAIRS: Final = list(itertools.product(KeyManagement, ContentEncryption))


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def record(key: rsa.RSAPrivateKey, algorithm: str, **fields: Any) -> RealmKey:
    given_fields: dict[str, Any] = {
        "id": f"id-{algorithm}",
        "realm_id": "r",
        "kid": f"kid-{algorithm}",
        "algorithm": EncryptionAlgorithm(algorithm),
        "status": KeyStatus.ACTIVE,
        "created_at": NOW,
        "active_from": NOW,
        "private_key": Secret(pem(key).decode()),
    }
    return RealmKey(**(given_fields | fields))


@pytest.fixture(scope="module")
def rsa_key(rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]) -> rsa.RSAPrivateKey:
    return rsa_private_keys[0]


@pytest.fixture(scope="module")
def ring(rsa_key: rsa.RSAPrivateKey) -> PyJwtKeyRing:
    return PyJwtKeyRing(tuple(record(rsa_key, name) for name in (*OF_REALMS, "RSA1_5")))


def sealed(
    key: rsa.RSAPrivateKey,
    algorithm: str = "RSA-OAEP",
    content: str = "A128GCM",
    **members: object,
) -> str:
    """Return a JWE of jwcrypto."""
    header = {"alg": algorithm, "enc": content, "kid": f"kid-{algorithm}", **members}
    made = other_jwe.JWE(
        CONTENT,
        json.dumps({name: value for name, value in header.items() if value is not None}),
        algs=[algorithm, content],
    )
    made.add_recipient(other_jwk.JWK.from_pyca(key.public_key()))
    return str(made.serialize(compact=True))


def with_header(header: bytes, encrypted_key: str = "AA") -> str:
    return f"{base64url.encode(header)}.{encrypted_key}.AA.AA.AA"


@pytest.mark.parametrize(("algorithm", "content"), PAIRS)
def test_another_implementation_decrypts_what_is_encrypted(
    rsa_key: rsa.RSAPrivateKey, algorithm: KeyManagement, content: ContentEncryption
) -> None:
    keys = [rsa_key] if algorithm.uses_rsa else [ec.generate_private_key(each) for each in CURVES]
    for key in keys:
        token = encrypt(
            CONTENT,
            key.public_key(),
            TokenEncryption(algorithm, content),
            kid="mine",
            content_type="JWT",
        )
        opened = other_jwe.JWE(algs=[algorithm, content])
        opened.deserialize(token, other_jwk.JWK.from_pyca(key))
        assert opened.payload == CONTENT
        header = dict(opened.jose_header)
        header.pop("epk", None)
        assert header == {"alg": algorithm, "enc": content, "cty": "JWT", "kid": "mine"}


@pytest.mark.parametrize("content", list(ContentEncryption))
@pytest.mark.parametrize("algorithm", OF_REALMS)
@pytest.mark.parametrize("kid", ["named", "absent"])
def test_what_another_implementation_encrypts_is_decrypted(
    ring: PyJwtKeyRing, rsa_key: rsa.RSAPrivateKey, algorithm: str, content: str, kid: str
) -> None:
    members = {} if kid == "named" else {"kid": None}
    opened, used = ring.decrypt(sealed(rsa_key, algorithm, content, **members), NOW)
    assert (opened, used) == (
        CONTENT,
        TokenEncryption(KeyManagement(algorithm), ContentEncryption(content)),
    )


@pytest.mark.parametrize("content", ["A128GCM", "A128CBC-HS256"])
@pytest.mark.parametrize("changed", ["encrypted key", "iv", "ciphertext", "tag", "header"])
def test_every_failure_with_a_key_has_one_reason(
    ring: PyJwtKeyRing, rsa_key: rsa.RSAPrivateKey, content: str, changed: str
) -> None:
    parts = sealed(rsa_key, content=content).split(".")
    index = {"header": 0, "encrypted key": 1, "iv": 2, "ciphertext": 3, "tag": 4}[changed]
    if index:
        raw = bytearray(base64url.decode(parts[index]))
        raw[0] ^= 1
        parts[index] = base64url.encode(bytes(raw))
    else:
        header = json.loads(base64url.decode(parts[0])) | {"x": 1}
        parts[0] = base64url.encode(json.dumps(header).encode())
    with pytest.raises(InvalidToken) as caught:
        ring.decrypt(".".join(parts), NOW)
    assert str(caught.value) == CANNOT_DECRYPT


@pytest.mark.parametrize("content", list(ContentEncryption))
@pytest.mark.parametrize("index", [1, 2, 3, 4])
def test_shortened_and_empty_parts_are_refused(
    ring: PyJwtKeyRing, rsa_key: rsa.RSAPrivateKey, content: str, index: int
) -> None:
    """A shortened tag of GCM is easier to guess: NIST SP 800-38D, Appendix C."""
    for length in (0, 4, 12, 15):
        parts = sealed(rsa_key, content=content).split(".")
        kept = base64url.decode(parts[index])[:length]
        if kept == base64url.decode(parts[index]):
            continue
        parts[index] = base64url.encode(kept)
        with pytest.raises(InvalidToken, match=CANNOT_DECRYPT):
            ring.decrypt(".".join(parts), NOW)


@pytest.mark.parametrize("length", [8, 12, 16, 64])
def test_an_iv_of_another_length_is_refused_even_if_it_fits(
    ring: PyJwtKeyRing, rsa_key: rsa.RSAPrivateKey, length: int
) -> None:
    """RFC 7518 §5.3: 96 bits. AES-GCM itself takes any length."""
    header = base64url.encode(b'{"alg":"RSA-OAEP","enc":"A128GCM","kid":"kid-RSA-OAEP"}')
    content_key, iv = bytes(16), bytes(length)
    oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)  # noqa: S303
    encrypted_key = rsa_key.public_key().encrypt(content_key, oaep)
    made = AESGCM(content_key).encrypt(iv, CONTENT, header.encode())
    parts = (encrypted_key, iv, made[:-16], made[-16:])
    token = ".".join((header, *map(base64url.encode, parts)))
    if length == 12:
        assert ring.decrypt(token, NOW)[0] == CONTENT
        return
    with pytest.raises(InvalidToken, match=CANNOT_DECRYPT):
        ring.decrypt(token, NOW)


def test_the_key_of_another_realm_decrypts_nothing(
    ring: PyJwtKeyRing, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    with pytest.raises(InvalidToken, match=CANNOT_DECRYPT):
        ring.decrypt(sealed(rsa_private_keys[1]), NOW)


def test_the_algorithm_is_that_of_the_key(ring: PyJwtKeyRing, rsa_key: rsa.RSAPrivateKey) -> None:
    """RFC 8725 §3.1: both keys have the same numbers, so either would decrypt it."""
    token = sealed(rsa_key, "RSA-OAEP", kid="kid-RSA-OAEP-256")
    with pytest.raises(InvalidToken, match="no key of the realm"):
        ring.decrypt(token, NOW)


def test_a_key_decrypts_until_it_is_retired_or_disabled(rsa_key: rsa.RSAPrivateKey) -> None:
    token = sealed(rsa_key)
    retiring = record(
        rsa_key, "RSA-OAEP", status=KeyStatus.PASSIVE, retire_at=NOW + timedelta(hours=1)
    )
    kept = PyJwtKeyRing((retiring,))
    assert kept.decrypt(token, NOW)[0] == CONTENT
    for keys, now in (
        (kept, NOW + timedelta(hours=1)),
        (PyJwtKeyRing((record(rsa_key, "RSA-OAEP", status=KeyStatus.DISABLED),)), NOW),
        (PyJwtKeyRing(()), NOW),
    ):
        with pytest.raises(InvalidToken, match="no key of the realm"):
            keys.decrypt(token, now)
        assert keys.decryption_algorithms(now) == ()


def test_rsa1_5_is_neither_published_nor_used(
    ring: PyJwtKeyRing, rsa_key: rsa.RSAPrivateKey
) -> None:
    """RFC 8725 §3.2."""
    assert {key["alg"] for key in ring.public_jwks(NOW)} == set(OF_REALMS)
    assert ring.decryption_algorithms(NOW) == OF_REALMS
    header = base64url.encode(b'{"alg":"RSA1_5","enc":"A128GCM","kid":"kid-RSA1_5"}')
    _, *rest = sealed(rsa_key).split(".")
    with pytest.raises(InvalidToken, match="alg is not one"):
        ring.decrypt(".".join((header, *rest)), NOW)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"alg": "dir"}, "alg is not one"),
        ({"alg": "A128KW"}, "alg is not one"),
        ({"alg": "PBES2-HS256+A128KW", "p2c": 10**9, "p2s": "AA"}, "alg is not one"),
        ({"alg": "none"}, "alg is not one"),
        ({"alg": ["RSA-OAEP"]}, "alg is not one"),
        ({"enc": "A128CTR"}, "enc is not one"),
        ({"enc": None}, "enc is not one"),
        ({"zip": "DEF"}, "zip are not supported"),
        ({"crit": ["exp"], "exp": 1}, "crit and zip"),
        ({"alg": "ECDH-ES", "epk": {}}, "no key of the realm"),
        ({"kid": "another"}, "no key of the realm"),
        ({"x": "y" * 2000}, "the header is longer"),
    ],
)
def test_the_header_is_checked_before_a_key_is_used(
    ring: PyJwtKeyRing, header: dict[str, Any], reason: str
) -> None:
    sent = {"alg": "RSA-OAEP", "enc": "A128GCM", "kid": "kid-RSA-OAEP"} | header
    token = f"{base64url.encode(json.dumps(sent).encode())}.AA.AA.AA.AA"
    with pytest.raises(InvalidToken, match=reason):
        ring.decrypt(token, NOW)


@pytest.mark.parametrize(
    "token",
    [
        *("", "a.b.c", "a.b.c.d.e.f", "....", "a.b.c.d.\u00e9", "{}.AA.AA.AA.AA"),
        "a" * (MAX_JWE_LENGTH + 1),
        with_header(b"[]"),
        with_header(b"[" * 1400),
        with_header(b'{"alg":"RSA-OAEP","alg":"dir","enc":"A128GCM"}'),
        with_header(b'{"alg":"RSA-OAEP","enc":"A128GCM"}', "AB"),
        with_header(b'{"alg":"RSA-OAEP","enc":"A128GCM"}', "A" * 2000),
    ],
)
def test_what_is_no_compact_jwe_is_refused(token: str) -> None:
    with pytest.raises(InvalidToken):
        parse_jwe(token)


_PART: Final = st.one_of(st.text(max_size=20), st.binary(max_size=40).map(base64url.encode))
_HEADER: Final = st.dictionaries(
    st.sampled_from(["alg", "enc", "kid", "zip", "crit", "epk", "cty"]),
    st.one_of(
        st.sampled_from(["RSA-OAEP", "A128GCM", "ECDH-ES", "dir", "A256CBC-HS512", "kid-RSA-OAEP"]),
        st.none(),
        st.integers(),
        st.lists(st.text(max_size=3), max_size=3),
    ),
).map(lambda header: base64url.encode(json.dumps(header).encode()))


@given(st.lists(st.one_of(_PART, _HEADER), max_size=7).map(".".join))
def test_hostile_texts_raise_invalid_token_and_nothing_else(ring: PyJwtKeyRing, token: str) -> None:
    with pytest.raises(InvalidToken):
        ring.decrypt(token, NOW)


@given(st.tuples(_HEADER, _PART, _PART, _PART, _PART).map(".".join))
def test_hostile_parts_raise_invalid_token_and_nothing_else(ring: PyJwtKeyRing, token: str) -> None:
    with pytest.raises(InvalidToken):
        ring.decrypt(token, NOW)
