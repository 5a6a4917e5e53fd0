"""The addresses that a certificate names: what is read of them, and that nothing breaks it."""

from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtensionOID
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.crypto.revocation.list_set import MOST_URLS, distribution_points_of
from gateway.crypto.revocation.ocsp import OcspQuestion, UnusableResponse
from gateway.crypto.revocation.revocation_list import parse_revocation_list, scope_of
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.domain.ports.certificates import MalformedCertificate
from tests.support.chains import CA, KEYS, issue
from tests.support.list_server import list_of, points, responder_at, scope

ROOT = issue("root", None, CA, key=KEYS[0])
POINTS, ACCESS = points("http://a.example/1.crl"), responder_at("http://a.example/ocsp")
_TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30)
_NAMES = st.lists(
    st.one_of(
        st.builds(
            lambda scheme, rest: x509.UniformResourceIdentifier(scheme + rest),
            st.sampled_from(["http://", "https://", "HTTP://", "ldap://", "file://", ""]),
            _TEXT,
        ),
        st.just(x509.DirectoryName(ROOT.certificate.subject)),
        st.just(x509.DNSName("a.example")),
    ),
    max_size=5,
)
_POINT = st.tuples(_NAMES, st.booleans(), st.booleans())


def read(*extensions: x509.ExtensionType) -> ParsedCertificate:
    return parse_certificate(issue("probe", ROOT, *extensions, key=KEYS[1]).der)


@settings(max_examples=100, deadline=None)
@given(described=st.lists(_POINT, min_size=1, max_size=6))
def test_web_addresses_of_plain_points_are_read(described: list[Any]) -> None:
    """The first ones alone; a point of another issuer or of some reasons has none that counts."""
    issuer = [x509.DirectoryName(ROOT.certificate.subject)]
    made = [
        x509.DistributionPoint(
            names or None,
            None,
            frozenset({x509.ReasonFlags.key_compromise}) if some else None,
            issuer if indirect or not names else None,
        )
        for names, some, indirect in described
    ]
    found = distribution_points_of(read(x509.CRLDistributionPoints(made)))
    expected = [
        name.value
        for names, some, indirect in described
        if not some and not indirect
        for name in names
        if isinstance(name, x509.UniformResourceIdentifier)
        and name.value.lower().startswith(("http://", "https://"))
    ]
    assert set(found.urls) <= set(expected)
    assert found.urls[:1] == tuple(expected[:1])
    assert len(found.urls) <= MOST_URLS
    assert found.are_named
    assert (found.problem is None) == bool(expected)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_changed_extensions_are_refused_or_read(data: st.DataObject) -> None:
    """The certificate is signed with them: whoever issues it may write anything."""
    values = []
    for extension in (POINTS, ACCESS):
        sample = bytearray(extension.public_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(sample) - 1))
            sample[at] = data.draw(st.integers(0, 255))
        cut = data.draw(st.integers(0, 4))
        values.append(bytes(sample[: len(sample) - cut]) + data.draw(st.binary(max_size=4)))
    oids = ExtensionOID.CRL_DISTRIBUTION_POINTS, ExtensionOID.AUTHORITY_INFORMATION_ACCESS
    _read_anything(
        *(x509.UnrecognizedExtension(oid, value) for oid, value in zip(oids, values, strict=True))
    )


@settings(max_examples=200, deadline=None)
@given(value=st.binary(max_size=80))
def test_any_bytes_are_refused_or_read(value: bytes) -> None:
    for oid in (ExtensionOID.CRL_DISTRIBUTION_POINTS, ExtensionOID.AUTHORITY_INFORMATION_ACCESS):
        _read_anything(x509.UnrecognizedExtension(oid, value))


def _read_anything(*extensions: x509.UnrecognizedExtension) -> None:
    der = issue("probe", ROOT, *extensions, key=KEYS[1]).der
    try:
        parsed = parse_certificate(der)
    except MalformedCertificate:
        return
    found = distribution_points_of(parsed)
    assert all(url.lower().startswith(("http://", "https://")) for url in found.urls)
    try:
        url = OcspQuestion(parsed.certificate, ROOT.certificate).responder()
    except UnusableResponse:
        return
    assert url.startswith(("http://", "https://"))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_changed_scope_of_a_list_is_refused_or_read(data: st.DataObject) -> None:
    sample = bytearray(
        scope("http://a.example/1.crl", only_contains_user_certs=True).public_bytes()
    )
    at = data.draw(st.integers(0, len(sample) - 1))
    sample[at] = data.draw(st.integers(0, 255))
    changed = x509.UnrecognizedExtension(
        ExtensionOID.ISSUING_DISTRIBUTION_POINT, bytes(sample) + data.draw(st.binary(max_size=3))
    )
    try:
        found = parse_revocation_list(list_of(ROOT, extensions=(changed,)))
    except ValueError:
        return
    assert found.scope is not None
    assert not found.is_complete


@pytest.mark.parametrize("tag", [*range(0x80, 0x8A), *range(0xA0, 0xAA)])
def test_a_list_with_a_name_of_any_kind_is_refused_or_read(tag: int) -> None:
    name = bytes([tag, 2, 0x0C, 0])
    point = bytes([0x30, 8, 0xA0, 6, 0xA0, 4]) + name
    unknown = x509.UnrecognizedExtension(ExtensionOID.ISSUING_DISTRIBUTION_POINT, point)
    try:
        assert not parse_revocation_list(list_of(ROOT, extensions=(unknown,))).is_complete
    except ValueError as refused:
        assert "cannot be read" in str(refused)


def test_a_certificate_without_points_names_none() -> None:
    assert not distribution_points_of(read()).are_named
    assert distribution_points_of(parse_certificate(ROOT.der)).authority
    header = x509.load_der_x509_crl(list_of(ROOT))
    assert scope_of(header) is None


def test_many_and_long_addresses_are_bounded() -> None:
    long = "http://a.example/" + "x" * 3000
    many = [f"http://a.example/{number}" for number in range(1000)]
    assert distribution_points_of(read(points(long, *many))).urls == tuple(many[:MOST_URLS])
    repeated = distribution_points_of(read(points(*many[:1] * 9, many[1])))
    assert repeated.urls == tuple(many[:2])
    assert distribution_points_of(read(points(long))).problem == (
        "its distribution points name no http address"
    )


@pytest.mark.parametrize("method", [AuthorityInformationAccessOID.CA_ISSUERS])
def test_an_address_of_the_issuer_is_no_responder(method: x509.ObjectIdentifier) -> None:
    location = x509.UniformResourceIdentifier("http://a.example/ca.crt")
    access = x509.AuthorityInformationAccess([x509.AccessDescription(method, location)])
    with pytest.raises(UnusableResponse, match="names no responder"):
        OcspQuestion(read(access).certificate, ROOT.certificate).responder()
