"""What of a certificate names the user. Keycloak: 11.2."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gateway.authentication.authenticators import identity_in
from gateway.authentication.errors import CertificateRejected
from gateway.crypto.x509.reader import X509CertificateParser
from gateway.domain.certificates import (
    CertificateEvidence,
    ClientCertificate,
    PresentedCertificate,
    ProxyVerdict,
    TrustLevel,
)
from gateway.domain.flows import CertificateOptions, IdentitySource

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PRINCIPAL = x509.OtherName(x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3"), b"\x0c\x0aada@people")
OTHER = x509.OtherName(x509.ObjectIdentifier("1.2.3.4"), b"\x0c\x01x")


def presented(
    *names: x509.GeneralName, common_names: tuple[str, ...] = ("Ada",), units: tuple[str, ...] = ()
) -> bytes:
    """Return the encoding of a certificate with these alternative names."""
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name) for name in common_names]
    attributes += [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, name) for name in units]
    subject = x509.Name(
        [*attributes, x509.NameAttribute(NameOID.EMAIL_ADDRESS, "ada@subject.test")]
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority")]))
        .public_key(key.public_key())
        .serial_number(0xABC)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    made = builder.sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.DER)


def certificate(
    leaf: PresentedCertificate, trust_level: TrustLevel = TrustLevel.TRUSTED
) -> ClientCertificate:
    """Return the certificate as the proxy reports it."""
    return ClientCertificate(CertificateEvidence(leaf, ProxyVerdict.VERIFIED, "nginx"), trust_level)


NAMES = (x509.RFC822Name("ada@people.test"), PRINCIPAL, OTHER)
FULL = X509CertificateParser().parse(presented(*NAMES))


@pytest.mark.parametrize(
    ("source", "identity"),
    [
        (IdentitySource.COMMON_NAME, "Ada"),
        (IdentitySource.EMAIL, "ada@subject.test"),
        (IdentitySource.ALTERNATIVE_EMAIL, "ada@people.test"),
        (IdentitySource.PRINCIPAL_NAME, "ada@people"),
        (IdentitySource.SERIAL_NUMBER, "2748"),
        (IdentitySource.THUMBPRINT, FULL.digest.hex()),
        (IdentitySource.SUBJECT, FULL.subject.legacy_rendering()),
        (IdentitySource.ISSUER, "CN=Authority"),
    ],
    ids=lambda value: value.name if isinstance(value, IdentitySource) else "names",
)
def test_each_source_names_the_user(source: IdentitySource, identity: str) -> None:
    assert identity_in(certificate(FULL), CertificateOptions(source)) == identity


def test_a_serial_number_may_be_hexadecimal() -> None:
    options = CertificateOptions(IdentitySource.SERIAL_NUMBER, hexadecimal=True)
    assert identity_in(certificate(FULL), options) == "abc"


@pytest.mark.parametrize(
    "der",
    [
        presented(common_names=("Ada", "Grace")),
        presented(x509.RFC822Name("a@b.test"), x509.RFC822Name("c@d.test"), common_names=()),
    ],
    ids=["several", "none"],
)
def test_a_certificate_with_several_names_or_none_names_no_user(der: bytes) -> None:
    leaf = X509CertificateParser().parse(der)
    for source in (
        *(IdentitySource.COMMON_NAME, IdentitySource.ALTERNATIVE_EMAIL),
        IdentitySource.PRINCIPAL_NAME,
    ):
        with pytest.raises(CertificateRejected) as refusal:
            identity_in(certificate(leaf), CertificateOptions(source))
        assert refusal.value.text == "Unable to extract user identity from specified certificate"


@pytest.mark.parametrize(
    "presented_certificate",
    [
        None,
        certificate(FULL, TrustLevel.UNTRUSTED),
        certificate(FULL, TrustLevel.REFUSED),
    ],
)
def test_only_a_trusted_certificate_names_a_user(
    presented_certificate: ClientCertificate | None,
) -> None:
    with pytest.raises(CertificateRejected):
        identity_in(presented_certificate, CertificateOptions(IdentitySource.COMMON_NAME))


BY_NAME = CertificateOptions(IdentitySource.SUBJECT, "CN=(.*?)(?:,|$)")


@pytest.mark.parametrize("common_names", [("Ada",), ()], ids=["beside", "alone"])
@pytest.mark.parametrize("unit", ["CN=admin,", "CN=admin", "x, CN=admin, y", 'x", CN=admin, "'])
def test_no_value_of_a_name_poses_as_another(unit: str, common_names: tuple[str, ...]) -> None:
    leaf = X509CertificateParser().parse(presented(common_names=common_names, units=(unit,)))
    with pytest.raises(CertificateRejected):
        identity_in(certificate(leaf), BY_NAME)


def test_a_pattern_that_finds_several_names_finds_none() -> None:
    leaf = X509CertificateParser().parse(presented(common_names=("Ada", "Grace")))
    with pytest.raises(CertificateRejected):
        identity_in(certificate(leaf), BY_NAME)


def test_a_quoted_value_may_stand_beside_the_name() -> None:
    leaf = X509CertificateParser().parse(presented(units=("Example, Inc.",)))
    assert identity_in(certificate(leaf), BY_NAME) == "Ada"
    of_unit = CertificateOptions(IdentitySource.SUBJECT, 'OU="(.*?)"(?:,|$)')
    assert identity_in(certificate(leaf), of_unit) == "Example, Inc."
    whole = CertificateOptions(IdentitySource.SUBJECT)
    assert identity_in(certificate(leaf), whole) == leaf.subject.legacy_rendering()


def test_a_pattern_reads_a_long_name() -> None:
    leaf = X509CertificateParser().parse(presented(units=("u" * 60, "v" * 60, "w" * 60, "x" * 60)))
    assert identity_in(certificate(leaf), BY_NAME) == "Ada"
