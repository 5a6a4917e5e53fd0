"""Reading a distinguished name from text.

Spec: RFC 4514 §3; RFC 2253 §4 for what older software writes: spaces around separators, `;`
between relative names, quoted values, `OID.` before an object identifier.
"""

import string

from gateway.domain.distinguished_names.attributes import Attribute, type_from_text
from gateway.domain.distinguished_names.der import decode_value
from gateway.domain.distinguished_names.name import DistinguishedName

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
