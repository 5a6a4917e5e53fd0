"""Threads of the gateway's processes share one heap of the C library."""

import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes, threading
from gateway.supervisor.processes import limit_malloc_arenas

if {limited}:
    limit_malloc_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.fdopen.restype = ctypes.c_void_p
all_started = threading.Barrier(4)


def allocate():
    all_started.wait()
    libc.malloc(5000)
    all_started.wait()


for _ in range(3):
    threading.Thread(target=allocate, daemon=True).start()
all_started.wait()
all_started.wait()
stream = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, stream)
libc.fflush(stream)
"""


def _heaps(*, limited: bool) -> int:
    command = [sys.executable, "-c", _PROGRAM.format(limited=limited)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.count("<heap nr=")


@pytest.mark.parametrize(("limited", "heaps"), [(True, 1), (False, 4)])
def test_threads_share_one_heap(limited: bool, heaps: int) -> None:  # noqa: FBT001 - a parameter
    """Without the limit each thread that allocates makes a heap of its own."""
    assert _heaps(limited=limited) == heaps


_BETWEEN_BLOCKS = """
import asyncio, ctypes
from datetime import timedelta
from pathlib import Path
from gateway.supervisor.processes import return_free_memory

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


def resident_pages():
    return int(Path("/proc/self/statm").read_text().split()[1])


async def returned():
    before, task = resident_pages(), asyncio.create_task(return_free_memory(timedelta()))
    while {waits} and before - resident_pages() < 1000 and not task.done():
        await asyncio.sleep(0)
    return before - resident_pages()


blocks = [libc.malloc(100_000) for _ in range(100)]
for block in blocks:
    ctypes.memset(block, 1, 100_000)
last = libc.malloc(100_000)
for block in blocks:
    libc.free(block)
print(asyncio.run(returned()))
"""


def _returned_pages(*, waits: bool) -> int:
    command = [sys.executable, "-c", _BETWEEN_BLOCKS.format(waits=waits)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    return int(done.stdout)


def test_free_memory_between_blocks_in_use_returns_to_the_system() -> None:
    """10 MB; the allocator alone keeps them for the block behind them."""
    assert _returned_pages(waits=False) < 100
    assert _returned_pages(waits=True) > 1000
