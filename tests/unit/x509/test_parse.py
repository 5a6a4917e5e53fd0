"""One certificate and nothing else, its names as encoded; hostile bytes end in one error."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.crypto.x509.authorities import AuthorityBundle, AuthorityFile
from gateway.crypto.x509.parse import CURVE_ORDERS, parse_certificate
from gateway.domain.certificates import TrustLevel
from gateway.domain.distinguished_names import Attribute, DistinguishedName
from gateway.domain.ports.certificates import MalformedCertificate
from tests.support.certificates import Zoo, with_other_signature
from tests.support.evaluated_certificates import EvaluatedCertificates
from tests.support.set_clock import SetClock

KEY = ec.generate_private_key(ec.SECP256R1())
NOW = datetime.now(UTC).replace(microsecond=0)
CN = NameOID.COMMON_NAME
SAN = "2.5.29.17"
PLACEHOLDER = "placeholder!"


def tlv(tag: int, content: bytes) -> bytes:
    return bytes((tag, len(content))) + content


def certificate(
    common_name: str = PLACEHOLDER, extension: bytes | None = None, oid: str = SAN
) -> bytes:
    name = x509.Name([x509.NameAttribute(CN, common_name)])
    builder = x509.CertificateBuilder(name, name, KEY.public_key(), 1, NOW, NOW + timedelta(days=1))
    if extension is not None:
        unrecognized = x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), extension)
        builder = builder.add_extension(unrecognized, critical=False)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.DER)


def with_common_name(tag: int, content: bytes) -> bytes:
    """Return a certificate whose CN is this element; its signature is not looked at."""
    assert len(content) == len(PLACEHOLDER)
    return certificate().replace(tlv(0x0C, PLACEHOLDER.encode()), tlv(tag, content))


@pytest.mark.parametrize(
    ("curve", "order"),
    list(zip((ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()), CURVE_ORDERS, strict=True)),
    ids=["P-256", "P-384", "P-521"],
)
def test_a_certificate_knows_its_other_signature(curve: ec.EllipticCurve, order: int) -> None:
    """Both verify, and have different thumbprints. Spec: SEC 1 §4.1.4."""
    key = ec.generate_private_key(curve)
    name = x509.Name([x509.NameAttribute(CN, PLACEHOLDER * 4)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + timedelta(days=1))
    for hashed in (hashes.SHA256(), hashes.SHA512()):
        made = builder.sign(key, hashed)
        twin = with_other_signature(made, order)
        twin.verify_directly_issued_by(made)
        one, other = (parse_certificate(each.public_bytes(Encoding.DER)) for each in (made, twin))
        assert (one.twin_digest, other.twin_digest) == (other.digest, one.digest)
        assert one.form_digest == other.form_digest


@pytest.mark.parametrize(
    ("tag", "content", "value"),
    [
        (0x0C, "zwölf Byte!".encode(), "zwölf Byte!"),
        (0x13, b"printable 12", "printable 12"),
        (0x16, b"ia5 string !", "ia5 string !"),
        (0x14, "Müller & Co.".encode("latin-1"), "Müller & Co."),
        (0x1E, "Müller".encode("utf-16-be"), "Müller"),
        (0x1C, "Mül".encode("utf-32-be"), "Mül"),
    ],
)
def test_every_string_type_is_read(tag: int, content: bytes, value: str) -> None:
    """RFC 5280 §4.1.2.4: real authorities still write TeletexString and BMPString."""
    subject = parse_certificate(with_common_name(tag, content)).subject
    assert subject == DistinguishedName(((Attribute(CN.dotted_string, value),),))


def test_a_value_that_is_no_string_stays_bytes() -> None:
    """It equals no text, so it cannot be taken for one."""
    subject = parse_certificate(with_common_name(0x04, b"octet string")).subject
    octets = Attribute(CN.dotted_string, tlv(0x04, b"octet string"))
    assert subject == DistinguishedName(((octets,),))


def test_text_that_its_string_type_does_not_allow_is_malformed() -> None:
    with pytest.raises(MalformedCertificate):
        parse_certificate(with_common_name(0x13, "zwölf Byte!".encode()))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda der: der[:0], "cut short"),
        (lambda der: der[:-1], "cut short"),
        (lambda der: der + b"\0", "not an X.509 certificate"),
        (lambda der: der + der, "not an X.509 certificate"),
        (lambda der: b"\x31" + der[1:], "DER tag 0x31"),
        (lambda der: b"\x30\x80" + der[4:] + b"\0\0", "not definite"),
        (lambda der: der.replace(b"\2\1\1\x30", b"\2\1\0\x30"), "serial number is not positive"),
        (lambda der: der.replace(b"\2\1\1\x30", b"\2\1\xff\x30"), "serial number is not positive"),
        (lambda der: der.replace(b"\2\1\2\2", b"\2\1\7\2"), "not an X.509 certificate"),
    ],
    ids=[
        "empty",
        "cut",
        "junk",
        "two",
        "a set",
        "indefinite",
        "serial 0",
        "serial -1",
        "version 8",
    ],
)
def test_anything_but_one_certificate_is_malformed(
    change: Callable[[bytes], bytes], reason: str
) -> None:
    """Attack A18: truncated DER and trailing junk; RFC 5280 §4.1.2.2: a serial is positive."""
    with pytest.raises(MalformedCertificate, match=reason):
        parse_certificate(change(certificate()))


@pytest.mark.parametrize(
    "name",
    [
        tlv(0xA3, b""),
        tlv(0xA5, b""),
        tlv(0x82, b"\xff"),
        tlv(0x87, b"abc"),
        tlv(0x88, b"\x80"),
        tlv(0xA0, b""),
        tlv(0xA4, tlv(0x30, tlv(0x31, tlv(0x30, tlv(6, b"\x55\x04\x03") + tlv(3, b"\0a"))))),
        tlv(0xA4, tlv(0x30, tlv(0x31, tlv(0x30, tlv(6, b"\x55\x04\x03") + tlv(2, b"\1"))))),
    ],
    ids=["x400", "EDI", "DNS", "IP", "OID", "other", "bit string", "integer"],
)
def test_an_unreadable_alternative_name_is_malformed(name: bytes) -> None:
    """Attack A18: the library raises five kinds of exceptions for these; a client sees 400."""
    with pytest.raises(MalformedCertificate):
        parse_certificate(certificate(extension=tlv(0x30, name)))


def test_an_extension_given_twice_is_malformed() -> None:
    """RFC 5280 §4.2: whoever reads the first must not differ from whoever reads the second."""
    name = x509.Name([x509.NameAttribute(CN, PLACEHOLDER)])
    names = [x509.DNSName("a.example")]
    der = (
        x509.CertificateBuilder(name, name, KEY.public_key(), 1, NOW, NOW + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.IssuerAlternativeName(names), critical=False)
        .sign(KEY, hashes.SHA256())
        .public_bytes(Encoding.DER)
    )
    twice = der.replace(b"\6\3\x55\x1d\x12", b"\6\3\x55\x1d\x11")
    assert twice != der
    with pytest.raises(MalformedCertificate, match="Duplicate"):
        parse_certificate(twice)


SEEDS = certificate(extension=tlv(0x30, tlv(0x82, b"a.example")))


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(
    st.lists(
        st.tuples(st.integers(0, len(SEEDS) - 1), st.integers(0, 255)), min_size=1, max_size=6
    ),
    st.integers(0, len(SEEDS)),
)
@settings(max_examples=400)
def test_mutated_certificates_are_read_or_malformed(
    mutations: list[tuple[int, int]], cut: int
) -> None:
    """Attack A18: a million of these must not make one 500."""
    mutated = bytearray(SEEDS)
    for position, byte in mutations:
        mutated[position] = byte
    reader = EvaluatedCertificates(AuthorityBundle(), None, SetClock(NOW))
    for der in (bytes(mutated), bytes(mutated[:cut])):
        try:
            read = reader.read(der, verified_by_proxy=True)
        except MalformedCertificate:
            continue
        assert not read.identifies


@given(st.binary(max_size=300))
def test_any_bytes_are_malformed(der: bytes) -> None:
    with pytest.raises(MalformedCertificate):
        parse_certificate(der)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 9_999), bit=st.integers(0, 7))
def test_a_certificate_with_one_bit_changed_is_never_trusted(
    certificate_zoo: Zoo, place: int, bit: int
) -> None:
    """RFC 5280 §6.1.3: every bit of it is signed, or is the signature."""
    der = bytearray(certificate_zoo["valid"].der)
    der[place % len(der)] ^= 1 << bit
    bundle = AuthorityFile(certificate_zoo.directory / "ca.crt")
    reader = EvaluatedCertificates(bundle, None, SetClock(datetime.now(UTC)))
    try:
        read = reader.read(bytes(der), verified_by_proxy=True)
    except (MalformedCertificate, UserWarning):
        return
    assert not read.identifies


@pytest.mark.parametrize("kind", ["huge 13 kB", "huge 25 kB", "subject 1 kB"])
def test_a_large_certificate_is_judged_like_any_other(certificate_zoo: Zoo, kind: str) -> None:
    """Attack A17."""
    reader = EvaluatedCertificates(AuthorityBundle(), None, SetClock(datetime.now(UTC)))
    read = reader.read(certificate_zoo[kind].der, verified_by_proxy=True)
    assert read.trust_level is TrustLevel.UNTRUSTED


def test_a_certificate_of_more_than_64_kb_is_no_certificate(certificate_zoo: Zoo) -> None:
    """Attack A17."""
    reader = EvaluatedCertificates(AuthorityBundle(), None, SetClock(datetime.now(UTC)))
    with pytest.raises(MalformedCertificate):
        reader.read(certificate_zoo["huge 91 kB"].der, verified_by_proxy=True)


@pytest.mark.parametrize("unused", range(1, 8))
def test_a_signature_that_claims_unused_bits_is_malformed(unused: int) -> None:
    """X.690 §11.2: the count stands outside of what is signed, so it could be altered unseen.

    The library itself refuses only unused bits that are not zero, so these are.
    """
    while True:
        der = bytearray(certificate())
        signature = x509.load_der_x509_certificate(bytes(der)).signature
        if signature[-1] % 2**unused == 0:
            break
    parse_certificate(bytes(der))
    der[-len(signature) - 1] = unused
    x509.load_der_x509_certificate(bytes(der))
    with pytest.raises(MalformedCertificate):
        parse_certificate(bytes(der))
