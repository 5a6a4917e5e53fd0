"""How long a connection waits for its peer: for a request, the rest of one, or to be read."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class PeerTimeout:
    """Ends a connection that has waited for its peer too long.

    Takes the place of Hypercorn's idle task: Hypercorn calls `restart` and `stop`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._since: float | None = None
        self._on_timeout: Callable[[], None] = lambda: None
        self._timer: asyncio.TimerHandle | None = None
        self.idle = False
        """Whether the connection waits for a request."""

    def start(self, on_timeout: Callable[[], None]) -> None:
        self._on_timeout = on_timeout
        self._timer = self._loop.call_later(self._seconds, self._check)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def restart(self, task_group: object, action: object) -> None:  # noqa: ARG002 - Hypercorn's
        self.wait_for_request()

    async def stop(self) -> None:
        self.pause()

    def wait_for_request(self) -> None:
        """Wait for a request from now on."""
        self.idle, self._since = True, self._loop.time()

    def pause(self) -> None:
        """Wait for nothing: the application works."""
        self.idle, self._since = False, None

    def wait_for_rest(self) -> None:
        """Wait for the rest of a request, counted from when its first part was awaited."""
        if self._since is None:
            self._since = self._loop.time()

    @contextmanager
    def waiting_for_reader(self) -> Iterator[None]:
        """Wait for the peer to read, within the block."""
        before, self._since = self._since, self._loop.time()
        try:
            yield
        finally:
            self._since = before

    def _check(self) -> None:
        now = self._loop.time()
        due = (now if self._since is None else self._since) + self._seconds
        if due <= now:
            self._on_timeout()
        else:
            self._timer = self._loop.call_at(due, self._check)
