"""The PKI of `realmgate certs init`, and a zoo of certificates: one of each way to be wrong.

All keys are ECDSA but the weak one, so the whole zoo is made in a fraction of a second.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gateway.crypto.x509.development_pki import (
    ISSUING,
    create_pki,
    read_authority,
    revoke_certificate,
)
from gateway.crypto.x509.issuing import (
    ORGANIZATION,
    IssuingAuthority,
    KeyAlgorithm,
    ValidityPeriod,
    generate_authority_key,
    generate_key,
    issue_root,
    name,
)
from gateway.crypto.x509.parse import CURVE_ORDERS

LeafKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
DAY = timedelta(days=1)
Extension = tuple[x509.ExtensionType, bool]

CLIENT = (ExtendedKeyUsageOID.CLIENT_AUTH,)
SERVER = (ExtendedKeyUsageOID.SERVER_AUTH,)

ODD_SUBJECTS: Mapping[str, Sequence[Sequence[tuple[x509.ObjectIdentifier, str]]]] = {
    "subject two CNs": [[(NameOID.COMMON_NAME, "bob")], [(NameOID.COMMON_NAME, "admin")]],
    "subject CN with slash": [[(NameOID.COMMON_NAME, "bob/CN=admin")]],
    "subject CN with comma": [[(NameOID.COMMON_NAME, "bob,CN=admin")]],
    "subject multi-valued": [
        [(NameOID.COMMON_NAME, "bob"), (NameOID.ORGANIZATIONAL_UNIT_NAME, "Devices")]
    ],
    "subject two CNs in one": [[(NameOID.COMMON_NAME, "bob"), (NameOID.COMMON_NAME, "admin")]],
    "subject newline": [[(NameOID.COMMON_NAME, "bob\nCN=admin")]],
    "subject NUL": [[(NameOID.COMMON_NAME, "device-1\0.evil")]],
    "subject Cyrillic": [[(NameOID.COMMON_NAME, "\u0430dmin")]],
    "subject empty": [],
    "subject 1 kB": [[(NameOID.COMMON_NAME, "b" * 1024)]],
}
WEAK_RSA_BITS = 1024
HUGE = {"huge 13 kB": 13_000, "huge 25 kB": 25_000, "huge 91 kB": 91_000}


@dataclass(frozen=True, slots=True)
class ZooCertificate:
    """One certificate of the zoo: PEM files, and the DER."""

    certificate: Path
    key: Path
    der: bytes


@dataclass(frozen=True, slots=True)
class Zoo:
    """The PKI in `directory`, and every other certificate by its kind."""

    directory: Path
    animals: Mapping[str, ZooCertificate]

    def __getitem__(self, kind: str) -> ZooCertificate:
        return self.animals[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self.animals)


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that `realmgate certs init` makes; leave it as it is."""
    directory = tmp_path_factory.mktemp("pki") / "certs"
    create_pki(directory, now=datetime.now(UTC))
    return directory


@pytest.fixture(scope="session")
def certificate_zoo(tmp_path_factory: pytest.TempPathFactory) -> Zoo:
    """Return a PKI of its own with good, bad and odd certificates around it."""
    return make_zoo(tmp_path_factory.mktemp("zoo"), datetime.now(UTC))


def make_zoo(folder: Path, now: datetime) -> Zoo:
    """Make the zoo: the PKI in `folder`/certs, the animals in `folder`."""
    # The host of the protected sites of tests is among the names of the server certificate.
    create_pki(folder / "certs", names=("app.example.test",), now=now)
    keeper = CertificateKeeper(folder, read_authority(folder / "certs", ISSUING), now)
    keeper.issued_by_the_pki()
    keeper.issued_by_strangers()
    keeper.self_signed()
    keeper.odd_subjects()
    return Zoo(folder / "certs", keeper.animals)


