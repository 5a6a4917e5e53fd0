"""How long a connection waits for its peer: for a request, the rest of one, or to be read."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Patience:
    """Ends a connection that has waited for its peer too long.

    Hypercorn calls `restart` and `stop` where it had a task for each pause between requests.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Wait at most `seconds` at a time."""
        self._loop = loop
        self._seconds = seconds
        self._since: float | None = None
        self._end: Callable[[], None] = _nothing
        self._timer: asyncio.TimerHandle | None = None
        self.idle = False
        """Whether it is a request that is waited for."""

    def watch(self, end: Callable[[], None]) -> None:
        """Call `end` when the time is over."""
        self._end = end
        self._timer = self._loop.call_later(self._seconds, self._look)

    def forget(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()

    async def restart(self, task_group: object, action: object) -> None:  # noqa: ARG002 - theirs
        """Note that the connection became idle."""
        self.rest()

    async def stop(self) -> None:
        """Note that it is no longer."""
        self.work()

    def rest(self) -> None:
        """Wait for a request from now on."""
        self.idle, self._since = True, self._loop.time()

    def work(self) -> None:
        """Wait for nothing: what takes time now is ours."""
        self.idle, self._since = False, None

    def expect_more(self) -> None:
        """Wait for the rest of a request, from when it was first waited for."""
        if self._since is None:
            self._since = self._loop.time()

    @contextmanager
    def until_read(self) -> Iterator[None]:
        """Wait for the peer to read, within the block."""
        before, self._since = self._since, self._loop.time()
        try:
            yield
        finally:
            self._since = before

    def _look(self) -> None:
        now = self._loop.time()
        due = (now if self._since is None else self._since) + self._seconds
        if due <= now:
            self._end()
        else:
            self._timer = self._loop.call_at(due, self._look)


def _nothing() -> None:
    """Stand where nobody watches yet."""
