"""Unpredictable values for loops over large documents: identifiers, client secrets, nonces.

`os.urandom`, and with it `secrets` and `uuid.uuid4`, releases the interpreter lock for a system
call of a microsecond. The event loop wakes up, finds the lock taken again, and begins to wait for
a whole switch interval anew (`take_gil` in CPython's ceval_gil.h). A thread that creates 25,000
clients kept it waiting for 0.9 s, and a second processor busy with waking it. OpenSSL's generator
keeps the lock, reseeds itself after a fork and has the strength that TLS keys need (SP 800-90A).
"""

import base64
from ssl import RAND_bytes
from typing import Final
from uuid import UUID

_UUID_BYTES: Final = 16
_UUID_VERSION: Final = 4
_GIVEN_VERSION: Final = 8
_GIVEN_OCTET: Final = 10
_VERSION_OCTET: Final = 6
"""Its high four bits are the version. RFC 9562 §4.2."""
_VARIANT_OCTET: Final = 8
"""Its high two bits are 1 and 0. RFC 9562 §4.1."""


def random_bytes(size: int) -> bytes:
    """Return unpredictable bytes, as `secrets.token_bytes` does."""
    return RAND_bytes(size)


def random_text(size: int) -> str:
    """Return `size` unpredictable bytes in base64url without padding, as `token_urlsafe` does."""
    return base64.urlsafe_b64encode(RAND_bytes(size)).rstrip(b"=").decode("ascii")


def uuid4() -> UUID:
    """Return a random identifier, as `uuid.uuid4` does. RFC 9562 §5.4."""
    return UUID(bytes=RAND_bytes(_UUID_BYTES), version=_UUID_VERSION)


def uuid_text(last: int | None = None) -> str:
    """Return `str(uuid4())` at a third of the cost, for each token that is issued.

    With 48 bits for its end, a UUID of version 8: 74 other bits are random. RFC 9562 §5.8.
    """
    octets, version = bytearray(RAND_bytes(_UUID_BYTES)), _UUID_VERSION
    if last is not None:
        octets[_GIVEN_OCTET:] = last.to_bytes(_UUID_BYTES - _GIVEN_OCTET)
        version = _GIVEN_VERSION
    octets[_VERSION_OCTET] = octets[_VERSION_OCTET] & 0x0F | version << 4
    octets[_VARIANT_OCTET] = octets[_VARIANT_OCTET] & 0x3F | 0x80
    digits = octets.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
