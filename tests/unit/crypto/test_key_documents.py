"""Keys, certificates and archives from outside: bounded before anything expensive is called."""

import base64
import contextlib
from collections.abc import Callable
from functools import cache
from typing import Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.hazmat.primitives.serialization import pkcs12 as library
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.crypto import pkcs12, private_keys, public_keys
from gateway.crypto.der import DerReader, pem_blocks, unwrap
from gateway.domain import base64url
from gateway.domain.limits.input_sizes import MAX_ARCHIVE_ITERATIONS, LimitExceeded
from tests.support.key_documents import (
    PASSWORD,
    RC2_40,
    SCRYPT,
    archive,
    certificate_bag,
    element,
    encrypted,
    in_clear,
    number,
    pbe,
    pbes2,
    rsa_private_key,
    rsa_public_key,
    self_signed,
    sequence,
)

TOO_MANY = 2_000_000
ODD_8676_BITS = (1 << 8675) + 1
HALF = (1 << 2047) + 1


class Reached(AssertionError):
    """An expensive function was called."""


@pytest.fixture
def nothing_expensive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every expensive function fail the test."""

    def refuse(*_: object, **__: object) -> Any:
        raise Reached

    for name in (
        "pkcs12._derived",
        "pkcs12.hashlib.pbkdf2_hmac",
        "public_keys.load_der_public_key",
        "public_keys.jwt.PyJWK",
        "public_keys.x509.load_der_x509_certificate",
        "private_keys._require_consistent",
    ):
        monkeypatch.setattr(f"gateway.crypto.{name}", refuse)


@cache
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def numbers(**changed: int) -> list[int]:
    """Return the numbers of a key in the order of PKCS#1."""
    held = key().private_numbers()
    public = held.public_numbers
    ordered = {
        "n": public.n,
        "e": public.e,
        "d": held.d,
        "p": held.p,
        "q": held.q,
        "dmp1": held.dmp1,
        "dmq1": held.dmq1,
        "iqmp": held.iqmp,
    }
    return list((ordered | changed).values())


EXPENSIVE_ARCHIVES = {
    "MAC": archive(iterations=TOO_MANY),
    "MAC of 2^31-1": archive(iterations=2**31 - 1),
    "MAC of a huge number": archive(iterations=2**100),
    "PBES2": archive(encrypted(pbes2(TOO_MANY))),
    "PBE": archive(encrypted(pbe(TOO_MANY))),
    "RC2": archive(encrypted(pbe(1, RC2_40))),
    "sum": archive(*[encrypted(pbes2(60_000))] * 5, iterations=1),
    "parts": archive(*[in_clear()] * 11),
    "salt": archive(salt=bytes(1025)),
    "size": archive(in_clear(element(0x04, bytes(1024 * 1024)))),
}


@pytest.mark.usefixtures("nothing_expensive")
@pytest.mark.parametrize("content", EXPENSIVE_ARCHIVES.values(), ids=EXPENSIVE_ARCHIVES)
def test_an_archive_above_the_limits_is_refused_underived(content: bytes) -> None:
    with pytest.raises(LimitExceeded):
        pkcs12.read_archive(content, PASSWORD)


@pytest.mark.usefixtures("nothing_expensive")
@pytest.mark.parametrize(
    "content",
    [archive(encrypted(pbes2(1, SCRYPT))), archive(encrypted(pbe(1, b"\x2a"))), archive(number(1))],
)
def test_an_archive_of_another_form_is_refused_underived(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"archive|tag"):
        pkcs12.read_archive(content, PASSWORD)


def test_the_entries_of_an_archive_are_limited() -> None:
    bags = [certificate_bag(b"x", str(place)) for place in range(100)]
    assert len(pkcs12.read_archive(archive(in_clear(*bags)), PASSWORD)) == 100
    with pytest.raises(LimitExceeded, match="Entries"):
        pkcs12.read_archive(archive(in_clear(*bags), in_clear(bags[0])), PASSWORD)


@cache
def library_archive(style: str) -> bytes:
    encryption: Any = BestAvailableEncryption(PASSWORD.encode())
    if style == "3DES":
        encryption = (
            PrivateFormat.PKCS12.encryption_builder()
            .key_cert_algorithm(library.PBES.PBESv1SHA1And3KeyTripleDESCBC)
            .kdf_rounds(2000)
            .build(PASSWORD.encode())
        )
    return library.serialize_key_and_certificates(
        b"mine", key(), self_signed(key()), None, encryption
    )


@pytest.mark.parametrize("style", ["AES", "3DES"])
def test_an_archive_of_the_library_is_read(style: str) -> None:
    (found,) = pkcs12.read_archive(library_archive(style), PASSWORD)
    assert found.alias == "mine"
    assert public_keys.load_certificate(found.der).public_key() == key().public_key()
    with pytest.raises(ValueError, match="password is wrong"):
        pkcs12.read_archive(library_archive(style), "wrong")


