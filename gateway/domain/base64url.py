"""Base64url without padding, one text for each value. Spec: RFC 7515 §2, Appendix C; RFC 4648 §3.5.

Decoding refuses padding, foreign characters and spare bits that are set: a signed or sealed text
that can be written in two ways escapes revocation lists and caches keyed by the text.
"""

import base64
import binascii


def encode(raw: bytes) -> str:
    """Return the text without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """Return the value of `text`; raises ValueError unless `encode` would give the same text."""
    try:
        # urlsafe_b64decode drops foreign characters; the comparison below notices all of that.
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise ValueError("not base64url") from error
    if encode(raw) != text:
        raise ValueError("not canonical base64url")
    return raw
