"""What a revocation list of a million entries costs a worker that reads it."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.revocation_lists import read_lists, write_lists

TITLE = "Revocation list of a million entries"
HOW = (
    "A process replaces an empty list by one of 1,000,000 entries with serial numbers of 16 bytes"
    " and a reason each (49 MB of DER), which is parsed in a thread, while its event loop wakes up"
    " every millisecond: a pause is the time between two of them. Memory is the proportional set"
    " size before and after. The look-up is for a certificate that is not on the list, and"
    " includes the look at the file."
)
_ENTRIES: Final = 1_000_000
_MEGABYTE: Final = 1e6


def measure(bench: Bench) -> Result:
    """Write the list, and read it in a process of its own."""
    folder = bench.workspace.folder / "revocation-list"
    folder.mkdir()
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(write_lists, folder, _ENTRIES).result()
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        reading = pool.submit(read_lists, folder).result()
    figures = (
        Figure("time until the list counts", reading.seconds, "s"),
        Figure("processor time of it", reading.processor_seconds, "s", at_most(4, 2)),
        Figure("longest pause of the event loop", 1_000 * reading.pause, "ms", at_most(50, 20)),
        Figure("growth of memory", reading.growth / _MEGABYTE, "MB", at_most(100, 40)),
        Figure("look-up", 1e6 * reading.look_up, "µs", at_most(20, 8)),
    )
    return Result(figures, HOW)
