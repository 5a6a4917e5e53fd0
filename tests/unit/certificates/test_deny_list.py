"""A deny list in memory: what it takes there, which the cache of all lists counts."""

import gc
import hashlib
import time
import tracemalloc

import pytest

from gateway.certificates import DenyList
from gateway.domain import base64url
from gateway.domain.certificates import MOST_DENIED, DeniedIdentity


def _identity(number: int, serial: int | None) -> DeniedIdentity:
    return DeniedIdentity(
        base64url.encode(hashlib.sha256(str(number).encode()).digest()),
        None if serial is None else serial + number,
    )


@pytest.mark.parametrize("serial", [None, 2**159], ids=["thumbprints", "serial numbers"])
def test_a_list_takes_no_more_memory_than_is_counted(serial: int | None) -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        made = DenyList(_identity(number, serial) for number in range(500))
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown <= made.size


def test_entries_with_one_serial_number_count_each() -> None:
    """Of as many issuers."""
    found = [DeniedIdentity(_identity(number, None).id, 7) for number in range(500)]
    assert DenyList(found).size > 100 * DenyList(found[:1]).size


def test_the_largest_list_is_made_without_a_stall() -> None:
    found = [_identity(number, 2**159) for number in range(MOST_DENIED)]
    begun = time.process_time()
    DenyList(found)
    assert time.process_time() - begun < 0.25
