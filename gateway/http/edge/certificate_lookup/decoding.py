"""Strict decoding of certificates in headers: URL-encoding, PEM, base64, concatenated DER.

Every function raises MalformedCertificate with the reason and never quotes the value. Each takes a
time that is linear in the size of the value. Spec: RFC 7468 §5; RFC 3986 §2.1; X.690 §8.1
"""

import binascii
import re
from typing import Final
from urllib.parse import unquote_to_bytes

from gateway.domain.distinguished_names.der import read_element
from gateway.domain.ports.certificates import MalformedCertificate

BEGIN, END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
LINE_ENDS: Final = b"\r\n"
FOLDED: Final = b" \t\r\n"
"""What a proxy writes for the line ends of PEM: spaces (Apache), tabs (`$ssl_client_cert`)."""
_QUOTE: Final = b'"'
_WRONG_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def without_quotes(value: bytes) -> bytes:
    """Return the value without one pair of surrounding double quotes."""
    if len(value) > 1 and value.startswith(_QUOTE) and value.endswith(_QUOTE):
        return value[1:-1]
    return value


def from_url_encoding(value: bytes) -> bytes:
    """Decode percent escapes; a `+` is a plus sign, never a space."""
    # unquote_to_bytes leaves a wrong escape as it is, and is slow when there are many.
    if _WRONG_ESCAPE.search(value):
        raise MalformedCertificate("header has a percent sign without two hexadecimal digits")
    return unquote_to_bytes(value)


def from_pem(text: bytes, *, line_ends: bytes = LINE_ENDS, form: str = "PEM") -> bytes:
    """Return the DER of exactly one armored certificate; `line_ends` may be in its base64."""
    text = text.rstrip(line_ends)
    if not text.startswith(BEGIN) or not text.endswith(END):
        raise MalformedCertificate(f"header is not one {form} certificate")
    return from_base64(text[len(BEGIN) : -len(END)].translate(None, line_ends), "PEM")


def from_pem_or_base64(value: bytes) -> bytes:
    """Return the DER of one certificate in PEM, its line ends folded, or in bare base64."""
    if BEGIN in value or END in value:
        return from_pem(value, line_ends=FOLDED)
    return from_base64(value, "header")


def from_pem_blocks(text: bytes) -> list[bytes]:
    """Return the DER of armored certificates one after the other, at least one."""
    *blocks, rest = text.split(END)
    if rest.strip(LINE_ENDS) or not blocks:
        raise MalformedCertificate("header is not a list of PEM certificates")
    return [from_pem(block.lstrip(LINE_ENDS) + END) for block in blocks]


def from_base64(encoded: bytes, what: str) -> bytes:
    """Decode clean base64: the standard alphabet, padded, nothing else."""
    try:
        der = binascii.a2b_base64(encoded, strict_mode=True)
    except binascii.Error as error:
        raise MalformedCertificate(f"{what} is not clean base64: {error}") from error
    if not der:
        raise MalformedCertificate(f"{what} is empty")
    # The strict mode accepts padding after a whole group, and bits that nothing is decoded from.
    if binascii.b2a_base64(der, newline=False) != encoded:
        raise MalformedCertificate(f"{what} is not clean base64: it has another encoding")
    return der


def split_der(encoded: bytes) -> list[bytes]:
    """Split DER values that follow one another."""
    found: list[bytes] = []
    start = 0
    while start < len(encoded):
        try:
            end = read_element(encoded, start).end
        except ValueError as error:
            raise MalformedCertificate(f"chain is not DER: {error}") from error
        found.append(encoded[start:end])
        start = end
    return found
