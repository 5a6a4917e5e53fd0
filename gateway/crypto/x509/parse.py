"""Parsing one client certificate strictly, its names straight from the encoding.

The library's rendering of names leaves newlines raw and some values unescaped, and refuses string
types that real authorities still write (attacks A15). Spec: RFC 5280 §4.1; X.690 §10
"""

import hashlib
from dataclasses import dataclass
from typing import TypeVar

from cryptography import x509

from gateway.crypto.certificates import load_certificate, signed_fields
from gateway.crypto.der import OBJECT_IDENTIFIER, SEQUENCE, SET
from gateway.domain.certificates import CertificateFacts
from gateway.domain.distinguished_names import Attribute, DistinguishedName
from gateway.domain.distinguished_names.der import (
    Element,
    decode_value,
    read_element,
    read_elements,
)
from gateway.domain.ports.certificates import MalformedCertificate

ExtensionT = TypeVar("ExtensionT", bound=x509.ExtensionType)

CONTINUES = SIGN = 0x80
SECOND_ARCS = 40
LONGEST_IDENTIFIER = 64

UNREADABLE = (
    ValueError,
    TypeError,  # for a bit string in a directory name
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


@dataclass(frozen=True, slots=True)
class ParsedCertificate(CertificateFacts):
    """A certificate with what the checks ask of it once.

    `key_digest` is the SHA-256 of its encoded SubjectPublicKeyInfo.
    """

    certificate: x509.Certificate
    extensions: x509.Extensions
    key_digest: bytes

    @property
    def is_self_issued(self) -> bool:
        """Tell whether subject and issuer are the same name. Spec: RFC 5280 §3.2."""
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
        return _parse(der)
    except UNREADABLE as error:
        raise MalformedCertificate(f"not an X.509 certificate: {error}") from error


def encoded_name(der: bytes) -> DistinguishedName:
    """Parse one encoded Name; raises ValueError."""
    return _name(read_element(der))


def names_from_der(der: bytes) -> tuple[DistinguishedName, DistinguishedName]:
    """Return issuer and subject of an encoded certificate; raises ValueError."""
    (_serial, _algorithm, issuer, _validity, subject), _ = signed_fields(der)
    return _name(issuer), _name(subject)


def _parse(der: bytes) -> ParsedCertificate:
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
    )


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