class CertificateKeeper:
    """Issues certificates, right and wrong ones, and files them by kind."""

    def __init__(self, folder: Path, issuing: IssuingAuthority, now: datetime) -> None:
        self.folder, self.issuing, self.now = folder, issuing, now
        self.current = ValidityPeriod(now - DAY, now + DAY)
        self.animals: dict[str, ZooCertificate] = {}

    def issued_by_the_pki(self) -> None:
        self.add("valid")
        self.add("valid without extensions", purposes=None, extensions=[])
        self.add("valid Ed25519", key=ed25519.Ed25519PrivateKey.generate())
        self.add("expired", validity=ValidityPeriod(self.now - 2 * DAY, self.now - DAY))
        self.add("not yet valid", validity=ValidityPeriod(self.now + DAY, self.now + 2 * DAY))
        self.add("wrong EKU", purposes=SERVER)
        self.add("key usage without signing", extensions=[(_key_usage(signing=False), True)])
        self.add("CA:TRUE", extensions=[(x509.BasicConstraints(ca=True, path_length=None), True)])
        unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\5\0")
        self.add("unknown critical extension", extensions=[(unknown, True)])
        self.add("weak key", key=rsa.generate_private_key(65537, WEAK_RSA_BITS))
        self.add("weak curve", key=ec.generate_private_key(ec.SECP192R1()))
        for kind, size in HUGE.items():
            self.add(kind, extensions=[_padding(size)])
        self.add("revoked")
        revoke_certificate(
            self.folder / "certs",
            x509.load_der_x509_certificate(self.animals["revoked"].der),
            now=self.now,
        )

    def issued_by_strangers(self) -> None:
        stranger = self._authority(name("Stranger CA"))
        impostor = self._authority(self.issuing.certificate.subject)
        self.add("unknown CA", issuer=stranger)
        self.add("unknown CA, server EKU", issuer=stranger, purposes=SERVER)
        self.add("same-named CA with another key", issuer=impostor)

    def self_signed(self) -> None:
        self.add("self-signed", self_signed=True)
        authority = (x509.BasicConstraints(ca=True, path_length=None), True)
        self.add("self-signed CA:TRUE", self_signed=True, extensions=[authority])
        past = ValidityPeriod(self.now - 2 * DAY, self.now - DAY)
        self.add("self-signed expired", self_signed=True, validity=past)

    def odd_subjects(self) -> None:
        for kind, relative_names in ODD_SUBJECTS.items():
            self.add(kind, subject=odd_name(relative_names))

    def add(
        self,
        kind: str,
        *,
        subject: x509.Name | None = None,
        key: LeafKey | None = None,
        issuer: IssuingAuthority | None = None,
        self_signed: bool = False,
        validity: ValidityPeriod | None = None,
        purposes: Sequence[x509.ObjectIdentifier] | None = CLIENT,
        extensions: Sequence[Extension] | None = None,
    ) -> None:
        """Issue a certificate that is right except for what is given."""
        key = key or generate_key(KeyAlgorithm.ECDSA)
        authority = issuer or self.issuing
        subject = name("device-1", "Devices") if subject is None else subject
        validity = validity or self.current
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if self_signed else authority.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(validity.begin.replace(microsecond=0))
            .not_valid_after(validity.end.replace(microsecond=0))
        )
        if purposes is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        for extension, critical in extensions or ():
            builder = builder.add_extension(extension, critical=critical)
        signer = key if self_signed else authority.key
        digest = None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()
        self._file(kind, builder.sign(signer, digest), key)

    def _authority(self, subject: x509.Name) -> IssuingAuthority:
        return issue_root(subject, generate_authority_key(), self.current)

    def _file(self, kind: str, certificate: x509.Certificate, key: LeafKey) -> None:
        stem = "".join(letter if letter.isalnum() else "-" for letter in kind)
        animal = ZooCertificate(
            self.folder / f"{stem}.crt",
            self.folder / f"{stem}.key",
            certificate.public_bytes(Encoding.DER),
        )
        animal.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
        animal.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        self.animals[kind] = animal


def odd_name(
    relative_names: Sequence[Sequence[tuple[x509.ObjectIdentifier, str]]],
) -> x509.Name:
    """Return a name below the demonstration's organization, without the library's checks."""
    if not relative_names:
        return x509.Name([])
    organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION)
    return x509.Name(
        [
            x509.RelativeDistinguishedName([organization]),
            *(
                x509.RelativeDistinguishedName([_attribute(oid, value) for oid, value in pairs])
                for pairs in relative_names
            ),
        ]
    )


def _attribute(oid: x509.ObjectIdentifier, value: str) -> x509.NameAttribute[str]:
    attribute = x509.NameAttribute(oid, value[:64])
    attribute._value = value
    return attribute


def _padding(size: int) -> Extension:
    names = [x509.DNSName(f"{number:0>57}.test") for number in range(size // 64)]
    return x509.SubjectAlternativeName(names), False


def _key_usage(*, signing: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=signing,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def with_other_signature(
    certificate: x509.Certificate, order: int = CURVE_ORDERS[0]
) -> x509.Certificate:
    """Return the certificate with (r, n - s) for its signature (r, s); n is the curve's order."""
    r, s = decode_dss_signature(certificate.signature)
    other = encode_dss_signature(r, order - s)
    before = certificate.public_bytes(Encoding.DER)[4:]
    length = 2 if len(certificate.signature) < 127 else 3
    signed = before[: -len(certificate.signature) - 1 - length]
    size = bytes((len(other) + 1,)) if len(other) < 127 else bytes((0x81, len(other) + 1))
    content = signed + b"\x03" + size + b"\0" + other
    return x509.load_der_x509_certificate(b"\x30\x82" + len(content).to_bytes(2) + content)