def test_an_altered_archive_is_refused() -> None:
    content = archive(in_clear(certificate_bag(b"certificate")))
    assert pkcs12.read_archive(content, PASSWORD)[0].der == b"certificate"
    with pytest.raises(ValueError, match="altered"):
        pkcs12.read_archive(content.replace(b"certificate", b"Certificate"), PASSWORD)


def test_the_most_iterations_are_computed() -> None:
    assert pkcs12.read_archive(archive(), PASSWORD) == ()
    with pytest.raises(ValueError, match="password is wrong"):
        pkcs12.read_archive(archive(iterations=MAX_ARCHIVE_ITERATIONS), PASSWORD)


@pytest.mark.usefixtures("nothing_expensive")
@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize(
    "given",
    [
        numbers(n=ODD_8676_BITS),
        numbers(n=(1 << 4096) + 1),
        numbers(n=(1 << 2046) + 1),
        numbers(e=(1 << 64) + 1),
        numbers(d=1 << 4096),
        numbers(p=1 << 2048),
        numbers(iqmp=1 << 2048),
    ],
)
def test_an_rsa_key_above_the_limits_is_refused_unchecked(
    given: list[int], *, wrapped: bool
) -> None:
    with pytest.raises(LimitExceeded):
        private_keys.parse_rsa_private_key(rsa_private_key(given, wrapped=wrapped))


@pytest.mark.parametrize("wrapped", [True, False])
def test_an_rsa_private_key_is_read(*, wrapped: bool) -> None:
    parsed = private_keys.parse_rsa_private_key(rsa_private_key(numbers(), wrapped=wrapped))
    assert parsed.private_numbers() == key().private_numbers()


@pytest.mark.parametrize("name", ["n", "e", "d", "p", "q", "dmp1", "dmq1", "iqmp"])
@pytest.mark.parametrize("change", [-2, 2])
def test_an_rsa_private_key_of_inconsistent_numbers_is_refused(name: str, change: int) -> None:
    """A wrong CRT coefficient would reveal the key by the first signature."""
    held = dict(zip(("n", "e", "d", "p", "q", "dmp1", "dmq1", "iqmp"), numbers(), strict=True))
    with pytest.raises(ValueError, match="not consistent"):
        private_keys.parse_rsa_private_key(rsa_private_key(numbers(**{name: held[name] + change})))


def test_a_private_key_of_a_composite_is_refused() -> None:
    """All other numbers fit each other."""
    first, second = 3 * (2**1022 + 15), 5 * (2**1022 - 57)
    exponent = 65537
    private = pow(exponent, -1, (first - 1) * (second - 1))
    made = [
        *(first * second, exponent, private, first, second),
        *(private % (first - 1), private % (second - 1), pow(second, -1, first)),
    ]
    with pytest.raises(ValueError, match="not consistent"):
        private_keys.parse_rsa_private_key(rsa_private_key(made))


def test_other_private_keys_are_refused() -> None:
    elliptic = ec.generate_private_key(ec.SECP256R1())
    pkcs8 = elliptic.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    sealed = key().private_bytes(
        Encoding.DER, PrivateFormat.PKCS8, BestAvailableEncryption(b"password")
    )
    two_primes_and_more = sequence(number(1), *map(number, numbers()), sequence())
    for der in (pkcs8, sealed, two_primes_and_more, rsa_private_key(numbers()) + b"\0"):
        with pytest.raises(ValueError, match=r"\w"):
            private_keys.parse_rsa_private_key(der)


@pytest.mark.usefixtures("nothing_expensive")
@pytest.mark.parametrize(
    "der",
    [
        rsa_public_key(ODD_8676_BITS),
        rsa_public_key((1 << 2047) + 1, (1 << 64) + 1),
        rsa_public_key((1 << 2047) + 1, 4),
        rsa_public_key((1 << 2047) + 1, 1),
        rsa_public_key(1 << 2047),
        sequence(number(ODD_8676_BITS), number(65537)),
    ],
)
def test_a_public_key_above_the_limits_is_refused_unloaded(der: bytes) -> None:
    with pytest.raises(ValueError, match="RSA"):
        public_keys.load_public_key(der)


@pytest.mark.usefixtures("nothing_expensive")
def test_a_certificate_with_a_large_key_is_refused_unloaded() -> None:
    der = self_signed(key()).public_bytes(Encoding.DER)
    info = key().public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    parts = DerReader(DerReader(der).enter(0x30).content(0x30))
    before = b"".join(parts.encoded(tag) for tag in (0xA0, 0x02, 0x30, 0x30, 0x30, 0x30))
    assert info in der
    hostile = sequence(sequence(before, rsa_public_key(ODD_8676_BITS)))
    with pytest.raises(LimitExceeded, match="8676"):
        public_keys.load_certificate(hostile)
    with pytest.raises(LimitExceeded, match="size"):
        public_keys.load_certificate(bytes(64 * 1024 + 1))


