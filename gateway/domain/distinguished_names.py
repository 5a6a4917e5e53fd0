"""X.500 names as parsed values: parsed from text and DER, written, compared without string tricks.

Parsing accepts what older software writes: spaces around separators, `;` between relative names,
quoted values, `OID.` before an object identifier.

The canonical form is that of Java's `X500Principal.getName(CANONICAL)`. It folds case and spaces,
and normalizes characters to NFKD. A type that is not in RFC 2253 is written as its object
identifier, with the DER of its value in hexadecimal: as an IA5String or PrintableString where the
type prescribes it, and as a UTF8String elsewhere, whichever string type the certificate has. In a
multi-valued relative name these types come last.

Spec: RFC 4514 §2, §3 (table), RFC 4519, RFC 2253 §2, §4 (the older forms are read too), RFC 5280
§4.1.2.4 (DirectoryString), §4.1.2.6; X.690 §8, §10; X.680 for the older string types; RFC 8705
§2.1.2, §7.4. Keycloak: `x509.subjectdn`, `x509.allow.regex.pattern.comparison`, which looks at
Java's legacy form; 11.2 (`x509-cert-auth.canonical-dn-enabled`); SERIALNUMBER, BUSINESSCATEGORY,
JURISDICTIONCOUNTRYNAME, EMAILADDRESS and E are understood besides; the rest is what Java reads.
"""

import re
import string
import unicodedata
from dataclasses import dataclass

from gateway.domain.limits.patterns import Verdict, matches_at_once

COMMON_NAME = "2.5.4.3"

KEYWORDS = {
    "CN": COMMON_NAME,
    "SURNAME": "2.5.4.4",
    "SERIALNUMBER": "2.5.4.5",
    "C": "2.5.4.6",
    "L": "2.5.4.7",
    "ST": "2.5.4.8",
    "STREET": "2.5.4.9",
    "O": "2.5.4.10",
    "OU": "2.5.4.11",
    "T": "2.5.4.12",
    "BUSINESSCATEGORY": "2.5.4.15",
    "GIVENNAME": "2.5.4.42",
    "INITIALS": "2.5.4.43",
    "GENERATION": "2.5.4.44",
    "DNQUALIFIER": "2.5.4.46",
    "UID": "0.9.2342.19200300.100.1.1",
    "DC": "0.9.2342.19200300.100.1.25",
    "EMAILADDRESS": "1.2.840.113549.1.9.1",
    "JURISDICTIONCOUNTRYNAME": "1.3.6.1.4.1.311.60.2.1.3",
}
ALIASES = {"E": "EMAILADDRESS", "EMAIL": "EMAILADDRESS", "S": "ST", "TITLE": "T"}
UNKNOWN_TO_LEGACY_FORM = frozenset({"BUSINESSCATEGORY", "JURISDICTIONCOUNTRYNAME"})
KEYWORD_OF = {oid: keyword for keyword, oid in KEYWORDS.items()}

