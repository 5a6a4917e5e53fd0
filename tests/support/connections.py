"""A server as the gateway runs it, in the test's own loop: on a unix socket, any application."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from gateway.supervisor.server.connections import Serving, serve

REQUEST = b"POST / HTTP/1.1\r\nhost: gateway\r\ncontent-length: 0\r\n\r\n"
"""Whole and plain: answered at once."""
BY_H11 = b"POST / HTTP/1.1\r\nhost: gateway\r\nconnection: keep-alive\r\n\r\n"
"""The same, with something in it that is left to h11."""
BOTH_WAYS = [REQUEST, BY_H11]
DEADLINE = 10.0
LONG, SHORT = 60.0, 0.2


@dataclass
class Answering:
    """An application whose answer comes in two parts, the second when it is told to."""

    parts: tuple[bytes, bytes] = (b"first", b"second")
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - ASGI
        """Answer one request."""
        first, second = self.parts
        length = str(len(first) + len(second)).encode()
        headers = [(b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": first, "more_body": True})
        self.begun.set()
        await self.go_on.wait()
        await send({"type": "http.response.body", "body": second})


@dataclass
class Counting(Answering):
    """An application that counts what it answered."""

    answered: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        await super().__call__(scope, receive, send)
        self.answered += 1


@dataclass
class Streaming(Answering):
    """An application whose answer has many parts, with a turn of the loop after each."""

    part: bytes = b"a" * 10_000
    count: int = 1000
    sent: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - ASGI
        """Answer one request."""
        length = str(len(self.part) * self.count).encode()
        headers = [(b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for _ in range(self.count):
            await send({"type": "http.response.body", "body": self.part, "more_body": True})
            self.sent += len(self.part)
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})


@dataclass
class Reading(Answering):
    """An application that reads the whole body and sends it back."""

    messages: list[Any] = field(default_factory=list)
    scopes: list[Any] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, unless its client left before the end of it."""
        self.scopes.append(scope)
        body = b""
        self.begun.set()
        while True:
            message = await receive()
            self.messages.append(message)
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            if not message["more_body"]:
                break
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@dataclass
class Closing(Answering):
    """An application that ends the connection with an answer as long as the path says."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - ASGI
        """Answer one request."""
        length = scope["path"].removeprefix("/") or "0"
        headers = [(b"content-length", length.encode()), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"a" * int(length)})


@dataclass
class Failing(Answering):
    """An application that breaks off: within its answer, or before it."""

    begins: bool = True

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - ASGI
        """Answer half a request."""
        if self.begins:
            headers = [(b"content-length", b"100")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
        self.begun.set()
        await self.go_on.wait()
        raise RuntimeError("broken on purpose")


@dataclass
class Served:
    """A server on a unix socket."""

    path: Path
    end: asyncio.Event
    task: asyncio.Task[None]

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection."""
        return await asyncio.open_unix_connection(str(self.path))

    def connections(self) -> int:
        """Return how many connections the server holds, those that nobody has accepted too."""
        sockets = Path("/proc/self/net/unix").read_text().splitlines()
        return sum(line.endswith(f" {self.path}") for line in sockets)

    async def returned_to(self, connections: int, tasks: int) -> None:
        """Wait until no more connections and tasks are there than before; nobody tells of them."""
        while self.connections() > connections or len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def ask(self, data: bytes) -> bytes:
        """Send bytes on a connection of their own, and return all that comes back."""
        reader, writer = await self.connect()
        writer.write(data)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer


@asynccontextmanager
async def serving(
    path: Path, app: Any, idle: float = LONG, grace: float = DEADLINE
) -> AsyncIterator[Served]:
    """Serve `app`, waiting `idle` seconds for peers and at the end `grace` for requests."""
    end = asyncio.Event()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1024)
        times = timedelta(seconds=grace), timedelta(seconds=idle)
        async with asyncio.timeout(DEADLINE):
            task = asyncio.create_task(serve(Serving(app, listener, end.wait, *times)))
            try:
                yield Served(path, end, task)
                if isinstance(app, Answering):
                    app.go_on.set()
                end.set()
                await asyncio.wait([task])
                if not task.cancelled():
                    task.result()
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
