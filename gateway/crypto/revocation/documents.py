"""Revocation lists of a file or a response: PEM blocks one after another, or one list in DER.

Large documents are decoded piece by piece, so that other threads run in between.
Spec: RFC 7468 §6; RFC 5280 §4.2.1.13 (one list in DER)
"""

import binascii
from collections.abc import Iterator
from typing import Final

from gateway.crypto.der import SEQUENCE
from gateway.crypto.revocation.revocation_list import RevocationList, parse_revocation_list

LARGEST_DOCUMENT: Final = 128 * 1024 * 1024
"""Bytes of all lists of a document; PEM takes a third more than DER."""
MOST_LISTS: Final = 1_000
_BEGIN: Final = b"-----BEGIN X509 CRL-----"
_END: Final = b"-----END X509 CRL-----"
_ARMOR: Final = b"-----"
_SPACE: Final = b" \t\r\n"
_PIECE: Final = 256 * 1024


def parse_revocation_lists(document: bytes) -> tuple[RevocationList, ...]:
    """Return all lists; raises ValueError for none, for a block cut short and for too many."""
    if len(document) > LARGEST_DOCUMENT:
        raise ValueError(f"the revocation lists have more than {LARGEST_DOCUMENT} bytes")
    found: list[RevocationList] = []
    for der in _lists(document):
        if len(found) == MOST_LISTS:
            raise ValueError(f"there are more than {MOST_LISTS} revocation lists")
        found.append(parse_revocation_list(der))
    return tuple(found)


def _lists(document: bytes) -> Iterator[bytes]:
    """Yield the DER of each list."""
    if document[:1] == bytes((SEQUENCE,)):
        yield document
        return
    at = document.find(_BEGIN)
    if at < 0 or _ARMOR in document[:at]:
        raise ValueError("not a file of whole PEM revocation lists")
    while at < len(document):
        begin = at + len(_BEGIN)
        end = document.find(_ARMOR, begin)
        if end < 0 or not document.startswith(_END, end):
            raise ValueError("not a file of whole PEM revocation lists")
        yield _decoded(document, begin, end)
        end += len(_END)
        at = document.find(_BEGIN, end)
        at = len(document) if at < 0 else at
        if _ARMOR in document[end:at]:
            raise ValueError("not a file of whole PEM revocation lists")


def _decoded(document: bytes, begin: int, end: int) -> bytes:
    decoded, rest = bytearray(), b""
    try:
        for at in range(begin, end, _PIECE):
            rest += document[at : min(at + _PIECE, end)].translate(None, _SPACE)
            whole = len(rest) // 4 * 4
            decoded += binascii.a2b_base64(rest[:whole], strict_mode=True)
            rest = rest[whole:]
        decoded += binascii.a2b_base64(rest, strict_mode=True)
    except binascii.Error as error:
        raise ValueError("a PEM revocation list is not base64") from error
    return bytes(decoded)