DOTTED = re.compile(r"[0-2](\.(0|[1-9][0-9]{0,38})){1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute: dotted type; text of any string type is `str`, another value its DER."""

    oid: str
    value: str | bytes


def type_from_text(text: str) -> str:
    """Return the object identifier that a keyword, `1.2.3` or `OID.1.2.3` stands for."""
    keyword = text.upper()
    dotted = keyword.removeprefix("OID.")
    if DOTTED.fullmatch(dotted):
        return dotted
    oid = KEYWORDS.get(ALIASES.get(keyword, keyword))
    if oid is None:
        raise ValueError(
            f"unknown attribute type {text!r} (write it as a dotted object identifier)"
        )
    return oid


CHARACTER_SETS = {
    0x0C: "utf-8",  # UTF8String
    0x12: "ascii",  # NumericString
    0x13: "ascii",  # PrintableString
    0x14: "latin-1",  # TeletexString: written, and read by Java, as Latin-1
    0x16: "ascii",  # IA5String
    0x1A: "ascii",  # VisibleString
    0x1C: "utf-32-be",  # UniversalString
    0x1E: "utf-16-be",  # BMPString
}
OBJECT_IDENTIFIER = 0x06
UTF8_STRING = 0x0C
PRINTABLE_STRING = 0x13
IA5_STRING = 0x16
SHORT_LENGTH = 0x80
MULTIBYTE_TAG = 0x1F
LONGEST_LENGTH = 4
_ARCS = 40
"""Second arcs of a first one, which share its octet."""
_SEVEN_BITS = 0x7F


@dataclass(frozen=True, slots=True)
class Element:
    """One tag, its content, and where the next element begins."""

    tag: int
    content: bytes
    end: int


def read_element(data: bytes, start: int = 0) -> Element:
    """Read the element at `start`; raises ValueError unless it is whole and of definite length."""
    if len(data) < start + 2:
        raise ValueError("DER element is cut short")
    tag, first = data[start], data[start + 1]
    if tag & MULTIBYTE_TAG == MULTIBYTE_TAG:
        raise ValueError("DER tag of more than one byte")
    begin, length = start + 2, first
    if first >= SHORT_LENGTH:
        begin, length = _long_length(data, start + 2, first - SHORT_LENGTH)
    if begin + length > len(data):
        raise ValueError("DER element is cut short")
    return Element(tag, data[begin : begin + length], begin + length)


def _long_length(data: bytes, start: int, size: int) -> tuple[int, int]:
    length_bytes = data[start : start + size]
    if not 0 < size <= LONGEST_LENGTH or len(length_bytes) < size:
        raise ValueError("DER length is not definite or too long")
    length = int.from_bytes(length_bytes, "big")
    if length < SHORT_LENGTH or length_bytes[0] == 0:
        raise ValueError("DER length is not the shortest")
    return start + size, length


def read_elements(data: bytes) -> tuple[Element, ...]:
    """Read all elements that stand one after another in `data`."""
    elements = []
    position = 0
    while position < len(data):
        element = read_element(data, position)
        elements.append(element)
        position = element.end
    return tuple(elements)


def decode_value(encoded: bytes) -> str | bytes:
    """Return the text of a DER string, or `encoded` itself for other types and invalid text."""
    element = read_element(encoded)
    if element.end != len(encoded):
        raise ValueError("bytes follow the DER value")
    character_set = CHARACTER_SETS.get(element.tag)
    if character_set is None:
        return encoded
    try:
        return element.content.decode(character_set)
    except UnicodeDecodeError:
        return encoded


def encode_text(text: str, tag: int = UTF8_STRING) -> bytes:
    """Return `text` as a DER string of that type, in UTF-8."""
    return encode_element(tag, text.encode())


def encode_object_identifier(dotted: str) -> bytes:
    """Return an object identifier as DER. Spec: X.690 §8.19."""
    first, second, *others = map(int, dotted.split("."))
    content = b"".join(map(_base128, (_ARCS * first + second, *others)))
    return encode_element(OBJECT_IDENTIFIER, content)


def _base128(number: int) -> bytes:
    octets = [number & _SEVEN_BITS]
    while number := number >> 7:
        octets.append(number & _SEVEN_BITS | SHORT_LENGTH)
    return bytes(reversed(octets))


def encode_element(tag: int, content: bytes) -> bytes:
    """Return a DER element of definite length. Spec: X.690 §10.1."""
    if len(content) < SHORT_LENGTH:
        return bytes((tag, len(content))) + content
    size = (len(content).bit_length() + 7) // 8
    length = len(content).to_bytes(size, "big")
    return bytes((tag, SHORT_LENGTH + size)) + length + content


ESCAPED_ANYWHERE = frozenset('"+,;<>\\=')
QUOTED_IN_LEGACY_FORM = frozenset(',+=\n<>#;\\"')


@dataclass(frozen=True, slots=True)
class DistinguishedName:
    """A name as parsed: relative names in the order of the encoding, most significant first.

    Two names are equal when the same types have exactly the same text in the same order; inside
    a multi-valued relative name order does not count. Case and spaces inside values do count:
    folding them (RFC 4517) would let two certificates that a CA holds apart pass for one another.
    """

    relative_names: tuple[tuple[Attribute, ...], ...] = ()

    def __post_init__(self) -> None:
        """Bring multi-valued relative names into one order."""
        ordered = tuple(tuple(sorted(rdn, key=_sort_key)) for rdn in self.relative_names)
        object.__setattr__(self, "relative_names", ordered)

    def __str__(self) -> str:
        return self.rfc4514()

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """All attributes, those of multi-valued relative names included."""
        return tuple(attribute for rdn in self.relative_names for attribute in rdn)

    @property
    def common_names(self) -> tuple[str | bytes, ...]:
        """Every CN, however many there are."""
        return tuple(item.value for item in self.attributes if item.oid == COMMON_NAME)

    def rfc4514(self) -> str:
        """Write as RFC 4514, least significant first; control characters as hex pairs."""
        return ",".join("+".join(map(_rfc4514, rdn)) for rdn in reversed(self.relative_names))

    def legacy_rendering(self) -> str:
        """Write as Java's `X500Principal.toString()` does: `CN=x, OU=y, O=z`.

        A value with a character that has a meaning in names is quoted, so it cannot pose as
        further relative names. A multi-valued relative name is in the order of its encoding.
        """
        ordered = (sorted(rdn, key=_encode_for_order) for rdn in reversed(self.relative_names))
        return ", ".join(" + ".join(map(_legacy, rdn)) for rdn in ordered)


def _sort_key(attribute: Attribute) -> tuple[str, bool, bytes]:
    if isinstance(attribute.value, bytes):
        return attribute.oid, True, attribute.value
    return attribute.oid, False, attribute.value.encode("utf-8", "surrogatepass")


def _encode_for_order(attribute: Attribute) -> tuple[int, bytes]:
    """Return length and content of the encoding, by which DER orders a set. Spec: X.690 §11.6."""
    value = attribute.value
    encoded = value if isinstance(value, bytes) else encode_text(value)
    content = encode_object_identifier(attribute.oid) + encoded
    return len(content), content


def _rfc4514(attribute: Attribute) -> str:
    keyword, value = KEYWORD_OF.get(attribute.oid), attribute.value
    if isinstance(value, bytes):
        return f"{keyword or attribute.oid}=#{value.hex()}"
    if keyword is None:
        return f"{attribute.oid}=#{encode_text(value).hex()}"
    return f"{keyword}={_escaped(value)}"


def _escaped(value: str) -> str:
    last = len(value) - 1
    return "".join(
        _escaped_character(character, at_start=index == 0, at_end=index == last)
        for index, character in enumerate(value)
    )


def _escaped_character(character: str, *, at_start: bool, at_end: bool) -> str:
    if character in ESCAPED_ANYWHERE:
        return f"\\{character}"
    if (character == " " and (at_start or at_end)) or (character == "#" and at_start):
        return f"\\{character}"
    if not character.isprintable():
        return "".join(f"\\{byte:02X}" for byte in character.encode())
    return character


def _legacy(attribute: Attribute) -> str:
    keyword = KEYWORD_OF.get(attribute.oid)
    if keyword is None or keyword in UNKNOWN_TO_LEGACY_FORM:
        keyword = f"OID.{attribute.oid}"
    if isinstance(attribute.value, bytes):
        return f"{keyword}=#{attribute.value.hex().upper()}"
    return f"{keyword}={_quoted_if_needed(attribute.value)}"


def _quoted_if_needed(value: str) -> str:
    if not (QUOTED_IN_LEGACY_FORM & set(value) or value != value.strip() or "  " in value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


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


LONGEST_TEXT = 8192
SEPARATORS = ",;+"
ESCAPABLE = ' "#+,;<=>\\'
NEVER_PLAIN = '"<>\0'
HEX_DIGITS = frozenset(string.hexdigits)


def parse_distinguished_name(text: str) -> DistinguishedName:
    """Read `CN=device-1,OU=Devices,O=Acme`; raises ValueError saying what is wrong and where."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"distinguished name is longer than {LONGEST_TEXT} characters")
    return _Reader(text).read()


class _Reader:
    """Walks through the text once, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def read(self) -> DistinguishedName:
        self._skip_spaces()
        if self._at_end():
            return DistinguishedName()
        written_first: list[list[Attribute]] = [[]]
        while True:
            written_first[-1].append(self._attribute())
            separator = self._next()
            if separator == "":
                return DistinguishedName(tuple(map(tuple, reversed(written_first))))
            if separator not in SEPARATORS:
                raise self._fault(f"unexpected {separator!r}")
            if separator != "+":
                written_first.append([])

    def _attribute(self) -> Attribute:
        self._skip_spaces()
        begin = self.position
        while self._peek() not in ("", "=", *SEPARATORS):
            self.position += 1
        written_type = self.text[begin : self.position].rstrip(" ")
        if self._next() != "=":
            raise self._fault(f"no '=' after {written_type!r}")
        oid = type_from_text(written_type)
        self._skip_spaces()
        return Attribute(oid, self._value())

    def _value(self) -> str | bytes:
        match self._peek():
            case "#":
                return self._hexadecimal_value()
            case '"':
                return self._quoted_value()
            case _:
                return self._plain_value()

    def _hexadecimal_value(self) -> str | bytes:
        begin = self.position + 1
        while self._peek() not in ("", *SEPARATORS):
            self.position += 1
        digits = self.text[begin : self.position].strip(" ")
        if not digits or not HEX_DIGITS.issuperset(digits) or len(digits) % 2:
            raise self._fault("a value that begins with '#' must be pairs of hexadecimal digits")
        return decode_value(bytes.fromhex(digits))

    def _quoted_value(self) -> str:
        self.position += 1
        value = bytearray()
        while (character := self._next()) != '"':
            if character == "":
                raise self._fault("the closing quote is missing")
            value += self._escape() if character == "\\" else character.encode()
        self._skip_spaces()
        if self._peek() not in ("", *SEPARATORS):
            raise self._fault("text follows the closing quote")
        return self._decoded(value)

    def _plain_value(self) -> str:
        value = bytearray()
        length_without_spaces = 0
        while (character := self._peek()) not in ("", *SEPARATORS):
            self.position += 1
            if character in NEVER_PLAIN:
                raise self._fault(f"{character!r} must be escaped")
            value += self._escape() if character == "\\" else character.encode()
            if character != " ":
                length_without_spaces = len(value)
        return self._decoded(value[:length_without_spaces])

    def _escape(self) -> bytes:
        first = self._next()
        if first and first in ESCAPABLE:
            return first.encode()
        second = self._next()
        if first in HEX_DIGITS and second in HEX_DIGITS:
            return bytes.fromhex(first + second)
        raise self._fault("'\\' must be followed by a special character or two hexadecimal digits")

    def _decoded(self, value: bytes | bytearray) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise self._fault("escaped bytes are not UTF-8") from error

    def _skip_spaces(self) -> None:
        while self._peek() in (" ", "\n", "\r"):
            self.position += 1

    def _at_end(self) -> bool:
        return self.position >= len(self.text)

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _next(self) -> str:
        character = self._peek()
        self.position += 1
        return character

    def _fault(self, reason: str) -> ValueError:
        position = min(self.position, len(self.text))
        return ValueError(f"distinguished name, at character {position}: {reason}")


INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def subject_matches(subject: DistinguishedName, expected: str, *, regex: bool) -> bool:
    """Tell whether `subject` is the registered one; a faulty `expected` matches nothing.

    `regex` matches a bounded pattern against the whole legacy form, else both are compared as
    parsed names. An ambiguous subject never matches, and so nothing matches a blank `expected`:
    only the empty name would.
    """
    if is_ambiguous(subject):
        return False
    return _matches_pattern(subject, expected) if regex else _equals(subject, expected)


def is_ambiguous(subject: DistinguishedName) -> bool:
    """Tell whether a subject has no attributes, several CNs, invisible characters or no text."""
    return (
        not subject.relative_names
        or len(subject.common_names) > 1
        or any(_has_invisible(item.value) for item in subject.attributes)
    )


def _has_invisible(value: str | bytes) -> bool:
    return isinstance(value, bytes) or any(
        unicodedata.category(character) in INVISIBLE for character in value
    )


def _equals(subject: DistinguishedName, expected: str) -> bool:
    try:
        return subject == parse_distinguished_name(expected)
    except ValueError:
        return False


def _matches_pattern(subject: DistinguishedName, pattern: str) -> bool:
    verdict = matches_at_once().verdict(pattern, subject.legacy_rendering())
    return verdict is Verdict.MATCHES
