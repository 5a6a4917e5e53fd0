"""Issuing certificates and revocation lists, as the development PKI needs them.

Spec: RFC 5280 §4.2 (which extensions, which of them critical), §5.2
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gateway.domain.errors import RealmgateError

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

ORGANIZATION = "Realmgate Demonstration"
LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
DNS_NAME = re.compile(rf"(?=.{{1,253}}$)(\*\.)?{LABEL}(\.{LABEL})*", re.ASCII)
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]{1,2000}", re.ASCII)
CLOCK_SKEW = timedelta(minutes=5)
"""The validity begins slightly in the past, for peers with a slow clock."""


class PkiRefused(RealmgateError):
    """The PKI cannot do what was requested; nothing was changed. `str()` is the reason."""


class KeyAlgorithm(StrEnum):
    """Kinds of keys of servers and clients: ECDSA on P-256, or RSA with 2048 bits."""

    ECDSA = "ecdsa"
    RSA = "rsa"


class CertificatePurpose(StrEnum):
    """Which side of a TLS connection a certificate is for."""

    CLIENT = "client"
    SERVER = "server"


PURPOSE_OIDS = {
    CertificatePurpose.CLIENT: ExtendedKeyUsageOID.CLIENT_AUTH,
    CertificatePurpose.SERVER: ExtendedKeyUsageOID.SERVER_AUTH,
}


@dataclass(frozen=True, slots=True)
class IssuingAuthority:
    """A certification authority: its certificate, and the key it signs with."""

    certificate: x509.Certificate
    key: PrivateKey


@dataclass(frozen=True, slots=True)
class ValidityPeriod:
    """The instants between which a certificate or a revocation list is valid."""

    begin: datetime
    end: datetime

    @classmethod
    def starting(cls, now: datetime, lifetime: timedelta) -> "ValidityPeriod":
        """Return the validity of something issued now."""
        whole_seconds = now.replace(microsecond=0)
        return cls(whole_seconds - CLOCK_SKEW, whole_seconds + lifetime)


def generate_key(algorithm: KeyAlgorithm) -> PrivateKey:
    """Generate a key of the kind."""
    if algorithm is KeyAlgorithm.RSA:
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1())


def generate_authority_key() -> PrivateKey:
    """Generate an RSA key of 3072 bits, fast to verify (docs/performance-analysis.md)."""
    return rsa.generate_private_key(public_exponent=65537, key_size=3072)


def name(common_name: str, unit: str | None = None) -> x509.Name:
    """Return `CN=common_name[,OU=unit],O=Realmgate Demonstration`."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION)]
    if unit is not None:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit))
    attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    return x509.Name(attributes)


def host_name(text: str) -> x509.GeneralName:
    """Return the alternative name of a DNS name or an IP address; raises PkiRefused."""
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        if not DNS_NAME.fullmatch(text):
            raise PkiRefused(f"{text!r} is neither a DNS name nor an IP address") from None
        return x509.DNSName(text)


def uri_name(text: str) -> x509.GeneralName:
    """Return the alternative name of an absolute URI; raises PkiRefused."""
    if not URI.fullmatch(text):
        raise PkiRefused(f"{text!r} is not an absolute URI")
    return x509.UniformResourceIdentifier(text)


def issue_root(subject: x509.Name, key: PrivateKey, validity: ValidityPeriod) -> IssuingAuthority:
    """Issue a self-signed authority that may have one level of authorities below it."""
    return IssuingAuthority(
        _authority_certificate(subject, key, None, validity, path_length=1), key
    )


def issue_authority(
    issuer: IssuingAuthority, subject: x509.Name, key: PrivateKey, validity: ValidityPeriod
) -> IssuingAuthority:
    """Issue an authority that may issue end-entity certificates only."""
    return IssuingAuthority(
        _authority_certificate(subject, key, issuer, validity, path_length=0), key
    )


def issue_end_entity(
    issuer: IssuingAuthority,
    subject: x509.Name,
    public_key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
    validity: ValidityPeriod,
    *,
    purpose: CertificatePurpose,
    alternative_names: Sequence[x509.GeneralName] = (),
) -> x509.Certificate:
    """Issue a certificate for a TLS client or server."""
    builder = (
        _builder(subject, public_key, issuer.certificate.subject, validity)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_end_entity_key_usage(public_key, purpose), critical=True)
        .add_extension(x509.ExtendedKeyUsage([PURPOSE_OIDS[purpose]]), critical=False)
        .add_extension(_authority_key_identifier(issuer.certificate), critical=False)
    )
    if alternative_names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName(alternative_names), critical=False
        )
    return builder.sign(issuer.key, hashes.SHA256())


def issue_revocation_list(
    issuer: IssuingAuthority,
    revoked: Sequence[x509.RevokedCertificate],
    number: int,
    validity: ValidityPeriod,
) -> x509.CertificateRevocationList:
    """Issue a complete revocation list of `issuer`."""
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(issuer.certificate.subject)
        .last_update(validity.begin)
        .next_update(validity.end)
        .add_extension(_authority_key_identifier(issuer.certificate), critical=False)
        .add_extension(x509.CRLNumber(number), critical=False)
    )
    for entry in revoked:
        builder = builder.add_revoked_certificate(entry)
    return builder.sign(issuer.key, hashes.SHA256())


def _authority_certificate(
    subject: x509.Name,
    key: PrivateKey,
    issuer: IssuingAuthority | None,
    validity: ValidityPeriod,
    *,
    path_length: int,
) -> x509.Certificate:
    issuer_name = subject if issuer is None else issuer.certificate.subject
    builder = (
        _builder(subject, key.public_key(), issuer_name, validity)
        .add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
    )
    if issuer is not None:
        builder = builder.add_extension(
            _authority_key_identifier(issuer.certificate), critical=False
        )
    return builder.sign(key if issuer is None else issuer.key, hashes.SHA256())


def _builder(
    subject: x509.Name,
    public_key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
    issuer: x509.Name,
    validity: ValidityPeriod,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.begin)
        .not_valid_after(validity.end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _authority_key_identifier(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _end_entity_key_usage(
    public_key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey, purpose: CertificatePurpose
) -> x509.KeyUsage:
    # TLS 1.2 suites with RSA key transport need keyEncipherment on the server's certificate.
    key_transport = purpose is CertificatePurpose.SERVER and isinstance(
        public_key, rsa.RSAPublicKey
    )
    return _key_usage(authority=False, key_encipherment=key_transport)


def _key_usage(*, authority: bool, key_encipherment: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=key_encipherment,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )
