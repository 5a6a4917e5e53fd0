"""A strict reader of DER without recursion, linear in its length; unwrapping of PEM and base64.

The caller says which type it expects next. Spec: X.690 §8, §10; RFC 7468 §2, §3; RFC 4648 §4
"""

import base64
import binascii
import re
from typing import Final

from gateway.domain.distinguished_names import Element, read_element
from gateway.domain.limits.input_sizes import MAX_DOCUMENT_BYTES, require_at_most

INTEGER: Final = 0x02
BIT_STRING: Final = 0x03
OCTET_STRING: Final = 0x04
NULL: Final = 0x05
OBJECT_IDENTIFIER: Final = 0x06
BMP_STRING: Final = 0x1E
SEQUENCE: Final = 0x30
SET: Final = 0x31
CONTEXT_0: Final = 0x80
EXPLICIT_0: Final = 0xA0

_SIGN: Final = 0x80


class DerReader:
    """Reads the elements of one DER value, one after another. All methods raise ValueError."""

    __slots__ = ("_data", "_position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def tag(self) -> int | None:
        return self._data[self._position] if self._position < len(self._data) else None

    def any(self) -> Element:
        element = read_element(self._data, self._position)
        self._position = element.end
        return element

    def encoded(self, tag: int) -> bytes:
        """Return the next element with its tag and length."""
        begin = self._position
        self.content(tag)
        return self._data[begin : self._position]

    def content(self, tag: int) -> bytes:
        """Return the content of the next element, which has this tag."""
        element = self.any()
        if element.tag != tag:
            raise ValueError(f"DER tag {element.tag:#x} where {tag:#x} belongs")
        return element.content

    def enter(self, tag: int) -> "DerReader":
        """Return a reader of the next element, which has this tag."""
        return DerReader(self.content(tag))

    def unsigned(self, most_bits: int, what: str) -> int:
        """Return the next INTEGER, which is not negative; raises LimitExceeded above the limit."""
        content = self.content(INTEGER)
        if not content or content[0] & _SIGN:
            raise ValueError("DER integer is empty or negative")
        if len(content) > 1 and content[0] == 0 and not content[1] & _SIGN:
            raise ValueError("DER integer is not the shortest")
        value = int.from_bytes(content, "big")
        require_at_most(value.bit_length(), most_bits, f"{what} in bits")
        return value

    def object_identifier(self) -> bytes:
        return self.content(OBJECT_IDENTIFIER)

    def null(self) -> None:
        """Skip a NULL, if one is next."""
        if self.tag == NULL and self.content(NULL):
            raise ValueError("DER null has content")

    def end(self) -> None:
        """Require that nothing follows."""
        if self._position != len(self._data):
            raise ValueError("bytes follow the DER value")


_BEGIN: Final = b"-----BEGIN "
_SPACE: Final = re.compile(rb"\s+")
_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,40})-----([A-Za-z0-9+/=\s]*)-----END \1-----")
CERTIFICATE_LABELS: Final = (b"CERTIFICATE", b"X509 CERTIFICATE")


def is_pem(data: bytes) -> bool:
    """Return whether the data has a PEM block."""
    return _BEGIN in data


def pem_blocks(data: bytes, *labels: bytes) -> tuple[bytes, ...]:
    """Return the DER of all blocks with these labels; raises ValueError for a malformed block."""
    found = list(_BLOCK.finditer(data))
    if len(found) != data.count(_BEGIN):
        raise ValueError("a PEM block is malformed or encrypted")
    return tuple(_decoded(block[2]) for block in found if block[1] in labels)


def unwrap(data: bytes, *labels: bytes) -> bytes:
    """Return the DER of the one document in an upload; raises ValueError."""
    require_at_most(len(data), MAX_DOCUMENT_BYTES, "Document size in bytes")
    if not is_pem(data):
        return _decoded(data)
    (document,) = pem_blocks(data, *labels)
    return document


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(_SPACE.sub(b"", text), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
