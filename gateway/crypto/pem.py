"""Unwrapping of keys and certificates: PEM blocks, or DER in base64.

Spec: RFC 7468 §2, §3; RFC 4648 §4
"""

import base64
import binascii
import re
from typing import Final

from gateway.domain.limits.key_documents import MAX_DOCUMENT_BYTES, require_at_most

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
