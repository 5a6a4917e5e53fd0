"""Parsing of client certificates and stored certificates, and their description for people.

The library's rendering of names leaves newlines raw and some values unescaped, and refuses string
types that real authorities still write (attacks A15), so names are read from the encoding.
Spec: RFC 5280 §4.1; RFC 7517 §4.7; RFC 8705 §3.1 (`x5t#S256`); X.690 §10
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from urllib.parse import unquote_to_bytes

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.crypto import public_keys
from gateway.crypto.client_keys import keys_of
from gateway.crypto.der import (
    BIT_STRING,
    CERTIFICATE_LABELS,
    OBJECT_IDENTIFIER,
    SEQUENCE,
    SET,
    DerReader,
    is_pem,
    pem_blocks,
    unwrap,
)
from gateway.crypto.public_keys import load_certificate, signed_fields
from gateway.crypto.x509.issuing import PkiRefused
from gateway.domain import base64url
from gateway.domain.certificates import CertificateFacts
from gateway.domain.distinguished_names import (
    Attribute,
    DistinguishedName,
    Element,
    decode_value,
    encode_element,
    read_element,
    read_elements,
)
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.domain.ports.client_keys import NoUsableKey

ExtensionT = TypeVar("ExtensionT", bound=x509.ExtensionType)

CONTINUES = SIGN = 0x80
SECOND_ARCS = 40
LONGEST_IDENTIFIER = 64
_ECDSA_WITH_SHA2 = "1.2.840.10045.4.3."
CURVE_ORDERS = (
    0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973,
    2**521 - 0x5AE79787C40D069948033FEB708F65A2FC44A36477663B851449048E16EC79BF7,
)
"""The numbers n of P-256, P-384 and P-521. Spec: SP 800-186 §3.2.1"""

UNREADABLE = (
    ValueError,
    TypeError,  # for a bit string in a directory name
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


@dataclass(frozen=True, slots=True)
class ParsedCertificate(CertificateFacts):
    """A certificate with values computed once; `key_digest` is SHA-256 of its encoded key."""

    certificate: x509.Certificate
    extensions: x509.Extensions
    key_digest: bytes

    @property
    def is_self_issued(self) -> bool:
        """Return whether subject and issuer are the same name. Spec: RFC 5280 §3.2."""
        return self.subject == self.issuer

    @property
    def facts(self) -> CertificateFacts:
        """Return the facts alone, in a tenth of the memory."""
        return CertificateFacts(
            issuer=self.issuer,
            subject=self.subject,
            serial=self.serial,
            not_before=self.not_before,
            not_after=self.not_after,
            digest=self.digest,
            twin_digest=self.twin_digest,
        )

    def extension(self, kind: type[ExtensionT]) -> ExtensionT | None:
        """Return the extension of a type; None where there is none."""
        try:
            return self.extensions.get_extension_for_class(kind).value
        except x509.ExtensionNotFound:
            return None


def parse_certificate(der: bytes) -> ParsedCertificate:
    """Parse exactly one certificate; raises MalformedCertificate."""
    try:
        return _parse_certificate(der)
    except UNREADABLE as error:
        raise MalformedCertificate(f"not an X.509 certificate: {error}") from error


def encoded_name(der: bytes) -> DistinguishedName:
    """Parse one encoded Name; raises ValueError."""
    return _name(read_element(der))


def names_from_der(der: bytes) -> tuple[DistinguishedName, DistinguishedName]:
    """Return issuer and subject of an encoded certificate; raises ValueError."""
    (_serial, _algorithm, issuer, _validity, subject), _ = signed_fields(der)
    return _name(issuer), _name(subject)


def _parse_certificate(der: bytes) -> ParsedCertificate:
    (serial_number, _algorithm, issuer, _validity, subject), key = signed_fields(der)
    serial = serial_number.content
    # The library only warns of these today.
    if not serial.strip(b"\0") or serial[0] & SIGN:
        raise ValueError("serial number is not positive")
    certificate = load_certificate(der)
    # The count of unused bits before the signature is not signed: one certificate, one encoding.
    if der[-len(certificate.signature) - 1] != 0:
        raise ValueError("signature is not whole octets")
    return ParsedCertificate(
        certificate=certificate,
        extensions=certificate.extensions,
        key_digest=hashlib.sha256(key).digest(),
        issuer=_name(issuer),
        subject=_name(subject),
        serial=certificate.serial_number,
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        digest=hashlib.sha256(der).digest(),
        twin_digest=twin_digest(certificate, der),
    )


def twin_digest(certificate: x509.Certificate, der: bytes) -> bytes:
    """Return the SHA-256 of the encoding with the other ECDSA signature; empty for other kinds.

    With (r, s) also (r, n - s) verifies; n is the order of the smallest curve that fits. Spec: SEC
    1 §4.1.4
    """
    if not certificate.signature_algorithm_oid.dotted_string.startswith(_ECDSA_WITH_SHA2):
        return b""
    r, s = decode_dss_signature(certificate.signature)
    order = next((each for each in CURVE_ORDERS if 0 < max(r, s) < each), None)
    if order is None or s <= 0:
        return b""
    reader = DerReader(der).enter(SEQUENCE)
    signed = reader.encoded(SEQUENCE) + reader.encoded(SEQUENCE)
    signature = encode_element(BIT_STRING, b"\0" + encode_dss_signature(r, order - s))
    return hashlib.sha256(encode_element(SEQUENCE, signed + signature)).digest()


def _name(element: Element) -> DistinguishedName:
    return DistinguishedName(
        tuple(
            tuple(map(_attribute, read_elements(_content(relative_name, SET))))
            for relative_name in read_elements(_content(element, SEQUENCE))
        )
    )


def _attribute(element: Element) -> Attribute:
    content = _content(element, SEQUENCE)
    kind = read_element(content)
    return Attribute(
        _object_identifier(_content(kind, OBJECT_IDENTIFIER)), decode_value(content[kind.end :])
    )


def _content(element: Element, tag: int) -> bytes:
    if element.tag != tag:
        raise ValueError(f"DER tag {element.tag:#x} where {tag:#x} belongs")
    return element.content


def _object_identifier(content: bytes) -> str:
    if not content or content[-1] & CONTINUES or len(content) > LONGEST_IDENTIFIER:
        raise ValueError("object identifier is cut short or too long")
    arcs: list[int] = []
    value = 0
    for byte in content:
        value = value << 7 | byte & ~CONTINUES
        if not byte & CONTINUES:
            arcs.append(value)
            value = 0
    first = min(arcs[0] // SECOND_ARCS, 2)
    return ".".join(map(str, (first, arcs[0] - SECOND_ARCS * first, *arcs[1:])))


ESCAPED_BEGINNING = b"-----BEGIN%20"

ALTERNATIVE_NAMES: dict[type[x509.GeneralName], str] = {
    x509.DNSName: "DNS",
    x509.UniformResourceIdentifier: "URI",
    x509.IPAddress: "IP",
    x509.RFC822Name: "email",
    x509.DirectoryName: "DN",
}


@dataclass(frozen=True, slots=True)
class CertificateDescription:
    """The facts of one certificate in the forms that settings and claims use."""

    subject: str
    subject_alternative_names: tuple[str, ...]
    issuer: str
    serial: str
    not_before: datetime
    not_after: datetime
    key: str
    sha256: str
    x5t_s256: str


def load_any_certificate(data: bytes) -> x509.Certificate:
    """Read the first certificate of PEM, URL-escaped PEM or DER; raises ValueError."""
    text = data.strip().strip(b'"')
    if ESCAPED_BEGINNING in text:
        text = unquote_to_bytes(text)
    try:
        der = next(iter(pem_blocks(text, *CERTIFICATE_LABELS)), b"") if is_pem(text) else data
        return public_keys.load_certificate(der)
    except x509.InvalidVersion as error:
        raise ValueError(str(error)) from error


def describe(certificate: x509.Certificate) -> CertificateDescription:
    """Describe `certificate`; raises PkiRefused when its names or key cannot be read."""
    try:
        return _described(certificate)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise PkiRefused(f"the certificate cannot be described: {error}") from error


def _described(certificate: x509.Certificate) -> CertificateDescription:
    der = certificate.public_bytes(Encoding.DER)
    issuer, subject = names_from_der(der)
    thumbprint = hashlib.sha256(der).digest()
    return CertificateDescription(
        subject=subject.rfc4514(),
        subject_alternative_names=_alternative_names(certificate),
        issuer=issuer.rfc4514(),
        serial=f"{certificate.serial_number:x}",
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        key=_key(certificate),
        sha256=thumbprint.hex(),
        x5t_s256=base64url.encode(thumbprint),
    )


def _alternative_names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(map(_alternative_name, extension.value))


def _alternative_name(name: x509.GeneralName) -> str:
    kind = ALTERNATIVE_NAMES.get(type(name), type(name).__name__)
    value = name.value.rfc4514_string() if isinstance(name.value, x509.Name) else str(name.value)
    # The maker of a certificate chooses the text; it must not control the reader's terminal.
    return f"{kind}:{value if value.isprintable() else ascii(value)}"


def _key(certificate: x509.Certificate) -> str:
    match certificate.public_key():
        case rsa.RSAPublicKey() as key:
            return f"RSA {key.key_size} bits"
        case ec.EllipticCurvePublicKey() as key:
            return f"EC {key.curve.name}"
        case key:
            return type(key).__name__.removesuffix("PublicKey")


class X509Inspector:
    """Reads PEM, URL-escaped PEM as nginx sends it, and DER."""

    def split(self, data: bytes) -> tuple[bytes, ...]:
        text = data.strip().strip(b'"')
        if ESCAPED_BEGINNING in text:
            text = unquote_to_bytes(text)
        try:
            found = tuple(pem_blocks(text, *CERTIFICATE_LABELS)) if is_pem(text) else (data,)
        except ValueError as error:
            raise MalformedCertificate(f"not PEM: {error}") from error
        if not found or not found[0]:
            raise MalformedCertificate("no certificate in PEM or DER")
        return found

    def describe_key(self, der: bytes) -> str:
        try:
            return describe(load_any_certificate(der)).key
        except (PkiRefused, ValueError) as error:
            raise MalformedCertificate(str(error)) from error


class StoredCertificateReader:
    """CertificateReader on the library."""

    def read_certificates(self, content: str) -> tuple[CertificateFacts, ...]:
        found = {}
        for text in _texts(content):
            try:
                facts = parse_certificate(unwrap(text.encode(), *CERTIFICATE_LABELS)).facts
            except (ValueError, MalformedCertificate):
                continue
            found[facts.digest] = facts
        return tuple(found.values())


def _texts(content: str) -> Iterator[str]:
    if not content.lstrip().startswith("{"):
        yield content
        return
    try:
        keys = keys_of(content)
    except NoUsableKey:
        return
    for key in keys:
        chain = key.get("x5c")
        if isinstance(chain, list) and chain and isinstance(chain[0], str):
            yield chain[0]
