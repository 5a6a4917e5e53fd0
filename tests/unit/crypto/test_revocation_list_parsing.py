"""Revocation lists read from DER in place: as the library reads them, or refused with a reason."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import CRLEntryExtensionOID
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.crypto.revocation.downloaded_lists import parse_revocation_lists
from gateway.crypto.revocation.list_set import RevocationListSet
from gateway.crypto.revocation.revocation_list import (
    RevocationList,
    SerialNumbers,
    parse_revocation_list,
)
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY = timedelta(days=1)
NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "lists")])
EC = ec.generate_private_key(ec.SECP256R1())
SERIALS = st.integers(1, (1 << 159) - 1) | st.integers(1, 1 << 17)
_REASONS = st.sampled_from([None, *(x509.ReasonFlags.key_compromise, x509.ReasonFlags.superseded)])
_DATES = st.sampled_from([NOW - DAY, NOW.replace(year=2055)])
ENTRIES = st.lists(st.tuples(SERIALS, _REASONS, _DATES), max_size=200)


def _authority(key: Any, name: x509.Name = NAME) -> ParsedCertificate:
    public = key.public_key()
    hashed = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    certificate = (
        x509.CertificateBuilder(name, name, public, 1, NOW - DAY, NOW + DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashed)
    )
    return parse_certificate(certificate.public_bytes(Encoding.DER))


def _entry(
    serial: int, reason: x509.ReasonFlags | None = None, date: datetime = NOW
) -> x509.RevokedCertificateBuilder:
    entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(date)
    return entry if reason is None else entry.add_extension(x509.CRLReason(reason), critical=False)


def _builder(
    entries: Sequence[x509.RevokedCertificateBuilder],
) -> x509.CertificateRevocationListBuilder:
    made = [entry.build() for entry in entries]
    builder = x509.CertificateRevocationListBuilder(NAME, NOW - DAY, NOW + DAY, [], made)
    return builder.add_extension(x509.CRLNumber(7), critical=False)


def _der(*entries: x509.RevokedCertificateBuilder) -> bytes:
    return _builder(entries).sign(EC, hashes.SHA256()).public_bytes(Encoding.DER)


AUTHORITY = _authority(EC)


@settings(max_examples=60)
@given(entries=ENTRIES, others=st.lists(SERIALS, max_size=20))
def test_a_list_says_what_the_library_reads(entries: Any, others: list[int]) -> None:
    der = _der(*(_entry(*entry) for entry in entries))
    expected = x509.load_der_x509_crl(der)
    found = parse_revocation_list(der)
    assert found.is_signed_by(AUTHORITY)
    assert found.unusable is None
    assert (found.issuer, found.issued, found.next_update) == (NAME, NOW - DAY, NOW + DAY)
    serials = {entry.serial_number for entry in expected}
    assert len(found.serials) == len(entries)
    assert all(serial in found.serials for serial in serials)
    assert [serial in found.serials for serial in others] == [each in serials for each in others]


_SAMPLE = _der(*(_entry(serial, x509.ReasonFlags.superseded) for serial in (5, 1 << 90, 1 << 158)))


@settings(max_examples=300)
@given(
    at=st.integers(0, len(_SAMPLE) - 1),
    byte=st.integers(0, 255),
    cut=st.integers(0, 3),
    more=st.binary(max_size=2),
)
def test_a_changed_list_is_refused_or_not_signed(at: int, byte: int, cut: int, more: bytes) -> None:
    changed = _SAMPLE[:at] + bytes((byte,)) + _SAMPLE[at + 1 : len(_SAMPLE) - cut] + more
    try:
        found = parse_revocation_list(changed)
    except ValueError:
        return
    assert changed == _SAMPLE or not found.is_signed_by(AUTHORITY)


@settings(max_examples=100)
@given(data=st.binary(max_size=200))
def test_what_is_no_list_is_a_value_error(data: bytes) -> None:
    for parse in (parse_revocation_list, parse_revocation_lists):
        with pytest.raises(ValueError):  # noqa: PT011 - any reason
            parse(data)


@given(numbers=st.sets(SERIALS, max_size=50), others=st.lists(SERIALS, max_size=50))
def test_serial_numbers_are_found_in_full_alone(numbers: set[int], others: list[int]) -> None:
    """No number is found across the border of two others, nor by its beginning."""
    stored = SerialNumbers(0)
    for number in numbers:
        content = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
        stored.add_number(bytes((len(content),)) + content)
    near = [near for number in numbers for near in (number << 8, number >> 8, number + 1, -number)]
    for number in (*numbers, *others, *near):
        assert (number in stored) == (number in numbers)


def test_no_number_is_found_across_the_border_of_two_others() -> None:
    filler = bytes(range(1, 19))
    first, second = b"\x15\x00\x81" + filler, b"\x05"
    across = b"\x00\x81" + filler + bytes((len(second),))
    stored = SerialNumbers(0)
    for content in (first, second):
        stored.add_number(bytes((len(content),)) + content)
    assert [int.from_bytes(each) in stored for each in (first, second, across)] == [
        True,
        True,
        False,
    ]


def test_a_list_that_names_two_signature_algorithms_is_refused() -> None:
    """Only one of them is signed. Spec: RFC 5280 §5.1.1.2, §5.1.2.2."""
    sha256, sha384 = (bytes.fromhex(f"06082a8648ce3d04030{end}") for end in (2, 3))
    tbs = _builder([]).sign(EC, hashes.SHA256()).tbs_certlist_bytes.replace(sha256, sha384)
    signature = b"\0" + EC.sign(tbs, ec.ECDSA(hashes.SHA256()))
    rest = b"\x30\x0a" + sha256 + bytes((3, len(signature))) + signature
    der = b"\x30\x81" + bytes((len(tbs + rest),)) + tbs + rest
    with pytest.raises(ValueError, match="signature algorithms do not match"):
        parse_revocation_list(der)


def test_a_list_is_of_the_name_and_of_the_key() -> None:
    other = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "of the same key")])
    found = parse_revocation_list(_der())
    assert found.is_signed_by(AUTHORITY)
    assert not found.is_signed_by(_authority(EC, other))


def _of(key: Any, hashed: Any = hashes.SHA256(), **options: Any) -> RevocationList:  # noqa: B008
    signed = _builder([_entry(5)]).sign(key, hashed, **options)
    return parse_revocation_list(signed.public_bytes(Encoding.DER))


def test_lists_are_verified_with_every_kind_of_authority_key() -> None:
    rsa_key = rsa.generate_private_key(65537, 2048)
    edwards = ed25519.Ed25519PrivateKey.generate()
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)
    lists = [
        (_of(rsa_key), rsa_key),
        (_of(rsa_key, rsa_padding=pss), rsa_key),
        (_of(EC, hashes.SHA384()), EC),
        (_of(edwards, None), edwards),
    ]
    for found, key in lists:
        assert found.is_signed_by(_authority(key))
        assert key is EC or not found.is_signed_by(AUTHORITY)
    assert not _of(EC, hashes.SHA224()).is_signed_by(AUTHORITY)


def test_a_list_is_verified_for_an_authority_that_comes_later() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    lists = RevocationListSet([parse_revocation_list(_der(_entry(5))), _of(key)])
    for authority in (AUTHORITY, _authority(key)):
        found = lists.find_list(authority)
        assert found is not None
        assert found.is_signed_by(authority)
    assert lists.find_list(_authority(ec.generate_private_key(ec.SECP256R1()))) is None


def test_an_incomplete_list_is_unusable_with_its_reason() -> None:
    """Spec: RFC 5280 §5.2.4, §5.2.5, §5.3.3."""
    indirect = x509.CertificateIssuer([x509.DirectoryName(NAME)])
    odd = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\x05\x00")
    point = x509.IssuingDistributionPoint(
        full_name=None,
        relative_name=None,
        only_contains_user_certs=True,
        only_contains_ca_certs=False,
        only_some_reasons=None,
        indirect_crl=False,
        only_contains_attribute_certs=False,
    )
    sign = hashes.SHA256()
    plain = _builder([_entry(5)])
    reasons = {
        "delta list": plain.add_extension(x509.DeltaCRLIndicator(1), critical=True),
        "it is partial": plain.add_extension(point, critical=True),
        "which names only what": plain.add_extension(x509.DeltaCRLIndicator(3), critical=False),
        "it is partial, which": plain.add_extension(point, critical=False),
        "1.3.6.1.4.1.99999.1 is critical": plain.add_extension(odd, critical=True),
        "it is indirect": _builder([_entry(5).add_extension(indirect, critical=True)]),
        "an entry has a critical extension": _builder(
            [_entry(6), _entry(5).add_extension(odd, critical=True)]
        ),
    }
    assert indirect.oid == CRLEntryExtensionOID.CERTIFICATE_ISSUER
    for reason, builder in reasons.items():
        der = builder.sign(EC, sign).public_bytes(Encoding.DER)
        found = parse_revocation_list(der)
        assert reason in (found.incomplete or ""), reason
        lists = RevocationListSet([found])
        assert lists.find_list(AUTHORITY) is None
        assert lists.reason(AUTHORITY) == found.incomplete


def test_a_document_has_pem_lists_or_one_der_list() -> None:
    signed = _builder([_entry(5)]).sign(EC, hashes.SHA256())
    pem = signed.public_bytes(Encoding.PEM)
    for document, count in ((pem * 3, 3), (b"text\n" + pem + b"\n", 1), (_der(_entry(5)), 1)):
        assert [5 in found.serials for found in parse_revocation_lists(document)] == [True] * count
    for broken in (pem[:-30], pem[30:], pem + pem[:40], pem.replace(b"A", b"?"), pem + b"-----"):
        with pytest.raises(ValueError, match="revocation list"):
            parse_revocation_lists(broken)
