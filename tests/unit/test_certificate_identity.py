"""What of a certificate names the user. Keycloak: 11.2."""

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gateway.authentication.certificate_users import identity_in
from gateway.authentication.errors import CertificateRejected
from gateway.crypto.x509.reader import X509CertificateParser
from gateway.domain.certificates import (
    CertificateEvidence,
    CertificateUsage,
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
FULL = X509CertificateParser().parse_certificate(presented(*NAMES))


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
        (IdentitySource.ISSUER_COMMON_NAME, "Authority"),
        (IdentitySource.SERIAL_NUMBER_AND_ISSUER, "2748##CN=Authority"),
        (IdentitySource.PEM, base64.b64encode(FULL.der).decode()),
    ],
    ids=lambda value: value.name if isinstance(value, IdentitySource) else "names",
)
def test_each_source_names_the_user(source: IdentitySource, identity: str) -> None:
    assert identity_in(certificate(FULL), CertificateOptions(source)) == identity


def test_a_serial_number_may_be_hexadecimal() -> None:
    options = CertificateOptions(IdentitySource.SERIAL_NUMBER, hexadecimal=True)
    assert identity_in(certificate(FULL), options) == "0abc"


@pytest.mark.parametrize(
    "der",
    [
        presented(common_names=("Ada", "Grace")),
        presented(x509.RFC822Name("a@b.test"), x509.RFC822Name("c@d.test"), common_names=()),
    ],
    ids=["several", "none"],
)
def test_a_certificate_with_several_names_or_none_names_no_user(der: bytes) -> None:
    leaf = X509CertificateParser().parse_certificate(der)
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
    leaf = X509CertificateParser().parse_certificate(
        presented(common_names=common_names, units=(unit,))
    )
    with pytest.raises(CertificateRejected):
        identity_in(certificate(leaf), BY_NAME)


def test_a_pattern_that_finds_several_names_finds_none() -> None:
    leaf = X509CertificateParser().parse_certificate(presented(common_names=("Ada", "Grace")))
    with pytest.raises(CertificateRejected):
        identity_in(certificate(leaf), BY_NAME)


def test_a_quoted_value_may_stand_beside_the_name() -> None:
    leaf = X509CertificateParser().parse_certificate(presented(units=("Example, Inc.",)))
    assert identity_in(certificate(leaf), BY_NAME) == "Ada"
    of_unit = CertificateOptions(IdentitySource.SUBJECT, 'OU="(.*?)"(?:,|$)')
    assert identity_in(certificate(leaf), of_unit) == "Example, Inc."
    whole = CertificateOptions(IdentitySource.SUBJECT)
    assert identity_in(certificate(leaf), whole) == leaf.subject.legacy_rendering()


def test_a_pattern_reads_a_long_name() -> None:
    leaf = X509CertificateParser().parse_certificate(
        presented(units=("u" * 60, "v" * 60, "w" * 60, "x" * 60))
    )
    assert identity_in(certificate(leaf), BY_NAME) == "Ada"


CANONICAL = CertificateOptions(IdentitySource.SUBJECT, canonical=True)


def test_a_canonical_name_folds_case_and_spaces_as_java_does() -> None:
    leaf = X509CertificateParser().parse_certificate(presented(units=("  Sales,  EMEA ",)))
    email = "1.2.840.113549.1.9.1=#1610616461407375626a6563742e74657374"
    assert identity_in(certificate(leaf), CANONICAL) == f"{email},ou=sales\\, emea,cn=ada"


@pytest.mark.parametrize("unit", ["CN=admin", "CN=admin,", "x, CN=admin, y"])
def test_no_value_of_a_canonical_name_poses_as_another(unit: str) -> None:
    """attacks: A15."""
    leaf = X509CertificateParser().parse_certificate(presented(common_names=(), units=(unit,)))
    options = replace(CANONICAL, pattern="cn=(.*?)(?:,|$)")
    with pytest.raises(CertificateRejected):
        identity_in(certificate(leaf), options)


@pytest.mark.parametrize("name", ["\u212aate", "\uff41da", "A\u0007da", "Ada\n", "A\u200bda"])
def test_look_alike_letters_and_control_characters_name_no_user(name: str) -> None:
    leaf = X509CertificateParser().parse_certificate(presented(common_names=(name,)))
    for options in (CertificateOptions(IdentitySource.COMMON_NAME), CANONICAL):
        with pytest.raises(CertificateRejected):
            identity_in(certificate(leaf), options)


@pytest.mark.parametrize(
    ("required", "refusal"),
    [
        ({"key_usages": ("digitalSignature",)}, None),
        ({"key_usages": ("keyAgreement",)}, "Key Usage bit 'keyAgreement' is not set."),
        ({"extended": ("1.3.6.1.5.5.7.3.2",)}, None),
        ({"extended": ("1.2.3",)}, "Extended Key Usage '1.2.3' is missing."),
        ({"policies": ("1.2.4",)}, None),
        (
            {"policies": ("1.2.4", "1.2.5")},
            "Certificate Policy check failed: mode = ALL, certificate policy '1.2.5' is missing.",
        ),
        ({"policies": ("1.2.4", "1.2.5"), "any_policy": True}, None),
        (
            {"policies": ("1.2.5", "1.2.6"), "any_policy": True},
            (
                "Certificate Policy check failed: mode = ANY, found = '1.2.4',"
                " expected = '1.2.5,1.2.6'."
            ),
        ),
    ],
)
def test_a_certificate_has_the_required_usages_and_policies(
    required: dict[str, Any], refusal: str | None
) -> None:
    usage = CertificateUsage(("digitalSignature",), ("1.3.6.1.5.5.7.3.2",), ("1.2.4",))
    options = CertificateOptions(IdentitySource.COMMON_NAME, **required)
    leaf = replace(FULL, usage=usage)
    if refusal is None:
        assert identity_in(certificate(leaf), options) == "Ada"
        return
    with pytest.raises(CertificateRejected) as found:
        identity_in(certificate(leaf), options)
    assert found.value.text == refusal


@pytest.mark.parametrize(
    ("required", "refusal"),
    [
        (
            {"key_usages": ("digitalSignature",)},
            "Key usage extension is expected, but unavailable.",
        ),
        (
            {"extended": ("1.3.6.1.5.5.7.3.1",)},
            "Extended key usage extension is expected, but unavailable",
        ),
        (
            {"policies": ("1.2.4",)},
            (
                "Certificate Policy validation was expected, but no certificate policy extensions"
                " were found"
            ),
        ),
    ],
)
def test_without_an_extension_nothing_required_is_present(
    required: dict[str, Any], refusal: str
) -> None:
    options = CertificateOptions(IdentitySource.COMMON_NAME, **required)
    leaf = replace(FULL, usage=CertificateUsage(None))
    with pytest.raises(CertificateRejected) as found:
        identity_in(certificate(leaf), options)
    assert found.value.text == refusal


def test_usages_of_a_certificate_are_read_from_extensions() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Ada")])
    policy = x509.PolicyInformation(x509.ObjectIdentifier("1.2.4"), None)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + timedelta(days=1))
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=True,
                key_cert_sign=False,
                crl_sign=False,
                encipher_only=False,
                decipher_only=True,
            ),
            critical=True,
        )
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.CertificatePolicies([policy]), critical=False)
        .sign(key, hashes.SHA256())
    )
    leaf = X509CertificateParser().parse_certificate(made.public_bytes(serialization.Encoding.DER))
    usages = ("digitalSignature", "keyAgreement", "decipherOnly")
    assert leaf.usage == CertificateUsage(usages, ("1.3.6.1.5.5.7.3.2",), ("1.2.4",))