def test_keys_of_unknown_kinds_and_unnamed_curves_are_refused() -> None:
    unusual = dsa.generate_private_key(1024).public_key()  # noqa: S505 - refused
    der = unusual.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    curve = ec.generate_private_key(ec.SECP256K1()).public_key()
    named = curve.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    explicit = named.replace(bytes.fromhex("06052b8104000a"), bytes.fromhex("3005020100020100"))
    for one in (der, named, explicit):
        with pytest.raises(ValueError, match=r"\w"):
            public_keys.load_public_key(one)


def jwk(**members: object) -> dict[str, object]:
    public = key().public_key().public_numbers()
    return {
        "kty": "RSA",
        "n": base64url.encode(public.n.to_bytes(256)),
        "e": "AQAB",
    } | members


@pytest.mark.usefixtures("nothing_expensive")
@pytest.mark.parametrize(
    "hostile",
    [
        jwk(n=base64url.encode(ODD_8676_BITS.to_bytes(1085))),
        jwk(n="A" * 1_000_000),
        jwk(e="A" * 1_000_000),
        jwk(e=base64url.encode(((1 << 64) + 1).to_bytes(9))),
        jwk(e="AA"),
        jwk(e="BA"),
        {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "x": "A" * 1_000_000},
        {"kty": "oct", "k": "AA"},
    ],
)
def test_a_jwk_above_the_limits_is_refused_before_it_is_loaded(hostile: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"RSA|JWK|Keys"):
        public_keys.load_public_jwk(hostile)


def test_a_jwk_is_read() -> None:
    assert public_keys.load_public_jwk(jwk()) == key().public_key()


@pytest.mark.parametrize(
    "text",
    [
        b"-----BEGIN PRIVATE KEY-----\nAA==\n",
        b"-----BEGIN PRIVATE KEY-----\nProc-Type: 4\n\nAA==\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAA==\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAA=\n-----END PRIVATE KEY-----\n",
    ],
)
def test_malformed_pem_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"PEM|base64"):
        pem_blocks(text, b"PRIVATE KEY")


def _mutated(seed: bytes) -> st.SearchStrategy[bytes]:
    """Return documents that differ from a valid one in a few places."""
    places = st.tuples(st.integers(0, len(seed) - 1), st.binary(max_size=3), st.integers(0, 4))

    def change(edits: list[tuple[int, bytes, int]]) -> bytes:
        made = bytearray(seed)
        for place, text, gone in edits:
            made[place : place + gone] = text
        return bytes(made)

    return st.lists(places, max_size=4).map(change)


PARSERS: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "archive": (
        lambda data: pkcs12.read_archive(data, PASSWORD),
        archive(in_clear(certificate_bag(b"certificate")), encrypted(pbes2(2))),
    ),
    "private key": (private_keys.parse_rsa_private_key, rsa_private_key([HALF] * 8)),
    "public key": (public_keys.load_public_key, rsa_public_key((1 << 2047) + 1)),
    "certificate": (
        public_keys.load_certificate,
        self_signed(ec.generate_private_key(ec.SECP256R1())).public_bytes(Encoding.DER),
    ),
    "wrapped": (lambda data: unwrap(data, b"CERTIFICATE"), b"-----BEGIN CERTIFICATE-----\nAA==\n"),
}
REFUSALS = (ValueError, x509.InvalidVersion)


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_arbitrary_documents_raise_only_the_declared_refusal(
    name: str, data: st.DataObject
) -> None:
    parse, seed = PARSERS[name]
    document = data.draw(st.one_of(st.binary(max_size=200), _mutated(seed)))
    with contextlib.suppress(*REFUSALS):
        parse(document)


@given(st.dictionaries(st.sampled_from(["kty", "n", "e", "crv", "x", "y"]), st.text() | st.none()))
@settings(max_examples=150, deadline=None)
def test_arbitrary_keys_of_a_set_raise_only_declared_refusals(
    members: dict[str, object],
) -> None:
    with contextlib.suppress(ValueError, TypeError, LookupError, jwt.PyJWTError):
        public_keys.load_public_jwk(members)


@given(st.binary(max_size=100))
def test_the_reader_ends_for_all_bytes(document: bytes) -> None:
    reader = DerReader(document)
    with contextlib.suppress(ValueError):
        while reader.tag is not None:
            reader.any()
        reader.end()


def test_base64_alone_is_unwrapped() -> None:
    assert unwrap(base64.b64encode(b"der") + b"\n") == b"der"
