"""A mail server that accepts every mail and counts them, in a process of its own."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from typing import Any

from bench.workspace import free_port

_REPLIES = {b"DATA": b"354 go on\r\n", b"QUIT": b"221 bye\r\n"}


@dataclass(frozen=True, slots=True)
class MailSink:
    """Where it listens, and how many mails it has accepted."""

    port: int
    accepted: "Synchronized[int]"

    @property
    def count(self) -> int:
        return self.accepted.value


@contextmanager
def mail_sink() -> Iterator[MailSink]:
    """Accept mails until the end of the block."""
    context = get_context("spawn")
    sink = MailSink(free_port(), context.Value("q", 0))
    process = context.Process(target=_serve, args=(sink.port, sink.accepted), daemon=True)
    process.start()
    try:
        yield sink
    finally:
        process.terminate()
        process.join()


def _serve(port: int, accepted: Any) -> None:
    async def run() -> None:
        async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _session(reader, writer, accepted)

        server = await asyncio.start_server(session, "127.0.0.1", port)
        await server.serve_forever()

    asyncio.run(run())


async def _session(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, accepted: Any
) -> None:
    writer.write(b"220 sink\r\n")
    while line := await reader.readline():
        command = line[:4].upper()
        writer.write(_REPLIES.get(command, b"250 OK\r\n"))
        if command == b"DATA":
            await reader.readuntil(b"\r\n.\r\n")
            with accepted.get_lock():
                accepted.value += 1
            writer.write(b"250 OK\r\n")
        if command == b"QUIT":
            break
    writer.close()
