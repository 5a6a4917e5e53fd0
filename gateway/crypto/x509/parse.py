"""Parsing one client certificate strictly, its subject straight from the encoding.

The name is read by our own reader: the library's rendering leaves newlines raw and some values
unescaped, and refuses string types that real authorities still write (attacks A15).

Spec: RFC 5280 §4.1; X.690 §10 (distinguished encoding)
"""

import hashlib
from dataclasses import dataclass

from cryptography import x509

from gateway.domain.distinguished_names import Attribute, DistinguishedName
from gateway.domain.distinguished_names.der import (
    Element,
    decode_value,
    read_element,
    read_elements,
)
from gateway.domain.ports.certificates import MalformedCertificate

LARGEST = 64 * 1024

SEQUENCE, SET, OBJECT_IDENTIFIER, EXPLICIT_VERSION = 0x30, 0x31, 0x06, 0xA0
CONTINUES = 0x80
SECOND_ARCS = 40
LONGEST_IDENTIFIER = 64


@dataclass(frozen=True, slots=True)
class ParsedCertificate:
    """A certificate with what the checks ask of it."""

    certificate: x509.Certificate
    extensions: x509.Extensions
    subject: DistinguishedName
    der: bytes
    digest: bytes
    """SHA-256 of the encoding."""


def parse_certificate(der: bytes) -> ParsedCertificate:
    """Parse exactly one certificate; raises MalformedCertificate."""
    if len(der) > LARGEST:
        raise MalformedCertificate(f"certificate of {len(der)} bytes, {LARGEST} are allowed")
    try:
        certificate = x509.load_der_x509_certificate(der)
        return ParsedCertificate(
            certificate,
            certificate.extensions,
            names_from_der(der)[1],
            der,
            hashlib.sha256(der).digest(),
        )
    except (ValueError, x509.DuplicateExtension, x509.InvalidVersion) as error:
        raise MalformedCertificate(f"not an X.509 certificate: {error}") from error


def names_from_der(der: bytes) -> tuple[DistinguishedName, DistinguishedName]:
    """Return issuer and subject of an encoded certificate; raises ValueError."""
    certificate = _content(read_element(der), SEQUENCE)
    to_be_signed = read_elements(_content(read_element(certificate), SEQUENCE))
    if to_be_signed[0].tag == EXPLICIT_VERSION:
        to_be_signed = to_be_signed[1:]
    _serial, _algorithm, issuer, _validity, subject = to_be_signed[:5]
    return _name(issuer), _name(subject)


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
