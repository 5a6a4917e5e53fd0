"""A set of serial numbers in about 24 bytes each, built without a step that takes long.

A `set` of a million numbers takes 100 MB, and sorting them holds the interpreter for a second.
"""

from typing import Final

from gateway.domain.limits.caches import size_of

LONGEST_SERIAL: Final = 21
"""Bytes of a DER integer: 20, and a zero before the highest bit. Spec: RFC 5280 §4.1.2.2"""
SLOT: Final = LONGEST_SERIAL + 1
"""The length of a number, and its bytes filled up with zeros."""
_IN_A_BUCKET: Final = 64
_MOST_BUCKETS: Final = 1 << 18


class SerialNumbers:
    """The content of DER integers: `add` those of a list, then ask for numbers."""

    __slots__ = ("_buckets", "_count", "_mask")

    def __init__(self, expected: int) -> None:
        """Take about how many there will be."""
        buckets = 1 << max(0, expected // _IN_A_BUCKET).bit_length()
        self._buckets = [bytearray() for _ in range(min(buckets, _MOST_BUCKETS))]
        self._mask = len(self._buckets) - 1
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """The bytes that the numbers take in memory."""
        return size_of(self._buckets[:1]) * len(self._buckets) + SLOT * self._count

    def add(self, encoded: bytes) -> None:
        """Add a number, given as its length in one byte and the content of its DER integer."""
        slot = encoded.ljust(SLOT, b"\0")
        self._buckets[hash(slot) & self._mask] += slot
        self._count += 1

    def __contains__(self, serial: int) -> bool:
        content = serial.to_bytes(serial.bit_length() // 8 + 1, "big", signed=True)
        if len(content) > LONGEST_SERIAL:
            return False
        slot = (bytes((len(content),)) + content).ljust(SLOT, b"\0")
        bucket = self._buckets[hash(slot) & self._mask]
        found = bucket.find(slot)
        while found >= 0 and found % SLOT:
            found = bucket.find(slot, found + 1)
        return found >= 0
