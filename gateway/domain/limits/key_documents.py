"""Limits of keys, certificates and archives that are parsed from input.

Sizes are checked on the encoding before the library is called: it would hold Python's interpreter
lock while it computes, so that no thread can do the work aside.
Spec: RFC 8017 §3 (RSA), RFC 7292 §4, §B (PKCS#12), RFC 8018 §5.2 (PBKDF2)
"""

from typing import Final

MIN_RSA_BITS: Final = 2048
MAX_RSA_PUBLIC_BITS: Final = 8192
"""A verification takes less than a millisecond."""
MAX_RSA_PRIVATE_BITS: Final = 4096
"""A signature takes 2 ms, the checks of an imported key 0.2 s, none of them 50 ms at a time."""
MAX_RSA_EXPONENT_BITS: Final = 64
"""OpenSSL's own limit for long keys: verifying costs a multiplication for each bit."""
MAX_EC_POINT_BYTES: Final = 256
"""Of an encoded point, or of one coordinate in a JWK; P-521 takes 133 and 66."""

MAX_CERTIFICATE_BYTES: Final = 64 * 1024
MAX_DOCUMENT_BYTES: Final = 1024 * 1024
"""Of an uploaded PEM document, key set or archive."""
MAX_KEYS_IN_SET: Final = 100

MAX_ARCHIVE_ITERATIONS: Final = 300_000
"""Of all key derivations of a PKCS#12 archive together: about 0.3 s in a thread.

OpenSSL writes archives with 2 x 2,048, Java with 2 x 10,000, older Java with 150,000.
"""
MAX_ARCHIVE_CONTENTS: Final = 10
MAX_ARCHIVE_BAGS: Final = 100
MAX_SALT_BYTES: Final = 1024

MAX_WAITING_KEY_JOBS: Final = 8
"""Keys of one realm that may wait for being generated or parsed, in one worker process."""


class LimitExceeded(ValueError):
    """A document asks for more than its limit; `str()` says which and is public."""


def require_at_most(given: int, limit: int, what: str) -> None:
    """Raise LimitExceeded where `given` is above `limit`; `what` is the unit, in words."""
    if given > limit:
        raise LimitExceeded(f"{what}: {_shown(given)} given, at most {limit} are allowed")


def _shown(number: int) -> str:
    """Return the number; one that is too long to be written in decimal is rounded down."""
    bits = number.bit_length()
    return str(number) if bits <= 64 else f"more than 2^{bits - 1}"  # noqa: PLR2004 - a long word
