"""The canonical form of a distinguished name, as Java's `X500Principal.getName(CANONICAL)`.

It folds case and spaces, and normalizes characters to NFKD. A type that is not in RFC 2253 is
written as its object identifier, with the DER of its value in hexadecimal: as an IA5String or
PrintableString where the type prescribes it, and as a UTF8String elsewhere, whichever string type
the certificate has. In a multi-valued relative name these types come last.
Keycloak: 11.2 (`x509-cert-auth.canonical-dn-enabled`). Spec: RFC 2253 §2
"""

import unicodedata
from dataclasses import dataclass

from gateway.domain.distinguished_names.attributes import Attribute
from gateway.domain.distinguished_names.der import (
    IA5_STRING,
    PRINTABLE_STRING,
    UTF8_STRING,
    encode_text,
)
from gateway.domain.distinguished_names.name import DistinguishedName

_KEYWORDS = {
    "2.5.4.3": "cn",
    "2.5.4.6": "c",
    "2.5.4.7": "l",
    "2.5.4.8": "st",
    "2.5.4.9": "street",
    "2.5.4.10": "o",
    "2.5.4.11": "ou",
    "0.9.2342.19200300.100.1.1": "uid",
    "0.9.2342.19200300.100.1.25": "dc",
}
"""Spec: RFC 2253 §2.3"""
_STRING_TYPES = {
    "0.9.2342.19200300.100.1.25": IA5_STRING,  # domainComponent
    "1.2.840.113549.1.9.1": IA5_STRING,  # emailAddress
    "2.5.4.5": PRINTABLE_STRING,  # serialNumber
    "2.5.4.46": PRINTABLE_STRING,  # dnQualifier
    "1.3.6.1.4.1.311.60.2.1.3": PRINTABLE_STRING,  # jurisdictionCountryName
}
"""Spec: RFC 5280 appendix A.1.

Source: guidelines of the CA/Browser Forum for extended validation, 9.2.
"""
_ESCAPED = frozenset(',+<>;"\\')


@dataclass(frozen=True, slots=True)
class CanonicalName:
    """The text, and the places in it of values that could be read as further attributes."""

    text: str
    ambiguous: tuple[tuple[int, int], ...]


def canonical_name_of(name: DistinguishedName) -> CanonicalName:
    """Return the canonical form, least significant relative name first."""
    text, ambiguous = "", []
    for place, rdn in enumerate(reversed(name.relative_names)):
        for position, (keyword, value) in enumerate(sorted(map(_written, rdn), key=_java_order)):
            text += "+" if position else "," if place else ""
            text += f"{keyword}="
            if _ESCAPED & set(value) or "=" in value:
                ambiguous.append((len(text), len(text) + len(value)))
            text += value
    return CanonicalName(text, tuple(ambiguous))


def _java_order(written: tuple[str, str]) -> tuple[bool, tuple[str, str]]:
    keyword, _ = written
    return keyword[0].isdigit(), written


def _written(attribute: Attribute) -> tuple[str, str]:
    """Return the type and the value; both are normalized."""
    keyword, value = _KEYWORDS.get(attribute.oid), attribute.value
    if isinstance(value, bytes):
        return keyword or attribute.oid, f"#{value.hex()}"
    if keyword is None or attribute.oid in _STRING_TYPES:
        encoded = encode_text(value, _STRING_TYPES.get(attribute.oid, UTF8_STRING))
        return keyword or attribute.oid, f"#{encoded.hex()}"
    escaped = "".join(f"\\{each}" if each in _ESCAPED else each for each in _spaced(value))
    start = "\\" if escaped.startswith("#") else ""
    return keyword, unicodedata.normalize("NFKD", (start + escaped).upper().lower())


def _spaced(text: str) -> str:
    return " ".join(text.split())
