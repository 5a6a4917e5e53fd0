"""Reading one DER element, and the character strings that X.509 names are made of.

Spec: X.690 §8, §10; RFC 5280 §4.1.2.4 (DirectoryString); X.680 for the older string types.
"""

from dataclasses import dataclass

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
    """Return the text of a DER character string, or `encoded` itself for any other type.

    Text that its own type does not allow stays bytes, so that it equals no text.
    """
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
    return _encoded(tag, text.encode())


def encode_object_identifier(dotted: str) -> bytes:
    """Return an object identifier as DER. Spec: X.690 §8.19."""
    first, second, *others = map(int, dotted.split("."))
    content = b"".join(map(_base128, (_ARCS * first + second, *others)))
    return _encoded(OBJECT_IDENTIFIER, content)


def _base128(number: int) -> bytes:
    octets = [number & _SEVEN_BITS]
    while number := number >> 7:
        octets.append(number & _SEVEN_BITS | SHORT_LENGTH)
    return bytes(reversed(octets))


def _encoded(tag: int, content: bytes) -> bytes:
    if len(content) < SHORT_LENGTH:
        return bytes((tag, len(content))) + content
    size = (len(content).bit_length() + 7) // 8
    length = len(content).to_bytes(size, "big")
    return bytes((tag, SHORT_LENGTH + size)) + length + content
