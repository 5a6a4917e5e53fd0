"""Threads of the gateway's processes share one heap of the C library."""

import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes, threading
from gateway.supervisor.allocator import limit_malloc_arenas

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
