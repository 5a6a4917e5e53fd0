"""Threads for costly work are shared fairly among realms and networks."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from gateway.domain.errors import Overloaded
from gateway.domain.limits.fair_share import (
    MOST_PAUSED,
    NETWORKS,
    REALMS,
    FairThreads,
    caller_address,
    caller_is_gone,
)

WAITING = 2


class Gate:
    """Work that runs until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> str:
        """Wait."""
        self.begun.set()
        self.open.wait(10)
        return "done"


@pytest.fixture
def threads() -> Iterator[FairThreads]:
    """One thread; two jobs of each network may wait."""
    made = FairThreads("test", 1, WAITING)
    yield made
    made.close()


def note(order: list[str], name: str) -> Callable[[], None]:
    return lambda: order.append(name)


async def _blocked(threads: FairThreads) -> tuple[Gate, "asyncio.Task[str]"]:
    """Let a job of another realm hold the thread."""
    gate = Gate()
    task = asyncio.create_task(threads.run("blocking", gate))
    await asyncio.to_thread(gate.begun.wait, 10)
    return gate, task


async def _queued(
    threads: FairThreads, work: dict[str, Callable[[], None]]
) -> list["asyncio.Task[None]"]:
    tasks = []
    for name, job in work.items():
        tasks.append(asyncio.create_task(threads.run(name.partition(" ")[0], job)))
        await asyncio.sleep(0)
    return tasks


async def test_work_returns_its_result_and_raises_its_error(threads: FairThreads) -> None:
    assert await threads.run("a", lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        await threads.run("a", lambda: 1 // 0)


async def test_realms_take_turns_whoever_came_first(threads: FairThreads) -> None:
    order: list[str] = []

    def long() -> None:
        order.append("a")
        sum(range(2_000_000))

    gate, blocking = await _blocked(threads)
    tasks = await _queued(threads, {"a 1": long, "a 2": long, "b 1": note(order, "b")})
    gate.open.set()
    await asyncio.gather(blocking, *tasks)
    assert order == ["a", "b", "a"]


async def test_a_network_has_a_limited_room_and_others_have_theirs(threads: FairThreads) -> None:
    gate, blocking = await _blocked(threads)
    work = {f"a {number}": note([], "") for number in range(WAITING + 1)}
    tasks = await _queued(threads, work)
    with pytest.raises(Overloaded):
        await threads.run("a", lambda: None)
    tasks += await _queued(threads, {"b 1": note([], "")})
    caller_address.set("192.0.2.1")
    tasks += await _queued(threads, {"a 4": note([], "")})
    gate.open.set()
    await asyncio.gather(blocking, *tasks)


async def test_networks_of_a_realm_take_turns(threads: FairThreads) -> None:
    """The addresses of an IPv6 network count as one caller."""
    order: list[str] = []
    gate, blocking = await _blocked(threads)
    tasks = []
    for address in ("2001:db8::1", "2001:db8::2", "192.0.2.1"):
        caller_address.set(address)
        tasks += await _queued(threads, {f"a {address}": note(order, address)})
    gate.open.set()
    await asyncio.gather(blocking, *tasks)
    assert order == ["2001:db8::1", "192.0.2.1", "2001:db8::2"]


async def test_the_realm_with_the_most_waiting_gives_way_when_full(
    threads: FairThreads,
) -> None:
    gate, blocking = await _blocked(threads)
    kept, evicted = [], []
    for realm in range(REALMS):
        for network in range(NETWORKS):
            caller_address.set(f"192.0.2.{network}")
            kept += await _queued(threads, {f"{realm} x": note([], "")})
            evicted += await _queued(threads, {f"{realm} y": note([], "")})
    late = await _queued(threads, {"late 1": note([], "")})
    gate.open.set()
    said = await asyncio.gather(blocking, *kept, *evicted, *late, return_exceptions=True)
    assert said[-1] is None
    assert [type(one) for one in said].count(Overloaded) == 1
    assert not any(isinstance(one, Overloaded) for one in said[: 1 + len(kept)])


async def test_cancelled_waiting_work_never_runs_and_frees_its_room(
    threads: FairThreads,
) -> None:
    order: list[str] = []
    gate, blocking = await _blocked(threads)
    names = {f"a {number}": note(order, str(number)) for number in range(WAITING + 1)}
    first, second, third = await _queued(threads, names)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    (fourth,) = await _queued(threads, {"a 3": note(order, "3")})
    gate.open.set()
    await asyncio.gather(blocking, first, third, fourth)
    assert order == ["0", "2", "3"]


async def test_cancelled_work_that_runs_keeps_its_place() -> None:
    narrow = FairThreads("narrow", 1, 0)
    gate, blocking = await _blocked(narrow)
    blocking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await blocking
    with pytest.raises(Overloaded):
        await narrow.run("blocking", lambda: None)
    gate.open.set()
    narrow.close()


async def test_work_that_waited_too_long_is_refused_and_not_run() -> None:
    hurried = FairThreads("hurried", 1, 1, longest_wait=timedelta(microseconds=1))
    order: list[str] = []
    with pytest.raises(Overloaded):
        await hurried.run("a", note(order, "a"))
    assert order == []
    hurried.close()


async def test_nothing_is_kept_of_a_realm_without_work(threads: FairThreads) -> None:
    for number in range(50):
        await threads.run(str(number), lambda: None)
    assert not threads._queue._realms


async def test_work_whose_caller_has_disconnected_is_never_run(threads: FairThreads) -> None:
    order: list[str] = []
    gone = False
    gate, blocking = await _blocked(threads)
    caller_is_gone.set(lambda: gone)
    abandoned = await _queued(threads, {"a 1": note(order, "1"), "a 2": note(order, "2")})
    caller_is_gone.set(lambda: False)
    abandoned += await _queued(threads, {"a 3": note(order, "3")})
    gone = True
    # There is no room but theirs.
    (present,) = await _queued(threads, {"a 4": note(order, "4")})
    gate.open.set()
    said = await asyncio.gather(blocking, *abandoned, present, return_exceptions=True)
    assert [type(one) for one in said[1:]] == [Overloaded, Overloaded, type(None), type(None)]
    assert order == ["3", "4"]


async def test_removed_jobs_take_no_memory_of_busy_threads(threads: FairThreads) -> None:
    gate, blocking = await _blocked(threads)
    for _ in range(100):
        (cancelled,) = await _queued(threads, {"a": lambda: None})
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
    assert threads._pool._work_queue.qsize() <= 1
    order: list[str] = []
    left = await _queued(threads, {"a 1": note(order, "1"), "b 2": note(order, "2")})
    gate.open.set()
    await asyncio.gather(blocking, *left)
    assert sorted(order) == ["1", "2"]


async def test_a_refusal_waits_so_that_a_flood_costs_no_processor_time() -> None:
    """Beyond a number of them refusals come at once: their memory is bounded."""
    narrow = FairThreads("narrow", 1, 0, refusal_pause=timedelta(hours=1))
    gate, blocking = await _blocked(narrow)
    waiting = [
        asyncio.create_task(narrow.run_for_caller("blocking", lambda: None))
        for _ in range(MOST_PAUSED)
    ]
    done, _ = await asyncio.wait(waiting, timeout=0)
    with pytest.raises(Overloaded):
        await narrow.run_for_caller("blocking", lambda: None)
    assert not done
    assert not any(task.done() for task in waiting)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert narrow._paused == 0
    gate.open.set()
    await blocking
    narrow.close()
