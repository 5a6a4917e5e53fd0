"""Generating and parsing keys, off the event loop: one at a time in a process, realms in turn.

A key of 4096 bits takes a second of processor time. More requests at once than may wait are
refused, so administrators of one realm take no more than their share of a worker.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

from gateway.domain.limits.fair_share import FairThreads
from gateway.domain.limits.key_documents import MAX_WAITING_KEY_JOBS

ParametersT = ParamSpec("ParametersT")
ResultT = TypeVar("ResultT")
_THREADS: Final = FairThreads("keys", 1, MAX_WAITING_KEY_JOBS)


async def run_key_work(
    realm_id: str,
    work: Callable[ParametersT, ResultT],
    *arguments: ParametersT.args,
    **named: ParametersT.kwargs,
) -> ResultT:
    """Return what `work` returns for a realm; raises Overloaded where too much waits already."""
    return await _THREADS.run(realm_id, partial(work, *arguments, **named))
